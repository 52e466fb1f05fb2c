/** Accounts take turns at the look-ups of flattened targets. No look-up ends by itself here. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import { startFlattenRefresher } from '../../../src/control/flatten/refresher.js';
import { createRecord } from '../../../src/control/records/records.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { parseName } from '../../../src/dns/name.js';
import { createResolver } from '../../../src/resolver/resolve.js';
import type { Upstream, UpstreamAnswer, UpstreamType } from '../../../src/resolver/upstream.js';
import { findTarget } from '../../../src/store/flatten/targets.js';
import { seededRandom } from '../../support/seeded-random.js';
import { openOneCopy } from '../../support/two-copies.js';
import { until } from '../../support/until.js';
import { startControl } from '../fixture.js';

/** Never answers names that are slow. */
class SlowUpstream implements Upstream {
  readonly slow = new Set<string>();
  isClosed = false;
  private readonly held: ((answer: UpstreamAnswer) => void)[] = [];

  query(name: string, type: UpstreamType): Promise<UpstreamAnswer> {
    const content = type === 'A' ? '203.0.113.1' : '2001:db8::1';
    if (!name.startsWith('slow') || this.isClosed)
      return Promise.resolve({ status: 'ok', records: [{ name, type, ttl: 60, content }], referral: [] });
    this.slow.add(name);
    return new Promise((resolve) => this.held.push(resolve));
  }

  close(): void {
    this.isClosed = true;
    for (const resolve of this.held) resolve({ status: 'timeout', records: [], referral: [] });
  }
}

t.test('slow targets of greedy neighbours keep nobody waiting', async (t) => {
  const { ctx, clock } = await startControl(t, {}, openOneCopy);
  const { store } = ctx;
  const upstream = new SlowUpstream();
  const resolver = createResolver({ store, upstream, clock, random: seededRandom(5), serving: ctx.settings });
  const policy = { edgeAddresses: [], privateAddresses: 'allow' } as const;
  const refresher = await startFlattenRefresher({ base: ctx, resolver, policy });
  t.teardown(() => {
    upstream.close();
    return refresher.close();
  });
  const zoneOf = async (account: string, name: string): Promise<string> =>
    (await createZone(ctx, { name, account: { id: account } })).id;
  const flatten = (zone: string, name: string, content: string) =>
    createRecord(ctx, zone, { type: 'CNAME', name, content, settings: { flatten_cname: true } });
  const look = async (): Promise<void> => {
    refresher.wake();
    clock.advance(20);
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
  };
  const { id: mine } = await createAccount(ctx, { name: 'a' });
  const home = await zoneOf(mine, 'a.example');
  for (const name of ['b', 'c', 'd']) {
    const { id } = await createAccount(ctx, { name });
    // Several zones, because a zone has a bound of its own.
    for (let n = 0; n < (name === 'b' ? 5 : 2); n++) {
      const zone = await zoneOf(id, `${name}${n}.example`);
      for (let i = 0; i < 16; i++) await flatten(zone, `n${i}`, `slow-${name}${n}-${i}.example.net`);
    }
    await look();
    await look();
    if (name === 'b') t.equal(upstream.slow.size, 32, 'alone, it has all places: two questions a name');
  }
  await flatten(home, '@', 'www.example.net');
  // Somebody else named it already, and waits for its turn with it.
  await flatten(home, 'same', 'slow-b4-15.example.net');
  const target = parseName('www.example.net.');
  await until(async () => {
    await look();
    return findTarget(store, target)?.asked === 1;
  });
  await look();
  t.ok(upstream.slow.has('slow-b4-15.example.net'), 'a name is not of who named it first');
  t.ok(upstream.slow.size <= 64, `${upstream.slow.size} slow names at once`);
});
