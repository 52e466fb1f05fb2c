/** Names of load balancers in answers: what they hide, what is chosen, and what is said when nothing is left. */
import t, { type Test } from 'tap';
import { exportZone } from '../../src/control/records/export.js';
import { createRecord } from '../../src/control/records/records.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import { copyServed } from '../../src/serving/difference.js';
import { servingZone } from '../../src/serving/zone.js';
import { findZone } from '../../src/store/zones/zones.js';
import { APEX, type BalancedZone, startBalancedZone } from '../support/balanced-zone.js';

const HIDDEN = [
  { name: `www.${APEX}`, type: 'A', content: '203.0.113.99', ttl: 300 },
  { name: `www.${APEX}`, type: 'AAAA', content: '2001:db8::99', ttl: 300 },
  { name: `www.${APEX}`, type: 'TXT', content: '"stays"', ttl: 300 },
] as const;

/** Two pools, a with three origins of both families and b with one of IPv4; all are healthy. */
async function start(t: Test): Promise<BalancedZone> {
  const world = await startBalancedZone(t);
  for (const record of HIDDEN) await createRecord(world.ctx, world.zoneId, record);
  await world.pool('a', [
    { name: 'one', address: '192.0.2.1' },
    { name: 'two', address: '192.0.2.2' },
    { name: 'six', address: '2001:db8::6' },
    { name: 'off', address: '192.0.2.200', enabled: false },
    { name: 'drained', address: '192.0.2.201', weight: 0 },
  ]);
  await world.pool('b', [{ name: 'far', address: '198.51.100.1' }]);
  for (const origin of ['one', 'two', 'six', 'drained']) await world.health('a', origin, true);
  await world.health('b', 'far', true);
  await world.balancer('www', { default_pools: [world.idOf('a')], fallback_pool: world.idOf('b'), ttl: 45 });
  return world;
}

const many = (count: number, draw: () => readonly string[]): string[] =>
  [...new Set(Array.from({ length: count }, draw).map((list) => list.join(' ')))].sort();

t.test('one address of a healthy origin, of the family that is asked for', async (t) => {
  const world = await start(t);
  t.strictSame(
    many(200, () => world.addresses('www')),
    ['192.0.2.1', '192.0.2.2'],
  );
  t.strictSame(
    many(50, () => world.addresses('www', Type.aaaa)),
    ['2001:db8::6'],
  );
  const { aa, rcode, answer } = world.ask('www');
  t.strictSame([aa, rcode, answer.length, answer[0]!.ttl], [true, 0, 1, 45]);
  t.match(world.ask('www', Type.txt).answer, [{ type: Type.txt }], 'other types stay');
  t.equal(world.ask('www', Type.cname).rcode, 0);
  t.strictSame(world.ask('www', Type.cname).answer, []);
  const any = many(50, () => world.ask('www', Type.any).answer.map(({ type }) => `${type}`));
  t.strictSame(any.length, 1, 'ANY: one RRset');
});

t.test('health changes answers at once, without a change of the zone', async (t) => {
  const world = await start(t);
  const serial = findZone(world.ctx.store, world.seq)!.serial;
  await world.health('a', 'one', false);
  t.strictSame(
    many(100, () => world.addresses('www')),
    ['192.0.2.2'],
  );
  await world.health('a', 'two', false);
  t.strictSame(
    many(20, () => world.addresses('www')),
    [''],
    'the pool is up by its origin of IPv6: no data for IPv4',
  );
  const nodata = world.ask('www');
  t.match(nodata.authority, [{ type: Type.soa }]);
  t.equal(nodata.rcode, Rcode.noError);
  await world.health('a', 'six', false);
  t.strictSame(
    many(20, () => world.addresses('www')),
    ['198.51.100.1'],
    'the drained one counts, but gets nothing: the fallback pool',
  );
  await world.health('b', 'far', false);
  t.strictSame(
    many(20, () => world.addresses('www')),
    ['198.51.100.1'],
    'whatever its health',
  );
  await world.health('a', 'one', true);
  t.strictSame(
    many(20, () => world.addresses('www')),
    ['192.0.2.1'],
  );
  t.equal(findZone(world.ctx.store, world.seq)!.serial, serial);
});

t.test('an edit of a pool is served; a disabled fallback pool leaves nothing', async (t) => {
  const world = await start(t);
  await world.pool('a', [{ name: 'one', address: '192.0.2.77' }]);
  t.strictSame(
    many(50, () => world.addresses('www')),
    ['192.0.2.77'],
    'what is known of the origin holds for its new address',
  );
  await world.pool('a', [{ name: 'one', address: '192.0.2.77' }], { enabled: false });
  t.strictSame(
    many(50, () => world.addresses('www')),
    ['198.51.100.1'],
  );
  await world.pool('b', [{ name: 'far', address: '198.51.100.1' }], { enabled: false });
  const { rcode, answer, authority } = world.ask('www');
  t.strictSame([rcode, answer.length, authority[0]!.type], [0, 0, Type.soa]);
  await world.pool('b', [{ name: 'far', address: '198.51.100.2' }], {}, false);
  t.strictSame(world.addresses('www'), ['198.51.100.2'], 'without a monitor it is up');
});

t.test('endless edits of pools do not use up what all share', async (t) => {
  const world = await start(t);
  const room = world.writer.reader.states.length;
  const names = (round: number) =>
    Array.from({ length: 1000 }, (_, i) => ({ name: `o${round}-${i}`, address: '192.0.2.9' }));
  for (let round = 0; round * 1000 < 2 * room; round++) await world.pool('a', names(round));
  await world.pool('a', [{ name: 'last', address: '192.0.2.77' }]);
  await world.health('a', 'last', true);
  t.strictSame(world.addresses('www'), ['192.0.2.77']);
  t.strictSame(world.follower.heldZones(), []);
});

t.test('a name of which nothing is left exists', async (t) => {
  const world = await start(t);
  await world.balancer('only', { default_pools: [world.idOf('b')], fallback_pool: world.idOf('b') });
  t.strictSame(world.addresses('only'), ['198.51.100.1']);
  await world.pool('b', [{ name: 'far', address: '198.51.100.1' }], { enabled: false });
  const { rcode, answer, authority } = world.ask('only');
  t.strictSame([rcode, answer.length, authority[0]!.type], [0, 0, Type.soa]);
  t.equal(world.ask('x.only').rcode, Rcode.nxDomain);
  await world.balancer('only', { default_pools: [world.idOf('b')], fallback_pool: world.idOf('b'), enabled: false });
  t.equal(world.ask('only').rcode, Rcode.nxDomain, 'without the load balancer it does not');
});

t.test('what is hidden comes back', async (t) => {
  const world = await start(t);
  await world.balancer('www', { default_pools: [world.idOf('a')], fallback_pool: world.idOf('b'), enabled: false });
  t.strictSame(world.addresses('www'), ['203.0.113.99']);
  t.strictSame(world.addresses('www', Type.aaaa), ['2001:db8::99']);
});

t.test('a record is more specific than a wildcard, and a wildcard balancer answers the rest', async (t) => {
  const world = await start(t);
  await createRecord(world.ctx, world.zoneId, { name: `own.any.${APEX}`, type: 'A', content: '203.0.113.1', ttl: 60 });
  await createRecord(world.ctx, world.zoneId, { name: `*.any.${APEX}`, type: 'A', content: '203.0.113.2', ttl: 60 });
  await createRecord(world.ctx, world.zoneId, { name: `mail.any.${APEX}`, type: 'TXT', content: '"x"', ttl: 60 });
  world.follower.catchUp();
  await world.balancer('*.any', { default_pools: [world.idOf('b')], fallback_pool: world.idOf('b') });
  t.strictSame(world.addresses('other.any'), ['198.51.100.1'], 'at equal names the balancer wins');
  t.strictSame(world.addresses('deep.other.any'), ['198.51.100.1']);
  t.strictSame(world.addresses('own.any'), ['203.0.113.1']);
  t.strictSame(world.addresses('mail.any'), [], 'a name with other types exists');
  t.equal(world.ask('mail.any').rcode, 0);
  t.equal(world.ask('other.any').answer[0]!.owner, `other.any.${APEX}.`, 'under the name that was asked for');
});

t.test('the apex, and names that lead to a balancer', async (t) => {
  const world = await start(t);
  await world.balancer('@', { default_pools: [world.idOf('b')], fallback_pool: world.idOf('b') });
  t.strictSame(world.addresses('@'), ['198.51.100.1']);
  t.match(world.ask('@', Type.soa).answer, [{ type: Type.soa }]);
  t.equal(world.ask('@', Type.ns).answer.length, 2);
  await createRecord(world.ctx, world.zoneId, {
    name: `alias.${APEX}`,
    type: 'CNAME',
    content: `www.${APEX}`,
    ttl: 60,
  });
  world.follower.catchUp();
  const { answer } = world.ask('alias');
  t.match(answer, [{ type: Type.cname }, { type: Type.a, owner: `www.${APEX}.` }]);
});

t.test('all healthy origins, each once', async (t) => {
  const world = await start(t);
  await world.balancer('www', { default_pools: [world.idOf('a')], fallback_pool: world.idOf('b'), answer: 'all' });
  t.strictSame(
    many(100, () => world.addresses('www')),
    ['192.0.2.1 192.0.2.2', '192.0.2.2 192.0.2.1'],
  );
  await world.health('a', 'two', false);
  t.strictSame(
    many(20, () => world.addresses('www')),
    ['192.0.2.1'],
  );
});

t.test('host names: the alias, which is followed inside of the zone', async (t) => {
  const world = await start(t);
  await world.pool('c', [{ name: 'named', address: `www.${APEX}`, flatten_cname: false }], {}, false);
  await world.balancer('app', { default_pools: [world.idOf('c')], fallback_pool: world.idOf('c') });
  t.match(world.ask('app').answer, [
    { type: Type.cname, owner: `app.${APEX}.` },
    { type: Type.a, owner: `www.${APEX}.` },
  ]);
  t.match(world.ask('app', Type.cname).answer, [{ type: Type.cname }]);
  t.equal(world.ask('app', Type.cname).answer.length, 1);
});

t.test('a proxied balancer answers the addresses of the edge', async (t) => {
  const world = await start(t);
  await world.balancer('www', { default_pools: [world.idOf('a')], fallback_pool: world.idOf('b'), proxied: true });
  t.strictSame(world.addresses('www'), ['198.51.100.250']);
  t.strictSame(world.addresses('www', Type.aaaa), ['2001:db8::ed9e']);
  await world.health('a', 'one', false);
  t.strictSame(world.addresses('www'), ['198.51.100.250']);
});

t.test('transfers carry what does not depend on health', async (t) => {
  const world = await start(t);
  const view = (): string[] => {
    const { store, settings } = world.ctx;
    const copy = copyServed(store, servingZone(store, findZone(store, world.seq)!, settings));
    const owner = [...copy.values()].find(({ ownerKey }) => Buffer.from(ownerKey).toString() === 'www\0')!;
    return owner.rrs.map(({ type, ttl, rdata }) => `${type} ${ttl} ${Buffer.from(rdata).toString('hex')}`);
  };
  const before = view();
  t.strictSame(before, [
    '1 45 c0000201',
    '1 45 c0000202',
    `16 300 05${Buffer.from('stays').toString('hex')}`,
    '28 45 20010db8000000000000000000000006',
  ]);
  await world.health('a', 'one', false);
  t.strictSame(view(), before);
  const { serial } = findZone(world.ctx.store, world.seq)!;
  await world.pool('b', [{ name: 'far', address: '198.51.100.3' }]);
  t.equal(findZone(world.ctx.store, world.seq)!.serial, serial, 'nothing of it changed: the serial stays');
  await world.pool('a', [{ name: 'one', address: '192.0.2.3' }]);
  t.not(findZone(world.ctx.store, world.seq)!.serial, serial);
  t.strictSame(view().slice(0, 1), ['1 45 c0000203']);
});

t.test('exports have the same in place of a load balancer, and nothing that it hides', async (t) => {
  const world = await start(t);
  const lines: string[] = [];
  for await (const part of exportZone(world.ctx, world.zoneId, 'bind')) lines.push(...part.split('\n'));
  const own = lines.filter((line) => line.startsWith('www.')).map((line) => line.split('\t').slice(3).join(' '));
  t.match(own, [/^A 192\.0\.2\.1 ; in place of a load balancer/, /^A 192\.0\.2\.2 /, /^AAAA 2001:db8::6/, /^TXT/]);
  t.equal(own.length, 4);
});
