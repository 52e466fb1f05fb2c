/**
 * What transfers of a large signed zone cost: processor time and memory, beside other primaries, and the latency of DNS
 * meanwhile.
 */
import { execFile, execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseName } from '../../src/dns/name.js';
import { makeQuery } from '../../test/support/message.js';
import { askAll } from '../../test/support/reference-servers.js';
import { askWhile, named } from '../latency.js';
import { median } from '../median.js';
import { run } from '../peers.js';
import { cpuSeconds, memoryOctets, type Started, stop } from '../processes.js';
import { dataDirectoryOf, PROGRAM, type Running, startProgram } from '../program.js';
import { writeZone, ZONE } from '../workload.js';
import type { Figures } from '../writes.js';
import { startPrimaries } from './primaries.js';

const CLIENT = fileURLToPath(new URL('./transfer-client.js', import.meta.url));
const execute = promisify(execFile);
const DNSKEY = 48;
/** Milliseconds after a change or a transfer until the processor time is read: everything that follows it has ended. */
const SETTLE_MS = 700;
/** Transfers of one serial that are measured together. */
const FURTHER = 3;
const AT_ONCE = 10;
const MIB = 2 ** 20;

export interface WholeZoneOptions {
  readonly names: number;
  readonly rounds: number;
}

export async function measureWholeZones(
  directory: string,
  port: number,
  { names, rounds }: WholeZoneOptions,
): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'whole-zones-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, names);
  const running = await startProgram(own, zoneFile, port, undefined, { ZONEPLANE_TRANSFER_ALLOW: '127.0.0.0/8' });
  const primaries: Started[] = [];
  try {
    await signZone(own, port);
    const memory = await memoryOfTransfers(running, port);
    const copy = join(own, 'copy');
    writeCopy(port, copy);
    primaries.push(...(await startPrimaries(own, copy, port + 10)));
    return { ...(await compare(running, primaries, rounds)), ...memory, ...(await latencies(port)) };
  } finally {
    for (const primary of primaries) await stop(primary);
    running.api.close();
    await stop(running.server);
  }
}

async function signZone(own: string, port: number): Promise<void> {
  run(process.execPath, [PROGRAM, 'dnssec', 'enable', ZONE], { ZONEPLANE_DATA_DIR: dataDirectoryOf(own) });
  const query = makeQuery(parseName(`${ZONE}.`), DNSKEY);
  for (;;) {
    const [answer] = await askAll(port, [query]);
    if (answer && answer.readUInt16BE(6) > 0) return;
    await sleep(500);
  }
}

/** The zone as a file that other servers load. */
function writeCopy(port: number, path: string): void {
  const file = openSync(path, 'w');
  execFileSync('dig', ['@127.0.0.1', '-p', String(port), ZONE, 'AXFR', '+noall', '+answer', '+onesoa'], {
    stdio: ['ignore', file, 'inherit'],
  });
  closeSync(file);
}

async function compare(running: Running, primaries: readonly Started[], rounds: number): Promise<Figures> {
  const { server } = running;
  const costs: Record<string, number[]> = {};
  const note = (what: string, cost: number): void => void (costs[what] ??= []).push(cost);
  let records = 0;
  for (let round = 0; round < rounds; round++) {
    const record = { type: 'TXT', name: `round${round}`, content: '"x"', ttl: 60 };
    await running.api.call('POST', `${running.zonePath}/dns_records`, record);
    await sleep(SETTLE_MS);
    note('first', await costOf(server, 1));
    note('further', await costOf(server, FURTHER));
    for (const primary of primaries) note(primary.name, await costOf(primary, FURTHER));
    records = await transfer(server.port, 1);
  }
  const figures: Record<string, number> = { 'records of the signed zone': records };
  for (const [what, values] of Object.entries(costs)) figures[`${what}, CPU µs a record`] = median(values);
  const against = (ours: string, theirs: string): void => {
    const [own, other] = [costs[ours], costs[theirs]];
    if (own && other) figures[`${ours} / ${theirs}`] = median(own.map((value, i) => value / other[i]!));
  };
  for (const ours of ['first', 'further']) for (const theirs of ['bind', 'knot', 'nsd']) against(ours, theirs);
  return figures;
}

/** The records of so many transfers at once. */
async function transfer(port: number, count: number, pauseMs = 0): Promise<number> {
  const { stdout } = await execute(process.execPath, [CLIENT, String(port), String(count), String(pauseMs)]);
  return Number(stdout);
}

/** Microseconds of processor time for each record. */
async function costOf(server: Started, transfers: number): Promise<number> {
  const before = cpuSeconds(server);
  let records = 0;
  for (let i = 0; i < transfers; i++) records += await transfer(server.port, 1);
  await sleep(SETTLE_MS);
  return ((cpuSeconds(server) - before) * 1e6) / records;
}

/** Mebibytes that the program grows by during the first transfer of all, and by each of ten slow ones at once. */
async function memoryOfTransfers({ server }: Running, port: number): Promise<Figures> {
  await sleep(SETTLE_MS);
  const before = memoryOctets(server);
  const during = async (work: Promise<unknown>): Promise<number> => {
    let most = 0;
    let isDone = false;
    const watched = work.finally(() => (isDone = true));
    while (!isDone) {
      most = Math.max(most, memoryOctets(server));
      await sleep(50);
    }
    await watched;
    return most;
  };
  const first = await during(transfer(port, 1));
  const between = memoryOctets(server);
  const many = await during(transfer(port, AT_ONCE, 1));
  return {
    'memory of the first transfer, MiB': (first - before) / MIB,
    'kept after it, MiB': (between - before) / MIB,
    'memory of each of ten further ones, MiB': (many - between) / AT_ONCE / MIB,
  };
}

async function latencies(port: number): Promise<Figures> {
  const calm = await askWhile(port, () => sleep(20));
  const busy = await askWhile(port, async () => {
    await transfer(port, AT_ONCE);
  });
  return { ...named('DNS, calm', calm), ...named('DNS, during ten transfers', busy) };
}
