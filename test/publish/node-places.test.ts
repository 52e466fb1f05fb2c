/** Which places nodes of the image read: those that are visible, and those that are staged until it is known what becomes of them. */
import t from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { createClient, Transport } from '../../src/answer/transport.js';
import { parseIP } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { createLoadBalancer } from '../../src/control/balancing/load-balancers.js';
import { createZone } from '../../src/control/zones/zones.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower } from '../../src/publish/follow.js';
import { createNodePlaces } from '../../src/publish/node-places.js';
import { createZoneSource } from '../../src/publish/source.js';
import { createStatePlaces } from '../../src/publish/state-places.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startBalancedZone } from '../support/balanced-zone.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import type { TestClock } from '../support/test-clock.js';

const KEY = Uint8Array.of(97, 0);
const OTHER = Uint8Array.of(98, 0);

function start() {
  const places = createStatePlaces(1000);
  const nodes = createNodePlaces(places);
  const stage = (zone: number, key: Uint8Array, name: string): void => nodes.stage(zone, key, [places.take(1, [name])]);
  const known = (): string[] => [...(places.find(1)?.origins.keys() ?? [])].sort();
  return { nodes, stage, known };
}

t.test('a node keeps the places that it had until what replaces it is visible', async (t) => {
  const { nodes, stage, known } = start();
  stage(2, KEY, 'a');
  nodes.settle(2);
  stage(2, KEY, 'b');
  stage(2, OTHER, 'c');
  t.strictSame(known(), ['a', 'b', 'c']);
  nodes.discard(2);
  t.strictSame(known(), ['a'], 'what is not published leaves nothing');
  stage(2, KEY, 'b');
  stage(2, KEY, 'c');
  nodes.settle(2);
  t.strictSame(known(), ['c'], 'of several attempts the last one counts');
  nodes.stageNone(2, KEY);
  t.strictSame(known(), ['c']);
  nodes.settle(2);
  t.strictSame(known(), []);
});

t.test('the places of a zone go with it, and with a load that is given up', async (t) => {
  const { nodes, stage, known } = start();
  stage(2, KEY, 'a');
  nodes.settle(2);
  stage(4, KEY, 'b');
  nodes.stageNone(6, KEY);
  t.strictSame(known(), ['a', 'b'], 'both while the zone is loaded again');
  nodes.drop(4);
  t.strictSame(known(), ['a']);
  stage(8, KEY, 'b');
  nodes.settle(8);
  nodes.drop(2);
  t.strictSame(known(), ['b']);
});

t.test('a zone that is held keeps its places, and all other places are free at once', async (t) => {
  const world = await startBalancedZone(t);
  const { ctx } = world;
  const origin = (name: string, address: string): object => ({ name, address });
  const pools = { default_pools: [world.idOf('a')], fallback_pool: world.idOf('a') };
  await world.pool('a', [origin('up', '198.51.100.1'), origin('down', '198.51.100.2')]);
  await world.health('a', 'up', true);
  await world.health('a', 'down', false);
  await world.balancer('www', pools);
  const { id } = await createZone(ctx, { name: 'held.test' });
  await createLoadBalancer(ctx, id, { name: 'www.held.test', ...pools });

  const held = findZoneByName(ctx.store, 'held.test')!.seq;
  const source = createZoneSource(ctx.store, ctx.settings);
  let isHeld = false;
  const failing: typeof source = {
    ...source,
    owner(zone, key) {
      if (isHeld && zone.seq === held) throw new Error('it cannot be published');
      return source.owner(zone, key);
    },
  };
  // Room for the two origins of the pool, those of an edit, those of the edit before it, and the pool.
  const writer = new ImageWriter({ seed: 7, states: 8 });
  const follower = createFollower({ source: failing, writer, clock: ctx.clock, log: silentLogger() });
  t.teardown(() => follower.close());
  follower.loadAll();
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  const ask = (name: string): string[] => {
    const out = Buffer.alloc(4096);
    const from = parseIP('198.51.100.7')!;
    const query = makeQuery(parseName(name), Type.a);
    const client = { ...createClient(), source: from, length: from.length };
    const length = answer(query, 0, query.length, out, 0, out.length, Transport.tcp, client);
    return decodeMessage(out.subarray(0, length)).answer.map(({ rdata }) => rdata);
  };
  t.strictSame([ask('www.example.test.'), ask('www.held.test.')], [['c6336401'], ['c6336401']]);
  isHeld = true;
  for (let i = 1; i <= 20; i++) {
    await world.pool('a', [origin(`x${i}`, `203.0.113.${i}`), origin(`y${i}`, `203.0.113.${100 + i}`)]);
    follower.catchUp();
    // The first of the places that the zone that is held reads would be that of an origin that is down.
    await world.health('a', `y${i}`, true);
    follower.catchUp();
    const expected = [[`cb0071${(100 + i).toString(16)}`], ['c6336401']];
    t.strictSame([ask('www.example.test.'), ask('www.held.test.')], expected, `edit ${i}`);
  }
  t.match(follower.heldZones(), [{ zone: held }]);
  isHeld = false;
  (ctx.clock as TestClock).advance(60_000);
  follower.catchUp();
  t.strictSame(follower.heldZones(), []);
  t.strictSame(ask('www.held.test.'), ['cb007178']);
});
