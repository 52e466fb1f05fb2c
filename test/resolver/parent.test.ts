/** What the servers of a parent zone say, by their own answers: delegations and DS records. */

import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { importZone } from '../../src/control/imports/zone.js';
import { createDelegationFinder } from '../../src/resolver/delegation.js';
import { createParentDsFinder } from '../../src/resolver/parent-ds.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import { startControl } from '../control/fixture.js';
import { anywhere, egressTo } from '../support/egress.js';
import { type Script, startScriptedUpstream } from '../support/scripted-upstream.js';

const SOA = 'test. 900 SOA a.nic.test. host.nic.test. 1 2 3 4 600';
const DS = (tag: number): string => `zone.test. 3600 DS ${tag} 13 2 ${'ab'.repeat(32)}`;

/**
 * A resolver that knows the servers of `test`, one for each script, and these servers. All have the same port, so each
 * has an address of its own.
 */
async function startParents(t: Test, ...scripts: readonly Script[]) {
  const parent = await startScriptedUpstream(t, (question) => scripts[0]!(question));
  const { port } = parent.server;
  const names = scripts.map((_, index) => `${'abc'[index]}.nic.test`);
  const resolver = await startScriptedUpstream(t, ({ name, type }) => {
    if (name === 'test' && type === 'NS') return { answer: names.map((server) => `test. 60 NS ${server}.`) };
    if (name === 'b.zone.test') return { rcode: 3, authority: [SOA] };
    const index = names.indexOf(name);
    // Only the first server has an address at which somebody answers.
    if (index >= 0 && type === 'A') return { answer: [`${name}. 60 A ${index === 0 ? '127.0.0.1' : '127.0.0.2'}`] };
    return { authority: [SOA] };
  });
  const clock = new SystemClock();
  const upstream = createUpstream({ servers: [resolver.server], clock, timeoutMs: 500 });
  const { ctx } = await startControl(t);
  const own = { store: ctx.store, settings: ctx.settings };
  return { ctx, options: { upstream, clock, egress: anywhere(clock), port, own }, resolver, parent };
}

t.test('DS records with their TTL, none, and servers that do not answer', async (t) => {
  let reply: ReturnType<Script> = { answer: [DS(2), DS(10)] };
  const { options, parent } = await startParents(t, () => reply);
  const find = createParentDsFinder(options);
  const digest = 'ab'.repeat(32);
  t.match(await find('Zone.test.', 1), [{ server: 'a.nic.test', ttl: 3600 }]);
  t.same(
    (await find('zone.test', 1))![0]!.ds?.map((content) => content.toLowerCase()),
    [`10 13 2 ${digest}`, `2 13 2 ${digest}`],
  );
  t.ok(parent.asked.every(({ name, type }) => name === 'zone.test' && type === 'DS'));
  reply = { authority: [SOA] };
  t.same(await find('zone.test', 1), [{ server: 'a.nic.test', ds: [], ttl: 600 }]);
  reply = { rcode: 3, authority: [SOA] };
  t.same(await find('zone.test', 1), [{ server: 'a.nic.test', ds: [], ttl: 600 }]);
  for (const rcode of [2, 5]) {
    reply = { rcode };
    t.same(await find('zone.test', 1), [{ server: 'a.nic.test', ds: undefined, ttl: undefined }], `RCODE ${rcode}`);
  }
});

t.test('every server is asked; one that is silent is unknown, not empty', async (t) => {
  const { options } = await startParents(
    t,
    () => ({ answer: [DS(7)] }),
    () => undefined,
  );
  t.match(await createParentDsFinder(options)('zone.test', 1), [
    { server: 'a.nic.test', ds: [/^7 13 2 /] },
    { server: 'b.nic.test', ds: undefined },
  ]);
});

t.test('a parent that cannot be found', async (t) => {
  const { options } = await startParents(t, () => undefined);
  t.same(await createParentDsFinder(options)('zone.other', 1), []);
  t.equal(await createDelegationFinder(options)('zone.other'), undefined);
});

t.test('a resolver that fails: unknown, not empty; without resolvers nobody is asked', async (t) => {
  const { options } = await startParents(t, () => undefined);
  const { server } = await startScriptedUpstream(t, () => ({ rcode: 2 }));
  const upstream = createUpstream({ servers: [server], clock: options.clock, timeoutMs: 500 });
  t.equal(await createParentDsFinder({ ...options, upstream })('zone.test', 1), undefined);
  t.same(await createParentDsFinder({ ...options, upstream, isOffline: true })('zone.test', 1), []);
});

t.test('a delegation comes from the referral', async (t) => {
  const { options } = await startParents(t, () => ({
    authority: ['zone.test. 60 NS ns1.zone.test.', 'zone.test. 60 NS ns2.elsewhere.test.'],
  }));
  t.same(await createDelegationFinder(options)('zone.test'), ['ns1.zone.test', 'ns2.elsewhere.test']);
});

t.test('a parent that is served here is not asked over the network', async (t) => {
  const { ctx, options, parent, resolver } = await startParents(t, () => undefined);
  const digest = 'ab'.repeat(32);
  const text = `$ORIGIN example.test.
@ 600 SOA ns.example.test. host.example.test. 1 2 3 4 5
@ 600 NS ns.example.test.
ns 600 A 192.0.2.1
signed 600 NS ns.signed
signed 900 DS 10 13 2 ${digest}
ns.signed 600 A 192.0.2.2
plain 600 NS ns.signed
`;
  await importZone(ctx, { source: { text } });
  const find = createParentDsFinder(options);
  const server = 'example.test (served here)';
  t.match(await find('signed.example.test', 1), [{ server, ds: [/^10 13 2 /], ttl: 900 }]);
  t.match(await find('plain.example.test', 1), [{ server, ds: [] }]);
  t.same([...parent.asked, ...resolver.asked], []);
});

t.test('servers at addresses that are not public are not asked unless that is allowed', async (t) => {
  let asked = 0;
  const { options } = await startParents(t, () => {
    asked++;
    return { answer: [DS(2)] };
  });
  const egress = egressTo(options.clock, []);
  t.match(await createParentDsFinder({ ...options, egress })('zone.test', 1), [
    { server: 'a.nic.test', ds: undefined },
  ]);
  t.equal(await createDelegationFinder({ ...options, egress })('zone.test'), undefined);
  t.equal(asked, 0);
});
