/**
 * What becomes of the certificates of hostnames: zones that are deleted, hostnames that move, edits during a lockout, orders
 * cut short.
 */
import { X509Certificate } from 'node:crypto';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { printIP } from '../../src/base/ip.js';
import type { Logger } from '../../src/base/log.js';
import type { Authority } from '../../src/certs/authority.js';
import { stateOfCertificate } from '../../src/certs/certificate-state.js';
import { dcvTarget } from '../../src/certs/dcv-delegation.js';
import { hearEdges } from '../../src/certs/deployment.js';
import { advanceCertificate } from '../../src/certs/issuance/advance.js';
import type { Authorities } from '../../src/certs/issuance/context.js';
import { certificateJobs } from '../../src/certs/issuance/jobs.js';
import { HOSTNAME_JOB } from '../../src/control/certificates/drop.js';
import { createRecord } from '../../src/control/records/records.js';
import { createZone, deleteZone } from '../../src/control/zones/zones.js';
import { setAllowance } from '../../src/hostnames/allowance.js';
import { checkHostname } from '../../src/hostnames/check.js';
import type { HostnameContext } from '../../src/hostnames/context.js';
import { putFallback } from '../../src/hostnames/fallback-origin.js';
import { createHostname, deleteHostname, editHostname, getHostname, writeEdit } from '../../src/hostnames/hostnames.js';
import { hostnameJobs } from '../../src/hostnames/job.js';
import { listHostnames } from '../../src/hostnames/list.js';
import type { JobContext } from '../../src/jobs/kind.js';
import { startRunner } from '../../src/jobs/runner.js';
import { issuedFor } from '../../src/store/certs/issued.js';
import { findRequest } from '../../src/store/certs/requests.js';
import { lastEdgeChange } from '../../src/store/edge/changes.js';
import { findHostname, updateHostname } from '../../src/store/hostnames/hostnames.js';
import { leases, listJobs } from '../../src/store/jobs.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startControl } from '../control/fixture.js';
import { hostnameServices } from '../support/hostname-services.js';
import { type ScriptedReply, startScriptedUpstream } from '../support/scripted-upstream.js';
import type { TestClock } from '../support/test-clock.js';

const HOST = 'app.outside.test';
const DAY_MS = 86_400_000;

interface World {
  readonly ctx: HostnameContext;
  readonly clock: TestClock;
  readonly zoneId: string;
  readonly accountId: string;
  /** Answers of the outside world by name and type; others are NXDOMAIN. */
  readonly answers: Map<string, ScriptedReply>;
  /** Every call of an authority, such as `google.createOrder`. */
  readonly calls: string[];
  /** What happens before a call is made. */
  before: ((call: string) => Promise<void> | void) | undefined;
  readonly runRevocations: () => Promise<void>;
  /** What was logged as an error. */
  readonly faults: string[];
}

async function startWorld(t: Test): Promise<World> {
  const { ctx: quiet, clock, directory } = await startControl(t);
  const faults: string[] = [];
  const note = (about: { err?: Error }, text: string) => faults.push(`${text}: ${about.err?.message}`);
  const ctx = { ...quiet, log: Object.assign(quiet.log.child({}), { error: note }) as Logger };
  const answers = new Map<string, ScriptedReply>();
  const { server } = await startScriptedUpstream(t, ({ name, type }) => answers.get(`${name} ${type}`) ?? { rcode: 3 });
  const services = await hostnameServices(ctx, { directory, servers: [server] });
  const { certificates } = services;
  const world: { calls: string[]; before: World['before'] } = { calls: [], before: undefined };
  const authorities = watched(certificates.authorities, async (call) => {
    world.calls.push(call);
    await world.before?.(call);
  });
  const hostnames = { ...services, certificates: { ...certificates, authorities } };
  const zone = await createZone(ctx, { name: 'saas.test' });
  await createRecord(ctx, zone.id, { type: 'A', name: 'origin', content: '192.0.2.1', ttl: 1, proxied: true });
  await putFallback(ctx, zone.id, 'origin.saas.test');
  const { revoke } = certificateJobs(hostnames.certificates);
  const job = { ...ctx, attempt: 0, signal: new AbortController().signal, requireLease() {} } satisfies JobContext;
  return Object.assign(world, {
    ctx: { ...ctx, hostnames },
    clock,
    faults,
    zoneId: zone.id,
    accountId: zone.account.id,
    answers,
    async runRevocations() {
      for (const { subject } of listJobs(ctx.store, 100).filter(({ kind }) => kind === 'revoke')) {
        await revoke!.handler(job, subject);
      }
    },
  });
}

function watched(authorities: Authorities, before: (call: string) => Promise<void>): Authorities {
  return {
    ...authorities,
    async of(name) {
      return new Proxy(await authorities.of(name), {
        get(target, method: keyof Authority) {
          const value = target[method];
          if (typeof value !== 'function' || method === 'keyAuthorization') return value;
          return async (...values: never[]) => {
            await before(`${name}.${method}`);
            return (value as (...values: never[]) => unknown)(...values);
          };
        },
      });
    },
  };
}

/** The customer leaves validation to us. */
function delegate({ ctx, answers }: World, host = HOST): void {
  const target = dcvTarget(findZoneByName(ctx.store, 'saas.test')!, host);
  answers.set(`_acme-challenge.${host} TXT`, { answer: [`_acme-challenge.${host}. 60 CNAME ${target}.`] });
}

/** A hostname that leads here, with a certificate. */
async function activate(world: World): Promise<string> {
  const { ctx, answers, zoneId } = world;
  answers.set(`${HOST} A`, { answer: [`${HOST}. 60 CNAME saas.test.`] });
  delegate(world);
  const made = await createHostname(ctx, zoneId, () => ({ hostname: HOST, ssl: { method: 'txt', type: 'dv' } }));
  t.match(made, { status: 'active', ssl: { state: { status: 'active', serving: true } } });
  return made.id;
}

const owner = (id: string) => ({ kind: 'hostname' as const, id });
const stateOf = ({ ctx }: World, id: string) => stateOfCertificate(ctx.store, owner(id), ctx.clock.nowMs());

/** Rows that belong to certificates and hostnames, the authority's own aside. */
function leftovers({ ctx: { store } }: World): string[] {
  const counts = [
    'custom_hostnames',
    'certificate_requests',
    'certificate_orders',
    'challenges',
    'challenge_records',
    'certificates',
  ].map((table) => [table, store.prepareTuples<[], [number]>(`SELECT count(*) FROM ${table}`).get()![0]] as const);
  const kinds = listJobs(store, 100).map(({ kind }) => kind);
  return [
    ...counts.filter(([, count]) => count > 0).map(([table]) => table),
    ...kinds.filter((kind) => ['hostname', 'certificate'].includes(kind)),
  ];
}

t.test('a zone that is deleted leaves no hostname, key or job; its certificates are revoked', async (t) => {
  const world = await startWorld(t);
  const { ctx, calls, zoneId } = world;
  await activate(world);
  await createHostname(ctx, zoneId, () => ({ hostname: 'slow.outside.test', ssl: { method: 'txt', type: 'dv' } }));
  t.strictSame(new Set(leftovers(world)).size, 8, 'there is something of every kind');
  await deleteZone(ctx, zoneId);
  t.strictSame(
    listJobs(ctx.store, 100).filter(({ kind }) => kind === 'hostname' || kind === 'certificate'),
    [],
    'nothing is checked or renewed from now on',
  );
  await world.runRevocations();
  t.strictSame(leftovers(world), []);
  t.strictSame(
    calls.filter((call) => call.endsWith('.revoke')),
    ['google.revoke'],
  );
});

t.test('a hostname that moves is not renewed, and is again when it comes back', async (t) => {
  const world = await startWorld(t);
  const { ctx, clock, answers, calls, zoneId } = world;
  const id = await activate(world);
  answers.set(`${HOST} A`, { answer: [`${HOST}. 60 CNAME elsewhere.test.`] });
  for (let i = 0; i < 3; i++) {
    await checkHostname(ctx, id, { planned: true, fresh: true });
    clock.advance(450_000);
  }
  t.match(stateOf(world, id), { status: 'active', serving: true }, 'what it has is served on');
  t.strictSame(
    listJobs(ctx.store, 100).filter(({ kind }) => kind === 'certificate'),
    [],
  );
  calls.length = 0;
  clock.advance(70 * DAY_MS);
  await advanceCertificate(ctx.hostnames.certificates, owner(id));
  t.strictSame(calls, [], 'nobody is asked for another one');
  answers.set(`${HOST} A`, { answer: [`${HOST}. 60 CNAME saas.test.`] });
  const [before] = stateOf(world, id)!.certificates;
  t.match(await editHostname(ctx, zoneId, id, {}), { status: 'active' });
  const [after] = stateOf(world, id)!.certificates;
  t.not(after!.id, before!.id, 'the renewal that was due is made up for');
});

t.test('a hostname that moves while an order is open gets tokens anew when it is edited', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId } = world;
  const made = await createHostname(ctx, zoneId, () => ({ hostname: HOST, ssl: { method: 'txt', type: 'dv' } }));
  t.match(made.ssl?.state, { status: 'pending_validation', records: [{ status: 'pending' }] });
  for (let i = 0; i < 75; i++) await checkHostname(ctx, made.id, { planned: true, fresh: true });
  t.match(stateOf(world, made.id), { status: 'validation_timed_out', records: [] });
  t.strictSame(leftovers(world), ['custom_hostnames', 'certificate_requests', 'hostname'], 'its tokens are not served');
  const ssl = { method: 'txt', type: 'dv' } as const;
  const edited = await editHostname(ctx, zoneId, made.id, { ssl });
  t.match(edited, { status: 'pending', ssl: { state: { status: 'pending_validation', records: [{}] } } });
  t.not(JSON.stringify(edited.ssl!.state!.records), JSON.stringify(made.ssl!.state!.records));
});

t.test('an edit during a lockout is granted, and its order waits for the end', async (t) => {
  const world = await startWorld(t);
  const { ctx, clock, calls, zoneId, accountId } = world;
  const { id } = await createHostname(ctx, zoneId, () => ({ hostname: HOST }));
  await setAllowance(ctx, accountId, { issuanceCount: 1 });
  await t.rejects(
    createHostname(ctx, zoneId, () => ({ hostname: 'b.outside.test' })),
    { code: 971 },
  );
  const edited = await editHostname(ctx, zoneId, id, { ssl: { method: 'txt', type: 'dv' } });
  t.match(edited.ssl?.state, { status: 'initializing', records: [] });
  t.strictSame(calls, []);
  const planned = listJobs(ctx.store, 100).find(({ kind }) => kind === 'certificate');
  t.equal(planned?.run_at, clock.nowMs() + 30_000);
  clock.advance(30_000);
  await advanceCertificate(ctx.hostnames.certificates, owner(id));
  t.match(stateOf(world, id), { status: 'pending_validation', records: [{}] });
  t.ok(calls.includes('google.createOrder'));
  await t.test('an order that is there already goes on', async (t) => {
    await setAllowance(ctx, accountId, { issuanceCount: 0 });
    await t.rejects(
      createHostname(ctx, zoneId, () => ({ hostname: 'c.outside.test' })),
      { code: 971 },
    );
    calls.length = 0;
    delegate(world);
    const edited = await editHostname(ctx, zoneId, id, { ssl: { method: 'txt', type: 'dv' } });
    t.match(edited.ssl?.state, { status: 'active', serving: true });
    t.notOk(calls.includes('google.createOrder'));
  });
});

for (const call of ['createOrder', 'authorization', 'respond', 'finalize', 'certificate']) {
  t.test(`a hostname that is deleted before ${call} leaves nothing behind`, async (t) => {
    const world = await startWorld(t);
    const { ctx, zoneId, calls } = world;
    delegate(world);
    const { id } = await createHostname(ctx, zoneId, () => ({ hostname: HOST }));
    let ended: Promise<void> | undefined;
    world.before = async (made) => {
      if (made !== `google.${call}` || ended) return;
      await deleteHostname(ctx, zoneId, id);
      ended = world.runRevocations();
    };
    await t.rejects(editHostname(ctx, zoneId, id, { ssl: { method: 'txt', type: 'dv' } }), { code: 1436 });
    await advanceCertificate(ctx.hostnames.certificates, owner(id));
    t.ok(ended);
    await ended;
    t.strictSame(leftovers(world), []);
    t.strictSame(world.faults, [], 'it is not a fault of the program');
    if (call === 'certificate') t.ok(calls.includes('google.revoke'), 'what was issued meanwhile is revoked');
  });
}

t.test('a hostname that moves while its order is made', async (t) => {
  const world = await startWorld(t);
  const { ctx, zoneId } = world;
  const { id } = await createHostname(ctx, zoneId, () => ({ hostname: HOST }));
  world.before = async (call) => {
    if (call === 'google.authorization') await checkHostname(ctx, id, { planned: true, fresh: true });
  };
  const edit = { ssl: { method: 'txt', type: 'dv' } } as const;
  const { certificates } = ctx.hostnames;
  await writeEdit(ctx, { publicNames: false, vault: certificates.vault }, { zoneId, id }, edit);
  await ctx.store.write(() => updateHostname(ctx.store, findHostname(ctx.store, id)!.seq, { check_number: 74 }));
  await advanceCertificate(certificates, owner(id));
  t.equal(findHostname(ctx.store, id)?.state, 'moved');
  t.match(stateOf(world, id), { status: 'validation_timed_out', records: [] });
  t.strictSame(leftovers(world), ['custom_hostnames', 'certificate_requests', 'hostname']);
});

for (const host of [`${'a'.repeat(57)}.outside.test`.padStart(74, 'b.'), 'xn--bcher-kva.outside.test']) {
  t.test(`a certificate for ${host.slice(0, 30)}, ${host.length} characters`, async (t) => {
    const world = await startWorld(t);
    const { ctx, zoneId } = world;
    delegate(world, host);
    const ssl = { method: 'txt', type: 'dv' } as const;
    const made = await createHostname(ctx, zoneId, () => ({ hostname: host.toUpperCase(), ssl }));
    t.match(made, { hostname: host, ssl: { state: { status: 'active' } } });
    const request = findRequest(ctx.store, 'hostname', made.id)!;
    const certificate = new X509Certificate(issuedFor(ctx.store, request.seq)[0]!.chain);
    t.notOk(certificate.subject, 'a common name ends at 64 characters');
    t.equal(certificate.checkHost(host), host);
  });
}

/** The result of what waits for a clock that stands still. */
async function whileTimePasses<Result>(clock: TestClock, work: Promise<Result>): Promise<Result> {
  let ended = false;
  const done = work.finally(() => {
    ended = true;
  });
  while (!ended) {
    clock.advance(10);
    await sleep(1);
  }
  return done;
}

t.test('a certificate is active when every edge that lives has read it', async (t) => {
  const world = await startWorld(t);
  const { ctx, clock, answers, zoneId } = world;
  const edges = hearEdges(ctx.store, clock);
  const readAll = (name: string) => edges.report(name, lastEdgeChange(ctx.store), []);
  for (const name of ['one', 'two']) readAll(name);
  answers.set(`${HOST} A`, { answer: [`${HOST}. 60 CNAME saas.test.`] });
  delegate(world);
  const wanted = { hostname: HOST, ssl: { method: 'txt', type: 'dv' } } as const;
  const made = await whileTimePasses(
    clock,
    createHostname(ctx, zoneId, () => wanted),
  );
  t.match(made, { status: 'active', ssl: { state: { status: 'pending_deployment', errors: [] } } });
  const get = () => getHostname(ctx, zoneId, made.id);
  readAll('one');
  t.match(await get(), { ssl: { state: { status: 'pending_deployment' } } }, 'the other has not');
  edges.noteChanges();
  clock.advance(59_000);
  t.match(await get(), { ssl: { state: { status: 'pending_deployment' } } });
  clock.advance(1001);
  t.match(await get(), { ssl: { state: { status: 'deployment_timed_out', errors: [{ actor: 'provider' }] } } });
  const timedOut = await listHostnames(ctx, zoneId, { sslStatus: 'deployment_timed_out' });
  t.equal(timedOut.totalCount, 1);
  edges.report('two', lastEdgeChange(ctx.store), [`hostname:${made.id}`]);
  t.match(
    await get(),
    { ssl: { state: { status: 'deployment_timed_out' } } },
    'it was read, but its key does not open',
  );
  readAll('two');
  t.match(await get(), { status: 'active', ssl: { state: { status: 'active', errors: [] } } });

  const settings = { ssl: { method: 'txt', type: 'dv', settings: { min_tls_version: '1.3' } } } as const;
  const edited = await whileTimePasses(clock, editHostname(ctx, zoneId, made.id, settings));
  t.match(edited, { status: 'active_redeploying', ssl: { state: { status: 'active' } } });
  t.equal((await listHostnames(ctx, zoneId, { status: 'active_redeploying' })).totalCount, 1);
  readAll('one');
  t.equal((await get()).status, 'active_redeploying');
  edges.forget('two');
  t.equal((await get()).status, 'active', 'nobody waits for an edge that has ended');
  const same = await whileTimePasses(clock, editHostname(ctx, zoneId, made.id, settings));
  t.equal(same.status, 'active', 'an edit that changes nothing');

  const [before] = (await get()).ssl!.state!.certificates;
  clock.advance(63 * DAY_MS);
  for (let i = 0; i < 20; i++) {
    await advanceCertificate(ctx.hostnames.certificates, owner(made.id));
    clock.advance(1000);
  }
  const renewed = (await get()).ssl!.state!;
  t.not(renewed.certificates[0]!.id, before!.id);
  t.equal(renewed.status, 'active', 'the edge serves the old certificate while it has not read of the renewal');
  const other = { method: 'txt', type: 'dv', certificate_authority: 'lets_encrypt' } as const;
  const reissued = await whileTimePasses(clock, editHostname(ctx, zoneId, made.id, { ssl: other }));
  t.match(reissued.ssl!.state, { status: 'pending_deployment', authority: 'lets_encrypt' });
});

t.test('a hostname that leads to our edge is validated by HTTP without a question over the network', async (t) => {
  const world = await startWorld(t);
  const { ctx, answers, zoneId } = world;
  const ssl = { method: 'http', type: 'dv' } as const;
  // The origin is at an address that must not be asked, and nothing listens there.
  answers.set(`${HOST} A`, { answer: [`${HOST}. 60 CNAME origin.saas.test.`] });
  const byName = await createHostname(ctx, zoneId, () => ({ hostname: HOST, ssl }));
  t.match(byName, { status: 'active', ssl: { state: { status: 'active', method: 'http' } } });
  const edge = printIP(ctx.settings.edgeAddresses[0]!);
  for (const [host, addresses, status] of [
    ['address.outside.test', [edge], 'active'],
    ['half.outside.test', [edge, '10.0.0.1'], 'pending_validation'],
  ] as const) {
    answers.set(`${host} A`, { answer: addresses.map((address) => `${host}. 60 A ${address}`) });
    const made = await createHostname(ctx, zoneId, () => ({ hostname: host, ssl }));
    t.equal(made.ssl?.state?.status, status, host);
    if (status === 'active') continue;
    t.match(made.ssl?.state?.errors, [
      { message: /has the address 1.*, which is refused by policy/, actor: 'provider' },
    ]);
  }
});

t.test('a request for a hostname that leads here ends with its certificate, after few writes', async (t) => {
  const { ctx, clock, zoneId, calls } = await startWorld(t);
  const customer = await createZone(ctx, { name: 'customer.test' });
  await createRecord(ctx, customer.id, { type: 'CNAME', name: 'app', content: 'origin.saas.test', ttl: 1 });
  const { store } = ctx;
  let writes = 0;
  const counting = new Proxy(store, {
    get(target, name) {
      if (name === 'write') writes++;
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const certificates = { ...ctx.hostnames.certificates, store: counting };
  const watching = { ...ctx, store: counting, hostnames: { ...ctx.hostnames, certificates } };
  const nowMs = clock.nowMs();
  const made = await createHostname(watching, zoneId, () => ({
    hostname: 'app.customer.test',
    ssl: { method: 'txt', type: 'dv' },
  }));
  t.match(made, { status: 'active', ssl: { state: { status: 'active' } } });
  t.equal(clock.nowMs(), nowMs, 'without waiting for any time');
  t.ok(writes <= 13, `${writes} writes`);
  t.ok(calls.length <= 12, `${calls.length} questions to the authority: ${calls.join(' ')}`);
});

t.test('a clock that is set back by an hour delays neither checks nor certificates by an hour', async (t) => {
  const world = await startWorld(t);
  const { ctx, clock, answers, zoneId } = world;
  const kinds = { [HOSTNAME_JOB]: hostnameJobs(ctx, ctx.hostnames), ...certificateJobs(ctx.hostnames.certificates) };
  const runner = startRunner({ store: ctx.store, clock, log: ctx.log, owner: 'test', kinds });
  t.teardown(() => runner.stop());
  /** For half an hour at most. The clock stands still while a job runs, since questions have time limits. */
  const passUntil = async (isSo: () => boolean): Promise<void> => {
    for (let i = 0; i < 1800 && !isSo(); i++) {
      clock.advance(1000);
      do await sleep(1);
      while (leases(ctx.store).length > 0);
    }
    t.ok(isSo());
  };
  const wanted = { hostname: HOST, ssl: { method: 'txt', type: 'dv' } } as const;
  const { id } = await createHostname(ctx, zoneId, () => wanted);
  await passUntil(() => findHostname(ctx.store, id)!.check_number === 1);
  clock.putBack(3_600_000);
  await passUntil(() => findHostname(ctx.store, id)!.check_number === 4);
  clock.putBack(3_600_000);
  delegate(world);
  await passUntil(() => stateOf(world, id)?.status === 'active');
  answers.set(`${HOST} A`, { answer: [`${HOST}. 60 CNAME saas.test.`] });
  await passUntil(() => findHostname(ctx.store, id)!.state === 'active');
});
