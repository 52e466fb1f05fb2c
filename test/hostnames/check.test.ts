/**
 * Checks over time: what is found elsewhere, when nothing can be found out, the end of the schedule, and who had the name
 * before.
 */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { authenticateToken } from '../../src/control/access/authentication.js';
import { createKey } from '../../src/control/access/keys.js';
import { HOSTNAME_JOB } from '../../src/control/certificates/drop.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord } from '../../src/control/records/records.js';
import { checkActivation } from '../../src/control/zones/activation.js';
import { createZoneHold } from '../../src/control/zones/hold.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { createZone, deleteZone } from '../../src/control/zones/zones.js';
import { setAllowance } from '../../src/hostnames/allowance.js';
import { checkHostname } from '../../src/hostnames/check.js';
import type { HostnameContext } from '../../src/hostnames/context.js';
import { deleteFallbackOrigin, putFallback } from '../../src/hostnames/fallback-origin.js';
import { createHostname, deleteHostname, editHostname, getHostname } from '../../src/hostnames/hostnames.js';
import { hostnameJobs } from '../../src/hostnames/job.js';
import { watchOwnChanges } from '../../src/hostnames/own-changes.js';
import { HELD, NOT_POINTED } from '../../src/hostnames/texts.js';
import { schedule } from '../../src/jobs/schedule.js';
import { findHostname } from '../../src/store/hostnames/hostnames.js';
import { listJobs } from '../../src/store/jobs.js';
import { type Fixture, startControl } from '../control/fixture.js';
import { hostnameServices } from '../support/hostname-services.js';
import { type ScriptedReply, startScriptedUpstream } from '../support/scripted-upstream.js';
import { until } from '../support/until.js';
import { runSql } from '../support/write-now.js';

const HOST = 'app.outside.test';
type Answers = Map<string, ScriptedReply>;

interface World extends Fixture {
  readonly hctx: HostnameContext;
  /** Answers of the outside world by name and type; others are NXDOMAIN. */
  readonly answers: Answers;
  readonly zone: (name: string, fallback?: boolean) => Promise<string>;
  readonly plannedCheck: (id: string) => Promise<void>;
  readonly state: (id: string) => string | undefined;
}

async function startWorld(t: Test): Promise<World> {
  const fixture = await startControl(t);
  const { ctx } = fixture;
  const answers: Answers = new Map();
  const { server } = await startScriptedUpstream(t, ({ name, type }) => answers.get(`${name} ${type}`) ?? { rcode: 3 });
  const hostnames = await hostnameServices(ctx, { directory: fixture.directory, servers: [server] });
  const hctx: HostnameContext = { ...ctx, hostnames };
  return {
    ...fixture,
    hctx,
    answers,
    zone: (name, fallback = true) => makeZone(ctx, name, fallback),
    plannedCheck: (id) => checkHostname(hctx, id, { planned: true, fresh: true }),
    state: (id) => findHostname(ctx.store, id)?.state,
  };
}

async function makeZone(ctx: Context, name: string, fallback: boolean): Promise<string> {
  const { id } = await createZone(ctx, { name });
  await createRecord(ctx, id, { type: 'A', name: 'origin', content: '192.0.2.1', ttl: 1, proxied: true });
  if (fallback) await putFallback(ctx, id, `origin.${name}`);
  return id;
}

const pointsTo = (target: string): ScriptedReply => ({ answer: [`${HOST}. 60 CNAME ${target}.`] });
const bare = (hostname: string) => () => ({ hostname });

t.test('elsewhere three times in a quarter of an hour; uncertainty moves nothing', async (t) => {
  const { hctx, answers, zone, plannedCheck, state, clock } = await startWorld(t);
  const zoneId = await zone('saas.test');
  answers.set(`${HOST} A`, pointsTo('saas.test'));
  const { id, status } = await createHostname(hctx, zoneId, bare(HOST));
  t.equal(status, 'active');
  answers.set(`${HOST} A`, pointsTo('elsewhere.test'));
  answers.set('elsewhere.test A', { answer: ['elsewhere.test. 60 A 192.0.2.9'] });
  for (const _ of [1, 2, 3, 4]) await plannedCheck(id);
  t.equal(state(id), 'active', 'often, but not for long');
  answers.set(`${HOST} A`, { rcode: 2 });
  clock.advance(1_000_000);
  await plannedCheck(id);
  t.equal(state(id), 'active', 'SERVFAIL');
  answers.set(`${HOST} A`, pointsTo('saas.test'));
  await plannedCheck(id);
  t.match(findHostname(hctx.store, id), { elsewhere_count: 0, elsewhere_ms: null }, 'seen here: counted anew');
  answers.set(`${HOST} A`, pointsTo('elsewhere.test'));
  for (const _ of [1, 2]) {
    await plannedCheck(id);
    clock.advance(450_000);
  }
  t.equal(state(id), 'active');
  await plannedCheck(id);
  t.equal(state(id), 'moved');
  t.strictSame((await getHostname(hctx, zoneId, id)).errors, [NOT_POINTED]);
  const back = await editHostname(hctx, zoneId, id, {});
  t.equal(back.status, 'pending', 'it still leads elsewhere');
  answers.set(`${HOST} A`, pointsTo('saas.test'));
  t.equal((await editHostname(hctx, zoneId, id, {})).status, 'active');
});

t.test('75 checks, then it is moved, and gone a week later', async (t) => {
  const { hctx, zone, state, clock } = await startWorld(t);
  const zoneId = await zone('saas.test');
  const { id } = await createHostname(hctx, zoneId, bare(HOST));
  const kind = hostnameJobs(hctx, hctx.hostnames);
  const job = { ...hctx, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  const startMs = clock.nowMs();
  let checks = 0;
  for (; state(id) === 'pending'; checks++) {
    clock.advance(findHostname(hctx.store, id)!.next_check_ms! - clock.nowMs());
    const outcome = await kind.handler(job, id);
    // As the runner does at the end of a job.
    if ('write' in outcome) await hctx.store.write(() => outcome.write?.());
  }
  t.equal(checks, 75);
  t.equal(((clock.nowMs() - startMs) / 3_600_000).toFixed(2), '169.52');
  t.equal(state(id), 'moved');
  clock.advance(604_799_000);
  t.match(await kind.handler(job, id), { againAtMs: clock.nowMs() + 1000 });
  t.equal(state(id), 'moved');
  clock.advance(1000);
  t.strictSame(await kind.handler(job, id), { done: true });
  t.equal(state(id), undefined);
  t.strictSame(await kind.handler(job, randomUUID()), { done: true }, 'one that never was');
});

t.test('a check of the schedule that finds nothing is written at the end of its job', async (t) => {
  const { hctx, zone, clock, state, plannedCheck, answers } = await startWorld(t);
  const zoneId = await zone('saas.test');
  const kind = hostnameJobs(hctx, hctx.hostnames);
  const job = { ...hctx, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  const { id } = await createHostname(hctx, zoneId, bare(HOST));
  const row = () => findHostname(hctx.store, id);
  const check = async () => {
    clock.advance(row()!.next_check_ms! - clock.nowMs());
    const outcome = await kind.handler(job, id);
    if ('done' in outcome) throw new Error('it is checked again');
    return { ...outcome, end: () => hctx.store.write(() => outcome.write?.()) };
  };
  const first = await check();
  t.equal(row()?.check_number, 0);
  t.equal(first.againAtMs - clock.nowMs(), 63_000);
  await first.end();
  t.match(row(), { check_number: 1, next_check_ms: first.againAtMs, state: 'pending' });

  const second = await check();
  clock.advance(1000);
  await plannedCheck(id);
  const { next_check_ms } = row()!;
  await second.end();
  t.match(row(), { check_number: 2, next_check_ms }, 'another check was written meanwhile');

  const third = await check();
  answers.set(`${HOST} A`, pointsTo('saas.test'));
  await editHostname(hctx, zoneId, id, {});
  t.equal(state(id), 'active');
  await third.end();
  t.equal(state(id), 'active', 'it was verified meanwhile');
  t.equal((await check()).write, undefined, 'what is verified is looked at in a write of its own');

  const gone = await createHostname(hctx, zoneId, bare('gone.example'));
  const { next_check_ms: dueMs } = findHostname(hctx.store, gone.id)!;
  clock.advance(Math.max(0, dueMs! - clock.nowMs()));
  const last = await kind.handler(job, gone.id);
  await deleteHostname(hctx, zoneId, gone.id);
  await hctx.store.write(() => 'write' in last && last.write?.());
  t.equal(findHostname(hctx.store, gone.id), undefined);
});

t.test('origins keep a hostname waiting, and several errors are told together', async (t) => {
  const { hctx, ctx, answers, zone, plannedCheck } = await startWorld(t);
  const zoneId = await zone('saas.test', false);
  const { id, errors } = await createHostname(hctx, zoneId, bare(HOST));
  t.strictSame(errors, [NOT_POINTED, 'zone does not have a fallback origin set.']);
  answers.set(`${HOST} A`, pointsTo('saas.test'));
  await putFallback(ctx, zoneId, 'later.saas.test');
  await plannedCheck(id);
  t.strictSame((await getHostname(hctx, zoneId, id)).errors, ['fallback origin is in a status of initializing.']);
  await createRecord(ctx, zoneId, { type: 'A', name: 'later', content: '192.0.2.1', ttl: 1, proxied: true });
  await plannedCheck(id);
  t.match(await getHostname(hctx, zoneId, id), { status: 'active', errors: [] });
});

t.test('a fallback origin begins the checks that waited for it', async (t) => {
  const { hctx, ctx, answers, zone, plannedCheck, state, clock } = await startWorld(t);
  const zoneId = await zone('saas.test', false);
  answers.set(`${HOST} A`, pointsTo('saas.test'));
  const { id } = await createHostname(hctx, zoneId, bare(HOST));
  const dueInMs = () => listJobs(ctx.store, 100).find(({ subject }) => subject === id)!.run_at - clock.nowMs();
  t.equal(dueInMs(), 60_000);
  await putFallback(ctx, zoneId, 'later.saas.test');
  t.equal(dueInMs(), 60_000, 'that has no record yet');
  await plannedCheck(id);
  const watch = watchOwnChanges(ctx);
  t.teardown(() => watch.close());
  await createRecord(ctx, zoneId, { type: 'A', name: 'later', content: '192.0.2.1', ttl: 1, proxied: true });
  watch.wake();
  clock.advance(100);
  await ctx.store.write(() => {});
  t.equal(dueInMs(), 0, 'its record was made');
  await deleteFallbackOrigin(ctx, zoneId);
  await plannedCheck(id);
  t.match([state(id), dueInMs() > 0], ['pending', true]);
  await putFallback(ctx, zoneId, 'later.saas.test');
  t.equal(dueInMs(), 0, 'it was set');
  await plannedCheck(id);
  t.equal(state(id), 'active');
});

t.test('edits of a zone begin checks of what it speaks about, and of nothing else', async (t) => {
  const { hctx, ctx, zone, clock } = await startWorld(t);
  const ids: string[] = [];
  const zoneId = await zone('saas.test');
  for (const host of ['app.customer.test', HOST]) ids.push((await createHostname(hctx, zoneId, bare(host))).id);
  const planned = () => {
    const jobs = listJobs(ctx.store, 100);
    return ids.map((id) => jobs.find(({ subject }) => subject === id)!.run_at <= clock.nowMs());
  };
  const watch = watchOwnChanges(ctx);
  t.teardown(() => watch.close());
  const look = async () => {
    watch.wake();
    clock.advance(100);
    await until(() => true);
    await ctx.store.write(() => {});
  };
  const again = () =>
    ctx.store.write(() => {
      for (const subject of ids) {
        schedule(ctx.store, { kind: HOSTNAME_JOB, subject, runAtMs: clock.nowMs() + 60_000 }, clock.nowMs());
      }
    });
  const other = await createAccount(ctx, { name: 'Other' });
  await again();
  const claim = await createZone(ctx, { name: 'customer.test', account: other.id });
  runSql(ctx.store, "UPDATE zones SET proven_by = NULL, status = 'pending' WHERE name = 'customer.test'");
  await look();
  await again();
  await createRecord(ctx, claim.id, { type: 'A', name: 'x', content: '192.0.2.1', ttl: 1 });
  await look();
  t.strictSame(planned(), [false, false], 'nobody hears what a claim says');
  await deleteZone(ctx, claim.id);
  await look();
  t.strictSame(planned(), [false, false], 'nor that it has gone');
  const own = await createZone(ctx, { name: 'customer.test' });
  await look();
  t.strictSame(planned(), [true, false]);
  await again();
  await deleteZone(ctx, own.id);
  await look();
  t.strictSame(planned(), [true, false], 'what a zone said is looked at elsewhere once it is deleted');
});

t.test('who verified it last has it; addresses alone take it from nobody', async (t) => {
  const { hctx, ctx, answers, zone, state, plannedCheck } = await startWorld(t);
  const first = await zone('saas.test');
  const second = await zone('rival.test');
  answers.set(`${HOST} A`, { answer: [`${HOST}. 60 A 198.51.100.250`] });
  const account = (await createZone(ctx, { name: 'any.test' })).account.id;
  const mine = await createHostname(hctx, first, bare(HOST));
  t.match(mine, { status: 'pending', errors: [NOT_POINTED] }, 'addresses prove nothing unless the account may');
  await setAllowance(ctx, account, { apexAddresses: true });
  await plannedCheck(mine.id);
  t.equal(state(mine.id), 'active');
  const theirs = await createHostname(hctx, second, bare(HOST));
  t.match(theirs, { status: 'pending', errors: [/^None of the A or AAAA records are owned by this account/] });
  answers.set(`${theirs.txt.name} TXT`, { answer: [`${theirs.txt.name}. 60 TXT "${theirs.txt.value}"`] });
  await plannedCheck(theirs.id);
  t.equal(state(theirs.id), 'active');
  t.equal(state(mine.id), 'moved');
  t.equal((await editHostname(hctx, first, mine.id, {})).status, 'pending');
});

t.test('what a token proved, and never led here, stays without it', async (t) => {
  const { hctx, answers, zone, state, plannedCheck, clock } = await startWorld(t);
  const zoneId = await zone('saas.test');
  const made = await createHostname(hctx, zoneId, bare(HOST));
  answers.set(`${made.txt.name} TXT`, { answer: [`${made.txt.name}. 60 TXT "${made.txt.value}"`] });
  await plannedCheck(made.id);
  t.equal(state(made.id), 'active');
  answers.delete(`${made.txt.name} TXT`);
  for (let i = 0; i < 5; i++) {
    clock.advance(3_600_000);
    await plannedCheck(made.id);
  }
  t.equal(state(made.id), 'active');
});

t.test('a CNAME that a customer left behind proves nothing for who creates the hostname again', async (t) => {
  const { hctx, ctx, answers, zone, clock, plannedCheck, state } = await startWorld(t);
  const zoneId = await zone('saas.test');
  answers.set(`${HOST} A`, pointsTo('saas.test'));
  const old = await createHostname(hctx, zoneId, bare(HOST));
  t.match(old, { status: 'active', target: null });
  await editZoneSetting(ctx, zoneId, 'unique_targets', 'on');
  clock.advance(3_600_000);
  await plannedCheck(old.id);
  t.equal(state(old.id), 'active', 'the setting moves nothing that was verified');
  await deleteHostname(ctx, zoneId, old.id);
  const first = await createHostname(hctx, zoneId, bare(HOST));
  t.match(first, { status: 'pending', errors: [`custom hostname does not CNAME to ${first.target}.`] });
  answers.set(`${HOST} A`, pointsTo(first.target!));
  t.equal((await editHostname(hctx, zoneId, first.id, {})).status, 'active');
  await deleteHostname(ctx, zoneId, first.id);
  const second = await createHostname(hctx, zoneId, bare(HOST));
  t.equal(second.status, 'pending', 'the CNAME is still there');
  t.not(second.target, first.target);
  await editZoneSetting(ctx, zoneId, 'unique_targets', 'off');
  t.match(await editHostname(hctx, zoneId, second.id, {}), { status: 'active', target: null });
});

t.test('the token of another hostname, or of another zone, proves nothing', async (t) => {
  const { hctx, answers, zone, plannedCheck, state } = await startWorld(t);
  const zoneId = await zone('saas.test');
  const rival = await zone('rival.test');
  const first = await createHostname(hctx, zoneId, bare(HOST));
  const second = await createHostname(hctx, zoneId, bare('other.outside.test'));
  const theirs = await createHostname(hctx, rival, bare(HOST));
  const put = (at: { name: string }, value: string) =>
    answers.set(`${at.name} TXT`, { answer: [`${at.name}. 60 TXT "${value}"`] });
  for (const replayed of [second.txt.value, theirs.txt.value, first.http.body, first.id]) {
    put(first.txt, replayed);
    await plannedCheck(first.id);
    t.equal(state(first.id), 'pending');
  }
  t.equal(first.txt.name, theirs.txt.name, 'both zones look at one name');
  put(first.txt, theirs.txt.value);
  await plannedCheck(theirs.id);
  await plannedCheck(first.id);
  t.strictSame([state(theirs.id), state(first.id)], ['active', 'pending']);
  put(first.txt, first.txt.value);
  await plannedCheck(first.id);
  t.strictSame([state(theirs.id), state(first.id)], ['moved', 'active'], 'the customer decides');
});

t.test('a hold blocks the hostnames of others only where the name is proven', async (t) => {
  const { hctx, ctx, zone, plannedCheck, state } = await startWorld(t);
  const zoneId = await zone('saas.test');
  const account = await createAccount(ctx, { name: 'tenant', members: ['tenant@example.org'] });
  const { secret } = await createKey(ctx, { kind: 'token', name: 'test', email: 'tenant@example.org' });
  const result = await authenticateToken(ctx, secret, '127.0.0.1');
  if (!result.ok) throw new Error(result.reason);
  const tenant = { ...ctx, actor: result.actor };
  const elsewhere = { account: { id: account.id } };
  // In trust mode anybody may create it, and it is served at once, but says nothing to other accounts.
  const grabbed = await createZone(tenant, { name: 'outside.test', ...elsewhere });
  t.equal(grabbed.status, 'active');
  await createZoneHold(tenant, grabbed.id, true);
  await createRecord(tenant, grabbed.id, { type: 'CNAME', name: 'app', content: 'origin.saas.test', ttl: 60 });
  const mine = await createHostname(hctx, zoneId, bare(HOST));
  t.equal(mine.status, 'pending', 'whoever grabs a name blocks nobody, and proves nothing to others');
  const theirs = await createZone(tenant, { name: 'tenant.test', ...elsewhere });
  await createRecord(tenant, theirs.id, { type: 'A', name: 'origin', content: '192.0.2.1', ttl: 1, proxied: true });
  await putFallback(tenant, theirs.id, 'origin.tenant.test');
  const own = await createHostname({ ...hctx, actor: tenant.actor }, theirs.id, bare('own.outside.test'));
  t.match(own, { status: 'blocked', errors: [HELD] }, 'the own account is bound by its hold');
  await checkActivation(ctx, grabbed.id);
  const later = await createHostname(hctx, zoneId, bare('later.outside.test'));
  t.match(later, { status: 'blocked', errors: [HELD] }, 'an administrator has vouched for the name');
  await plannedCheck(mine.id);
  t.equal(state(mine.id), 'blocked', 'now the hold is that of the name’s owner');
});
