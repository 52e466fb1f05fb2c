/**
 * The process that edits is killed, and its disk is full, while it writes a large batch into a signed zone in steps: at a call on the
 * write-ahead log, not at a time. What it has acknowledged is there, of the batch all or nothing, and the zone is valid.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { unusedRecordsJobs } from '../../src/control/kernel/unused-records.js';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import type { TsigKey } from '../../src/dns/tsig.js';
import { openStore } from '../../src/store/driver.js';
import { childOf, startProgram, stopProgram } from '../support/program.js';
import { missingVerifiers, requireRecordsVerified } from '../support/signed-copy.js';
import { injectInto, skipWithoutStrace, watchCalls } from '../support/strace.js';
import { TestClock } from '../support/test-clock.js';
import { transfer } from '../support/transfer-client.js';
import { until } from '../support/until.js';

const missing = missingVerifiers();
const skip =
  missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : skipWithoutStrace;
const API_KEY = 'steps-key-0123456789-0123456789-0123456789-0123456789';
const ZONE = 'steps.test';
/** More than a write makes at once. */
const MANY = 520;
const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
const KEY: TsigKey = {
  name: parseName('k.test.'),
  algorithm: 'hmac-sha256',
  secret: new Uint8Array(Buffer.from(SECRET, 'base64')),
};
/** Where in the writes of the largest transaction it is killed: between them, and at the last one. */
const PLACES = [0.5, 1] as const;
/** Longer than an edit may stand still. */
const LATER_MS = 900_000;

// biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
type Call = (method: string, path: string, body?: unknown) => Promise<any>;

async function startWorld(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-steps-kill-'));
  const program = await startProgram({ directory, key: API_KEY, detached: true });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const call: Call = async (method, path, body) => {
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await fetch(`${program.api}/client/v4${path}`, { method, headers, ...sent })).json();
  };
  const account = (await call('GET', '/accounts')).result[0].id;
  const tsig = { name: 'k.test.', algo: 'hmac-sha256.', secret: SECRET };
  const { id: keyId } = (await call('POST', `/accounts/${account}/secondary_dns/tsigs`, tsig)).result;
  const peer = { name: 'copy', ip: '127.0.0.1', port: 1, tsig_id: keyId };
  const { id: peerId } = (await call('POST', `/accounts/${account}/secondary_dns/peers`, peer)).result;
  const { id } = (await call('POST', '/zones', { name: ZONE, account: { id: account } })).result;
  await call('POST', `/zones/${id}/secondary_dns/outgoing`, { name: ZONE, peers: [peerId] });
  await call('POST', `/zones/${id}/secondary_dns/outgoing/enable`);
  await call('PATCH', `/zones/${id}/dnssec`, { status: 'active' });
  return {
    call,
    path: `/zones/${id}/dns_records`,
    data: join(directory, 'data'),
    admin: () => childOf(program.child.pid!, 'admin')!,
    stop: () => stopProgram(program),
    /** First labels of the addresses that secondaries get; the signatures of all are valid. */
    async names(when: string): Promise<string[]> {
      const { records } = await transfer(program.dnsPort, parseName(`${ZONE}.`), { key: KEY });
      const rrs = records.slice(1).map(({ owner, type, ttl, rdata }) => {
        return { owner: parseName(owner), type, ttl, rdata: new Uint8Array(Buffer.from(rdata, 'hex')) };
      });
      requireRecordsVerified(ZONE, rrs, when);
      return records.filter(({ type }) => type === Type.a).map(({ owner }) => owner.split('.')[0]!);
    },
  };
}

type World = Awaited<ReturnType<typeof startWorld>>;

const of = (batch: string, names: readonly string[]): number =>
  names.filter((name) => name.startsWith(`${batch}-`)).length;

/** Whether it was acknowledged; false when it was refused, or nobody answered. */
async function writeBatch({ call, path }: World, batch: string): Promise<boolean> {
  const posts = Array.from({ length: MANY }, (_, i) => ({ type: 'A', name: `${batch}-${i}`, content: '192.0.2.1' }));
  const answer = await call('POST', `${path}/batch`, { posts }).catch(() => undefined);
  return answer?.success === true;
}

/** Perhaps not waited for yet. */
function isDead(pid: number): boolean {
  try {
    return /^State:\t[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}

const writeOne = async ({ call, path }: World, name: string): Promise<void> => {
  const { success } = await call('POST', `${path}?wait=insync`, { type: 'A', name, content: '192.0.2.2' });
  if (success !== true) throw new Error(`${name} was refused`);
};

/** The numbers of the first write and of the last one of the largest transaction of a batch, among its writes to the log. */
async function findLargest(world: World, log: string): Promise<readonly [number, number]> {
  const end = await watchCalls(world.admin(), log, 'pwrite64,fsync,fdatasync');
  if (!(await writeBatch(world, 'watched'))) throw new Error('the batch was refused');
  let [writes, begin] = [0, 0];
  let largest = [0, 0] as readonly [number, number];
  for (const name of await end()) {
    if (name === 'pwrite64') writes++;
    else {
      if (writes - begin > largest[1] - largest[0]) largest = [begin + 1, writes];
      begin = writes;
    }
  }
  return largest;
}

t.test('killed and refused while it writes in steps', { skip, timeout: 300_000 }, async (t) => {
  const world = await startWorld(t);
  const { admin, call, data, names } = world;
  const log = join(data, 'zoneplane.db-wal');
  t.ok(await writeBatch(world, 'first'));
  const [begin, end] = await findLargest(world, log);
  t.ok(end - begin > MANY / 10, 'the write in steps is a transaction of many pages');
  const acknowledged = ['first', 'watched'];
  for (const [i, place] of PLACES.entries()) {
    await writeOne(world, `one-${i}`);
    const killed = admin();
    const when = Math.round(begin + place * (end - begin));
    const stop = await injectInto(killed, { path: log, inject: `pwrite64:signal=SIGKILL:when=${when}` });
    let isDone = false;
    const written = writeBatch(world, `b${i}`).finally(() => {
      isDone = true;
    });
    await until(() => isDone || isDead(killed), 'it is killed, or has written');
    await stop(isDead(killed) ? 'SIGKILL' : undefined);
    if (await written) acknowledged.push(`b${i}`);
    await until(
      () =>
        call('GET', '/zones').then(
          () => true,
          () => false,
        ),
      'it answers again',
    );
    await writeOne(world, `after-${i}`);
    const now = await names(`kill ${i}`);
    t.ok([0, MANY].includes(of(`b${i}`, now)), `kill ${i}: all or nothing`);
    for (const batch of acknowledged) t.equal(of(batch, now), MANY, `kill ${i}: ${batch} is there`);
    t.ok(now.includes(`one-${i}`), `kill ${i}: what was acknowledged before`);
  }

  const middle = Math.round((begin + end) / 2);
  const stop = await injectInto(admin(), { path: log, inject: `pwrite64:error=ENOSPC:when=${middle}+` });
  t.notOk(await writeBatch(world, 'full'), 'refused while the disk is full');
  await stop();
  await writeOne(world, 'room');
  t.equal(of('full', await names('full')), 0);
  await world.stop();
  const store = openStore(data);
  t.teardown(() => store.close());
  t.equal(store.prepareTuples<[], [string]>('PRAGMA integrity_check').get()![0], 'ok');
  const clock = new TestClock(Date.now() + LATER_MS);
  const job = {
    store,
    clock,
    log: silentLogger(),
    attempt: 0,
    signal: new AbortController().signal,
    requireLease() {},
  };
  t.strictSame(await unusedRecordsJobs.handler(job, ''), { done: true });
  const left = store.prepareTuples<[], [number, number]>(
    `SELECT (SELECT count(*) FROM record_sets WHERE number NOT IN (SELECT record_set FROM zones)
        AND number NOT IN (SELECT signature_set FROM dnssec_zones)), (SELECT count(*) FROM staged_events)`,
  );
  t.strictSame(left.get(), [0, 0], 'nothing half-done is left');
});
