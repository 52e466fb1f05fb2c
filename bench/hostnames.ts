/**
 * Custom hostnames: from the request to the certificate, ten thousand of them, and what their checks cost those who ask for
 * names.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { SystemClock } from '../src/base/clock.js';
import { systemRandom } from '../src/base/random.js';
import { CAA_IDENTITIES } from '../src/certs/authority.js';
import { decideForNames } from '../src/certs/authority-choice.js';
import { lookUpCaa } from '../src/certs/caa-lookup.js';
import { createResolver } from '../src/resolver/resolve.js';
import { createUpstream } from '../src/resolver/upstream.js';
import { openStore } from '../src/store/driver.js';
import { atOnce } from './at-once.js';
import { askWhile, named } from './latency.js';
import { median } from './median.js';
import { run } from './peers.js';
import { memoryOctets, stop } from './processes.js';
import { type ApiClient, dataDirectoryOf, KEY, PROGRAM, type Running, startAgain, startProgram } from './program.js';
import { writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

export const UPSTREAM: string = fileURLToPath(new URL('./upstream.js', import.meta.url));
const CUSTOMERS = 'customers.example';
/** Certificates that are waited for, one after the other. */
const CERTIFICATES = 40;
const HOSTNAMES = 10_000;
const AT_ONCE = 32;
const REPEATS = 9;
const DECISIONS = 500;
/** The first checks of new hostnames are due after that. */
const DUE_AFTER_MS = 61_000;
const MIB = 2 ** 20;

/** Milliseconds and mebibytes. DNS on `port`, the API behind it, the resolver behind that. */
export async function measureHostnames(directory: string, port: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'hostnames-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, 1000);
  const upstream = spawn(process.execPath, [UPSTREAM, String(port + 2)], { stdio: 'ignore' });
  try {
    return await measureProgram(own, zoneFile, port);
  } finally {
    upstream.kill();
  }
}

async function measureProgram(own: string, zoneFile: string, port: number): Promise<Figures> {
  const more = {
    ZONEPLANE_RESOLVER_UPSTREAMS: `127.0.0.1:${port + 2}`,
    ZONEPLANE_BUCKET_PORT: String(port + 3),
    ZONEPLANE_EDGE: 'off',
  };
  let running = await startProgram(own, zoneFile, port, undefined, more);
  /** `meanwhile`: what is waited for before the new start. */
  const restart = async (meanwhile: () => Promise<void> = async () => {}): Promise<void> => {
    running.api.close();
    await stop(running.server);
    await meanwhile();
    running = await startAgain(own, port, more);
  };
  try {
    await prepare(running, own);
    const issued = await issue(running);
    await restart();
    const empty = { startMs: running.server.startMs, octets: memoryOctets(running.server) };
    const idle = await askWhile(port, () => sleep(20));
    const created = await createHostnames(running.api, `${running.zonePath}/custom_hostnames`, HOSTNAMES);
    const lists = await list(running);
    // The program does not run when the checks fall due. Otherwise it does each of them at its time.
    await restart(() => sleep(Math.max(0, created.endedMs + DUE_AFTER_MS - performance.now())));
    const full = { startMs: running.server.startMs, octets: memoryOctets(running.server) };
    const before = await runs(port);
    const startedMs = performance.now();
    const checking = await askWhile(port, () => sleep(20));
    const checks = ((await runs(port)) - before) / ((performance.now() - startedMs) / 1000);
    if (checks === 0) throw new Error('no check ran, so the latency of DNS meanwhile says nothing');
    return {
      'certificates, p50 ms': median(issued),
      'certificates, longest ms': Math.max(...issued),
      'creations/s, without certificates': created.perSecond,
      ...lists,
      [`start with ${HOSTNAMES}, ms more`]: full.startMs - empty.startMs,
      [`memory with ${HOSTNAMES}, MiB more`]: (full.octets - empty.octets) / MIB,
      ...named('DNS while nothing is due', idle),
      ...named(`DNS while ${HOSTNAMES} checks are due`, checking),
      'checks/s meanwhile': checks,
      'CAA decisions from own zones, p50 ms': await decide(own),
    };
  } finally {
    running.api.close();
    await stop(running.server);
  }
}

/** An origin, and an account that may have all that is measured. */
export async function allowHostnames({ api, zonePath }: Running, own: string): Promise<void> {
  const [account] = (await api.call('GET', '/accounts')).result as { id: string }[];
  const allowed = ['--certificates', '1000000', '--window', '1', '--hostnames', String(2 * HOSTNAMES)];
  const env = { ZONEPLANE_DATA_DIR: dataDirectoryOf(own) };
  run(process.execPath, [PROGRAM, 'hostname', 'allow', account!.id, ...allowed], env);
  const origin = { type: 'A', name: `origin.${ZONE}`, content: '198.51.100.1', proxied: true };
  await api.call('POST', `${zonePath}/dns_records`, origin);
  await api.call('PUT', `${zonePath}/custom_hostnames/fallback_origin`, { origin: `origin.${ZONE}` });
}

/** The same, and a zone whose names lead there. */
async function prepare(running: Running, own: string): Promise<void> {
  const { api, zonePath } = running;
  await allowHostnames(running, own);
  const data = { flags: 0, tag: 'issue', value: CAA_IDENTITIES.google[0] };
  await api.call('POST', `${zonePath}/dns_records`, { type: 'CAA', name: ZONE, data, ttl: 300 });
  const { id } = (await api.call('POST', '/zones', { name: CUSTOMERS })).result as { id: string };
  const posts = Array.from({ length: CERTIFICATES }, (_, i) => {
    return { type: 'CNAME', name: `c${i}.${CUSTOMERS}`, content: `origin.${ZONE}`, ttl: 300 };
  });
  await api.call('POST', `/zones/${id}/dns_records/batch`, { posts });
}

/** Milliseconds from each request to its certificate. */
async function issue({ api, zonePath }: Running): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < CERTIFICATES; i++) {
    const began = performance.now();
    const body = { hostname: `c${i}.${CUSTOMERS}`, ssl: { method: 'txt', type: 'dv' } };
    type Item = { id: string; ssl: { status: string } };
    let item = (await api.call('POST', `${zonePath}/custom_hostnames`, body)).result as Item;
    while (item.ssl.status !== 'active') {
      if (performance.now() - began > 30_000) throw new Error(`no certificate: ${JSON.stringify(item)}`);
      await sleep(5);
      item = (await api.call('GET', `${zonePath}/custom_hostnames/${item.id}`)).result as Item;
    }
    times.push(performance.now() - began);
  }
  return times;
}

/** Hostnames that lead elsewhere, so that each is looked at again and again. */
export async function createHostnames(
  api: ApiClient,
  path: string,
  count: number,
): Promise<{ perSecond: number; endedMs: number }> {
  const began = performance.now();
  await atOnce(AT_ONCE, count, (i) => api.call('POST', path, { hostname: `h${i}.outside.example` }));
  const endedMs = performance.now();
  return { perSecond: count / ((endedMs - began) / 1000), endedMs };
}

async function list({ api, zonePath }: Running): Promise<Figures> {
  const path = `${zonePath}/custom_hostnames`;
  const figures: Record<string, number> = {};
  for (const [what, query] of Object.entries({
    [`first page of ${HOSTNAMES}`]: 'per_page=50',
    'last page': `per_page=50&page=${HOSTNAMES / 50}`,
    'by name': 'hostname=h4711.outside.example',
    'by status': 'hostname_status=active',
  })) {
    const times: number[] = [];
    for (let i = 0; i < REPEATS; i++) {
      const began = performance.now();
      await api.call('GET', `${path}?${query}`);
      times.push(performance.now() - began);
    }
    figures[`${what}, ms`] = median(times);
  }
  return figures;
}

/** Checks of hostnames since the start. */
async function runs(port: number): Promise<number> {
  const text = await (
    await fetch(`http://127.0.0.1:${port + 1}/metrics`, { headers: { authorization: `Bearer ${KEY}` } })
  ).text();
  const found = text.matchAll(/^zoneplane_job_runs_total\{kind="hostname"[^}]*\} (\d+)/gm);
  return [...found].reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Whether an authority may issue for names of a zone of ours, nobody else being asked. */
async function decide(own: string): Promise<number> {
  const store = openStore(dataDirectoryOf(own), { readonly: true });
  try {
    const clock = new SystemClock();
    const serving = { nameServers: [], edgeAddresses: [], nameServerAddresses: [] };
    const upstream = createUpstream({ servers: [], clock });
    const resolver = createResolver({ store, upstream, clock, random: systemRandom, serving });
    const times: number[] = [];
    for (let i = 0; i < DECISIONS; i++) {
      const name = `h${i}.${ZONE}`;
      const began = performance.now();
      const lookups = new Map([[name, await lookUpCaa(resolver, clock, name, { bypassCache: true })]]);
      const decision = decideForNames([name], lookups, { identities: CAA_IDENTITIES.google }, ['dns-01', 'http-01']);
      times.push(performance.now() - began);
      if (decision.outcome !== 'permitted') throw new Error(`CAA of ${name}: ${JSON.stringify(decision)}`);
    }
    return median(times);
  } finally {
    store.close();
  }
}
