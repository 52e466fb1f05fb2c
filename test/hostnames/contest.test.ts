/**
 * Two accounts claim one hostname: what a neighbour can show without owning the name takes nothing away, and orders nothing. Every
 * test is an attempt of the tenant B at names that A has proven.
 */
import t, { type Test } from 'tap';
import { fromHex } from '../../src/base/bytes.js';
import { answerHttpChallenge, CHALLENGE_PATH } from '../../src/certs/http-challenge.js';
import { orderPack } from '../../src/certs/packs/packs.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { authenticateToken } from '../../src/control/access/authentication.js';
import { createKey } from '../../src/control/access/keys.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord, deleteRecord } from '../../src/control/records/records.js';
import { checkActivation } from '../../src/control/zones/activation.js';
import { createZone, deleteZone } from '../../src/control/zones/zones.js';
import { checkHostname } from '../../src/hostnames/check.js';
import type { HostnameContext } from '../../src/hostnames/context.js';
import { putFallback } from '../../src/hostnames/fallback-origin.js';
import { createHostname, type HostnameInput } from '../../src/hostnames/hostnames.js';
import { findRoute } from '../../src/hostnames/routing/find-route.js';
import { NOT_PROVEN, TAKEN } from '../../src/hostnames/texts.js';
import { findOrderUnderWay, insertChallengeRow, insertOrderUnderWay } from '../../src/store/certs/orders.js';
import { findRequest, insertRequest } from '../../src/store/certs/requests.js';
import { findHostname } from '../../src/store/hostnames/hostnames.js';
import { findZoneById } from '../../src/store/zones/zones.js';
import { startControl } from '../control/fixture.js';
import { hostnameServices } from '../support/hostname-services.js';
import { type ScriptedReply, startScriptedUpstream } from '../support/scripted-upstream.js';

const HOST = 'shop.customer.test';

async function startWorld(t: Test, activation: 'trust' | 'auto' = 'trust') {
  const { ctx, directory, clock } = await startControl(t, { activation });
  const answers = new Map<string, ScriptedReply>();
  const { server } = await startScriptedUpstream(t, ({ name, type }) => answers.get(`${name} ${type}`) ?? { rcode: 3 });
  const hostnames = await hostnameServices(ctx, { directory, servers: [server] });
  const account = await createAccount(ctx, { name: 'B', members: ['b@example.org'] });
  const { secret } = await createKey(ctx, { kind: 'token', name: 'B', email: 'b@example.org' });
  const signedIn = await authenticateToken(ctx, secret, '127.0.0.1');
  if (!signedIn.ok) throw new Error(signedIn.reason);
  // Customers' web servers are at addresses that nobody answers.
  const a: HostnameContext = { ...ctx, hostnames: { ...hostnames, fetchToken: async () => undefined } };
  const b: HostnameContext = { ...a, actor: signedIn.actor };
  const makeZone = async (who: Context, name: string): Promise<string> => {
    const at = who === b ? { account: { id: account.id } } : {};
    const { id } = await createZone(who, { name, ...at });
    await createRecord(who, id, { type: 'A', name: 'origin', content: '192.0.2.1', ttl: 1, proxied: true });
    await putFallback(who, id, `origin.${name}`);
    return id;
  };
  const state = (id: string) => findHostname(ctx.store, id)?.state;
  const check = async (id: string) => {
    await checkHostname(a, id, { planned: true, fresh: true });
    return state(id);
  };
  const servedBy = (host: string) => findRoute(ctx.store, ctx.settings, host).zone?.name;
  /** What name servers outside say. A question for addresses shows an alias, too. */
  const says = (name: string, type: string, content: string) =>
    answers.set(`${name} ${type === 'CNAME' ? 'A' : type}`, { answer: [`${name}. 60 ${type} ${content}`] });
  return { a, b, store: ctx.store, clock, answers, makeZone, check, state, servedBy, says };
}

const named =
  (hostname: string, rest: Partial<HostnameInput> = {}) =>
  () => ({ hostname, ...rest });
const token = (at: { name: string; value: string }) => [at.name, 'TXT', `"${at.value}"`] as const;

t.test('B trusts itself: a zone above, a record in it, a token in it', async (t) => {
  const { a, b, says, makeZone, check, state, servedBy } = await startWorld(t);
  const home = await makeZone(a, 'saas.test');
  const theirs = await makeZone(b, 'evil.test');
  says(HOST, 'CNAME', 'origin.saas.test.');
  const mine = await createHostname(a, home, named(HOST));
  t.equal(mine.status, 'active');
  const claim = await makeZone(b, 'customer.test').catch(() => undefined);
  if (claim) await createRecord(b, claim, { type: 'CNAME', name: 'shop', content: 'origin.evil.test', ttl: 60 });
  const grab = await createHostname(b, theirs, named(HOST));
  if (claim)
    await createRecord(b, claim, { type: 'TXT', name: grab.txt.name, content: `"${grab.txt.value}"`, ttl: 60 });
  t.equal(await check(grab.id), 'pending');
  t.equal(await check(mine.id), 'active');
  t.equal(servedBy(HOST), 'saas.test');
  if (claim) await deleteZone(b, claim);
  t.strictSame([await check(grab.id), await check(mine.id), servedBy(HOST)], ['pending', 'active', 'saas.test']);
  t.equal(state(mine.id), 'active');
});

t.test('a proxied CNAME of A shows nobody else where it leads', async (t) => {
  const { a, b, makeZone, check, servedBy } = await startWorld(t);
  const home = await makeZone(a, 'victim.test');
  const theirs = await makeZone(b, 'evil.test');
  await checkActivation(a, theirs);
  await createRecord(a, home, { type: 'CNAME', name: 'www', content: 'origin.evil.test', ttl: 1, proxied: true });
  const { id, status } = await createHostname(b, theirs, named('www.victim.test'));
  t.equal(status, 'pending');
  t.equal(await check(id), 'pending');
  t.equal(servedBy('www.victim.test'), 'victim.test');
});

t.test('a DNS-only CNAME of A gives the name away, and A takes it back', async (t) => {
  const { a, b, makeZone, check, state, servedBy } = await startWorld(t);
  const home = await makeZone(a, 'victim.test');
  const theirs = await makeZone(b, 'evil.test');
  const alias = await createRecord(a, home, { type: 'CNAME', name: 'www', content: 'origin.evil.test', ttl: 60 });
  const { id, status, errors } = await createHostname(b, theirs, named('www.victim.test'));
  t.strictSame([status, errors], ['pending', [NOT_PROVEN]], 'anybody may have a zone of that name');
  await checkActivation(a, theirs);
  t.equal(await check(id), 'active');
  t.equal(servedBy('www.victim.test'), 'evil.test');
  await deleteRecord(a, home, alias.id);
  t.equal(await check(id), 'moved', 'our own zones leave no doubt');
  t.equal(state(id), 'moved');
  t.not(servedBy('www.victim.test'), 'evil.test');
});

t.test('a zone of B with the name that customers of A lead to', async (t) => {
  const { a, b, says, makeZone, servedBy } = await startWorld(t, 'auto');
  const home = await makeZone(a, 'saas.test');
  says(HOST, 'CNAME', 'origin.saas.test.');
  const twin = await makeZone(b, 'saas.test').catch(() => undefined);
  if (!twin) return;
  const grab = await createHostname(b, twin, named(HOST));
  t.equal(grab.status, 'pending', 'the CNAME names the zone of A');
  const mine = await createHostname(a, home, named(HOST));
  t.equal(mine.status, 'active');
  t.equal(servedBy(HOST), 'saas.test');
});

t.test('tokens: a live CNAME is more; of two tokens the earlier stays while it stands', async (t) => {
  const { a, b, says, answers, makeZone, check, state } = await startWorld(t);
  const [home, theirs] = [await makeZone(a, 'saas.test'), await makeZone(b, 'evil.test')];
  says(HOST, 'CNAME', 'origin.saas.test.');
  await checkActivation(a, theirs);
  const mine = await createHostname(a, home, named(HOST));
  const grab = await createHostname(b, theirs, named(HOST));
  says(...token(grab.txt));
  t.strictSame([await check(grab.id), state(mine.id)], ['pending', 'active'], 'a token against a CNAME');
  t.strictSame(JSON.parse(findHostname(a.store, grab.id)!.errors), [TAKEN]);
  answers.set(`${HOST} A`, { rcode: 2 });
  t.strictSame([await check(grab.id), state(mine.id)], ['pending', 'active'], 'nothing can be found out');
  says(HOST, 'CNAME', 'origin.evil.test.');
  t.strictSame([await check(grab.id), state(mine.id)], ['active', 'moved'], 'the customer has gone over');
  const second = await createHostname(a, home, named('second.customer.test'));
  const late = await createHostname(b, theirs, named('second.customer.test'));
  says(...token(second.txt));
  t.equal(await check(second.id), 'active');
  answers.set(`${late.txt.name} TXT`, {
    answer: [second, late].map(({ txt }) => `${txt.name}. 60 TXT "${txt.value}"`),
  });
  t.strictSame([await check(late.id), state(second.id)], ['pending', 'active'], 'both tokens stand');
  says(...token(late.txt));
  t.strictSame([await check(late.id), state(second.id)], ['active', 'moved'], 'only the later one does');
});

t.test('names that nobody has proven order nothing', async (t) => {
  const { a, b, store, makeZone, says } = await startWorld(t, 'auto');
  const [home, theirs] = [await makeZone(a, 'victim.test'), await makeZone(b, 'evil.test')];
  await createRecord(a, home, { type: 'A', name: 'www', content: '192.0.2.1', ttl: 1, proxied: true });
  const ssl = { method: 'http', type: 'dv' } as const;
  const { id } = await createHostname(b, theirs, named('www.victim.test', { ssl }));
  const request = findRequest(store, 'hostname', id)!;
  t.match(request, { status: 'initializing' });
  t.equal(findOrderUnderWay(store, request.seq), undefined);
  const certificates = a.hostnames.certificates;
  await orderPack({ ...b, certificates }, theirs, async () => ({
    hosts: ['evil.test', '*.evil.test'],
    type: 'advanced',
    validation_method: 'txt',
    validity_days: 90,
    certificate_authority: 'lets_encrypt',
  }));
  const zone = findZoneById(store, fromHex(theirs)!)!;
  t.equal(zone.proven_by, null);
  const waiting = store.prepareTuples<[], [number]>('SELECT count(*) FROM certificate_orders').get();
  t.strictSame(waiting, [0]);
  says(HOST, 'CNAME', 'origin.victim.test.');
  const mine = await createHostname(a, home, named(HOST, { ssl }));
  t.equal(mine.status, 'active');
  const ordered = findRequest(store, 'hostname', mine.id)!;
  t.ok(ordered.status !== 'initializing' || findOrderUnderWay(store, ordered.seq), 'what is active is ordered at once');
});

t.test('the edge answers challenges for whose name it is, and nobody else', async (t) => {
  const { a, b, store, makeZone, clock } = await startWorld(t, 'auto');
  const [home, theirs] = [await makeZone(a, 'victim.test'), await makeZone(b, 'evil.test')];
  await createRecord(a, home, { type: 'A', name: 'www', content: '192.0.2.1', ttl: 1, proxied: true });
  const place = async (zoneId: string, text: string) => {
    const zone = findZoneById(store, fromHex(zoneId)!)!;
    const nowMs = clock.nowMs();
    await store.write(() => {
      const id = a.random.uuid();
      insertRequest(store, {
        ...{ id, owner_kind: 'zone', owner: a.random.uuid(), zone: zone.seq, names: '["www.victim.test"]' },
        ...{
          method: 'http',
          authority: '',
          validity_days: 90,
          status: 'initializing',
          started_at: nowMs,
          next_at: null,
        },
      });
      const { seq } = store
        .prepare<[string], { seq: number }>('SELECT seq FROM certificate_requests WHERE id = ?')
        .get(id)!;
      const times = { created_at: nowMs, expires_at: nowMs + 1000 };
      insertOrderUnderWay(store, {
        id: a.random.uuid(),
        request: seq,
        version: 1,
        authority: 'google',
        url: id,
        ...times,
      });
      insertChallengeRow(store, {
        ...{ order_seq: findOrderUnderWay(store, seq)!.seq, authorization_url: id, url: id, type: 'http-01' },
        ...{ identifier: 'www.victim.test', wildcard: 0, token: text, value: `${text}.key` },
      });
    });
  };
  await place(theirs, 'tokenB');
  await place(home, 'tokenA');
  const answer = (text: string) => answerHttpChallenge(store, 'www.victim.test', `${CHALLENGE_PATH}${text}`);
  t.equal(answer('tokenA'), 'tokenA.key');
  t.equal(answer('tokenB'), undefined);
});
