/**
 * 100 custom hostnames in all states for screens.ts: by the API, and by rows where the API does not lead there within minutes.
 */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { caaErrors, lookupError, unseenError } from '../../src/certs/issuance/problems.js';
import { HOSTNAME_JOB, STEP_JOB } from '../../src/control/certificates/drop.js';
import { HELD, NO_FALLBACK_ORIGIN, NOT_POINTED, unresolved } from '../../src/hostnames/texts.js';
import { schedule } from '../../src/jobs/schedule.js';
import { insertIssued } from '../../src/store/certs/issued.js';
import { findRequest, type RequestChange, updateRequest } from '../../src/store/certs/requests.js';
import { openStore, type Store } from '../../src/store/driver.js';
import { findHostname, type HostnameChange, updateHostname } from '../../src/store/hostnames/hostnames.js';
import { removeJob } from '../../src/store/jobs.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';

const HOW_MANY = 100;
const DAY_MS = 86_400_000;

interface State {
  readonly name: string;
  readonly hostname?: HostnameChange;
  readonly request?: RequestChange;
  /** Days that are left of its certificate. */
  readonly daysLeft?: number;
  readonly method?: 'http' | 'txt';
}

const WORKS: HostnameChange = { state: 'active', errors: '[]', activated_at: 1, pointed_at: 1 };
const texts = (...errors: readonly string[]): HostnameChange => ({ errors: JSON.stringify(errors) });
const faults = (...errors: readonly object[]): RequestChange => ({ errors: JSON.stringify(errors) });
const LIMITED = { message: 'The authority has rate limited these domains.', actor: 'ca' };
const caa = (name: string): readonly object[] =>
  caaErrors(name, 'customer.example has CAA records for others.', ['0 issue "pki.goog"'], []);

const statesOf = (name: string): readonly State[] => [
  { name: 'not-pointed', hostname: texts(NOT_POINTED) },
  { name: 'no-origin', hostname: texts(NO_FALLBACK_ORIGIN) },
  { name: 'servfail', hostname: texts(unresolved(name, 'servfail')) },
  { name: 'timeout', hostname: texts(unresolved(name, 'timeout'), NO_FALLBACK_ORIGIN) },
  { name: 'held', hostname: { state: 'blocked', ...texts(HELD), next_check_ms: null } },
  { name: 'moved', hostname: { state: 'moved', ...texts(NOT_POINTED), moved_at: 1 } },
  { name: 'works', hostname: WORKS, request: { status: 'active' }, daysLeft: 80 },
  { name: 'ordering', hostname: WORKS, request: { status: 'initializing' } },
  { name: 'proof-txt', hostname: WORKS, request: { status: 'pending_validation' }, method: 'txt' },
  { name: 'proof-http', hostname: WORKS, request: { status: 'pending_validation' } },
  { name: 'lookup', hostname: WORKS, request: { status: 'pending_validation', ...faults(lookupError()) } },
  { name: 'unseen', hostname: WORKS, request: { status: 'pending_validation', ...faults(unseenError('No route.')) } },
  { name: 'limited', hostname: WORKS, request: { status: 'initializing', ...faults(LIMITED) } },
  { name: 'issuing', hostname: WORKS, request: { status: 'pending_issuance' } },
  { name: 'forbidden', hostname: WORKS, request: { status: 'caa_error', ...faults(...caa(name)) } },
  {
    name: 'renewal-forbidden',
    hostname: WORKS,
    request: { status: 'caa_error', ...faults(...caa(name)) },
    daysLeft: 9,
  },
  { name: 'given-up-ordering', hostname: WORKS, request: { status: 'initializing_timed_out', ...faults(LIMITED) } },
  { name: 'given-up-proof', hostname: WORKS, request: { status: 'validation_timed_out' } },
  { name: 'given-up-issuing', hostname: WORKS, request: { status: 'issuance_timed_out' } },
  { name: 'ends-soon', hostname: WORKS, request: { status: 'active', ...faults(LIMITED) }, daysLeft: 3 },
  { name: 'ends-soon-own', hostname: WORKS, request: { status: 'active', uploaded: 1 }, daysLeft: 3 },
  { name: 'ended', hostname: WORKS, request: { status: 'active' }, daysLeft: -2 },
  { name: 'ended-own', hostname: WORKS, request: { status: 'active', uploaded: 1 }, daysLeft: -2 },
  { name: 'own-waits', hostname: texts(NOT_POINTED), request: { status: 'active', uploaded: 1 }, daysLeft: 60 },
  { name: 'forbidden-early', hostname: texts(NOT_POINTED), request: { status: 'caa_error', ...faults(...caa(name)) } },
];

interface Prepared {
  readonly directory: string;
  readonly key: string;
  readonly program: Program;
  readonly call: (method: string, path: string, body?: unknown) => Promise<{ readonly id: string }>;
}

/** In the zone saas.example. Returns the program, which was started anew. */
export async function makeHostnames({ directory, key, program, call }: Prepared): Promise<Program> {
  const zone = await call('POST', '/zones', { name: 'saas.example' });
  const [account] = (await call('GET', '/accounts')) as unknown as readonly { readonly id: string }[];
  const environment = { PATH: process.env['PATH'], ZONEPLANE_DATA_DIR: `${directory}/data` };
  const allow = ['hostname', 'allow', account!.id, '--certificates', '1000'];
  await promisify(execFile)(process.execPath, [resolve('build/src/main.js'), ...allow], { env: environment });
  await call('POST', `/zones/${zone.id}/dns_records`, {
    type: 'A',
    name: 'origin',
    content: '192.0.2.1',
    proxied: true,
  });
  await call('PUT', `/zones/${zone.id}/custom_hostnames/fallback_origin`, { origin: 'origin.saas.example' });
  const made: { readonly id: string; readonly state: State }[] = [];
  for (let i = 0; i < HOW_MANY; i++) {
    const all = statesOf('x');
    const index = i % all.length;
    const hostname = `${all[index]!.name}-${Math.floor(i / all.length)}.customer${i}.example`;
    const state = statesOf(hostname)[index]!;
    const ssl = { method: state.method ?? 'http', type: 'dv' };
    const { id } = await call('POST', `/zones/${zone.id}/custom_hostnames`, { hostname, ssl });
    made.push({ id, state });
  }
  await stopProgram(program);
  const store = openStore(`${directory}/data`);
  for (const { id, state } of made) await store.write(() => put(store, id, state));
  store.close();
  return startProgram({ directory, key });
}

function put(store: Store, id: string, { hostname, request, daysLeft }: State): void {
  const nowMs = Date.now();
  const laterMs = nowMs + DAY_MS;
  const row = findHostname(store, id)!;
  updateHostname(store, row.seq, { next_check_ms: laterMs, ...hostname });
  schedule(store, { kind: HOSTNAME_JOB, subject: id, runAtMs: laterMs }, nowMs);
  removeJob(store, STEP_JOB, `hostname:${id}`);
  const known = findRequest(store, 'hostname', id)!;
  updateRequest(store, known.seq, { next_at: null, ...request });
  if (daysLeft === undefined) return;
  const until = nowMs + daysLeft * DAY_MS;
  insertIssued(store, {
    ...{ id: known.id, request: known.seq, authority: '', uploaded: known.uploaded, renewal: 0, names: known.names },
    ...{ chain: '', private_key: new Uint8Array(16), issuer: 'Somebody', serial: '01', signature: 'ECDSA-SHA256' },
    ...{ fingerprint: 'ab'.repeat(32), not_before: until - 90 * DAY_MS, not_after: until },
  });
}
