/** Accounts share the queries to outside resolvers; a known address serves while it is asked anew. No query ends by itself here. */

import t, { type Test } from 'tap';
import { createLookUps } from '../../src/resolver/look-ups.js';
import {
  createResolver,
  type Resolution,
  type ResolveOptions,
  type ResolverLimits,
} from '../../src/resolver/resolve.js';
import type { Upstream, UpstreamAnswer } from '../../src/resolver/upstream.js';
import { startControl } from '../control/fixture.js';
import { anywhere } from '../support/egress.js';
import { seededRandom } from '../support/seeded-random.js';

const settle = async (): Promise<void> => {
  for (let i = 0; i < 4; i++) await new Promise(setImmediate);
};

/** Questions that were sent, by name, each with what ends it. */
class HeldUpstream implements Upstream {
  readonly asked: string[] = [];
  private readonly held = new Map<string, (answer: UpstreamAnswer) => void>();

  query(name: string): Promise<UpstreamAnswer> {
    this.asked.push(name);
    return new Promise((resolve) => this.held.set(name, resolve));
  }

  answer(name: string, status: 'ok' | 'timeout' = 'ok', content = '203.0.113.1'): void {
    const records = status === 'ok' ? [{ name, type: 'A' as const, ttl: 30, content }] : [];
    this.held.get(name)!({ status, records, referral: [] });
    this.held.delete(name);
  }
}

async function startWorld(t: Test, limits: Partial<ResolverLimits> = {}) {
  const { ctx, clock } = await startControl(t);
  const upstream = new HeldUpstream();
  const { store, settings } = ctx;
  const resolver = createResolver({ store, upstream, clock, random: seededRandom(5), limits, serving: settings });
  const ask = (name: string, options: ResolveOptions) => {
    const asked: { resolution?: Resolution } = {};
    void resolver.resolve(name, 'A', options).then((resolution) => Object.assign(asked, { resolution }));
    return asked;
  };
  const lookUps = createLookUps({ upstream, clock, egress: anywhere(clock), own: { store, settings } });
  return { clock, upstream, ask, lookUps };
}

t.test('slow domains of three greedy neighbours keep nobody waiting', async (t) => {
  const { upstream, ask } = await startWorld(t, { parallel: 8 });
  for (let i = 0; i < 100; i++) ask(`www.b${i}.test`, { account: 2 });
  await settle();
  t.equal(upstream.asked.length, 8, 'alone, it has all places');
  for (const account of [3, 4]) for (let i = 0; i < 100; i++) ask(`www.c${account}-${i}.test`, { account });
  await settle();
  const mine = ask('www.a.test', { account: 1 });
  // Somebody else waits for its turn with the same name.
  const same = ask('www.b99.test', { account: 5 });
  await settle();
  t.same(upstream.asked.slice(8), ['www.c3-0.test', 'www.c4-0.test', 'www.a.test', 'www.b99.test']);
  upstream.answer('www.a.test');
  upstream.answer('www.b99.test');
  await settle();
  t.match([mine.resolution, same.resolution], [{ status: 'ok' }, { status: 'ok' }]);
  upstream.answer('www.b0.test');
  upstream.answer('www.b1.test');
  await settle();
  t.same(upstream.asked.slice(12), [], 'until fewer run than one account may have');
  for (let i = 2; i < 5; i++) upstream.answer(`www.b${i}.test`);
  await settle();
  t.same(
    upstream.asked
      .slice(12)
      .map((name) => name.slice(0, 6))
      .sort(),
    ['www.c3', 'www.c4', 'www.c3'].sort(),
    'the next turns',
  );
});

t.test('within an account, domains take turns', async (t) => {
  const { upstream, ask } = await startWorld(t, { parallel: 2 });
  for (let i = 0; i < 50; i++) ask(`h${i}.slow.test`, { turnOf: 2 });
  ask('www.good.test', { turnOf: 2 });
  await settle();
  upstream.answer('h0.slow.test', 'timeout');
  await settle();
  t.same(upstream.asked, ['h0.slow.test', 'h1.slow.test', 'www.good.test']);
});

t.test('a known address is used while it is asked anew', async (t) => {
  const { clock, upstream, ask } = await startWorld(t);
  const old = { account: 1, mayBeOld: true };
  ask('o.example', old);
  await settle();
  upstream.answer('o.example');
  await settle();
  clock.advance(31_000);
  const first = ask('o.example', old);
  const second = ask('o.example', old);
  const strict = ask('o.example', { account: 1 });
  await settle();
  t.match([first.resolution, second.resolution], [{ ttl: 0, records: [{ content: '203.0.113.1' }] }, { ttl: 0 }]);
  t.equal(strict.resolution, undefined, 'who must know it as it is now waits');
  t.equal(upstream.asked.length, 2, 'it is asked once');
  upstream.answer('o.example', 'timeout');
  await settle();
  t.match(strict.resolution, { status: 'timeout' });
  const later = ask('o.example', old);
  await settle();
  t.match(later.resolution, { status: 'ok' }, 'and when the resolver fails');
  t.equal(upstream.asked.length, 2, 'not again before the failure has had its time');
  clock.advance(10_000);
  ask('o.example', old);
  await settle();
  upstream.answer('o.example', 'ok', '203.0.113.2');
  await settle();
  const fresh = ask('o.example', old);
  await settle();
  t.match(fresh.resolution, { records: [{ content: '203.0.113.2' }] });
  clock.advance(3_700_000);
  const tooOld = ask('o.example', old);
  await settle();
  t.equal(tooOld.resolution, undefined, 'for an hour');
});

t.test('accounts take turns at what is asked of parents and for scans', async (t) => {
  const { upstream, lookUps } = await startWorld(t);
  for (let i = 0; i < 100; i++) void lookUps.findDelegation(`child.b${i}.test`, 2);
  for (let i = 0; i < 100; i++) void lookUps.askOutside(`scan${i}.b.test`, 'A', 2);
  await settle();
  t.equal(upstream.asked.length, 16 + 64);
  void lookUps.findDelegation('child.a.test', 1);
  void lookUps.findParentDs('child.a.example', 1);
  void lookUps.askOutside('scan.a.test', 'A', 1);
  await settle();
  t.same(upstream.asked.slice(80), ['a.test', 'scan.a.test'], 'the second search waits for a place of its account');
  const samples = lookUps.samples().filter(({ name }) => name === 'turns_held');
  t.same(
    samples.map(({ labels, value }) => [labels.kind, value]),
    [
      ['look-ups', 65],
      ['parents', 17],
    ],
  );
});
