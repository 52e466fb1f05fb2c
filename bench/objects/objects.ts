/** Objects of buckets through every door beside nginx; DNS while objects are stored; large objects, lists, and uploads in parts. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { makePair } from '../edge-servers.js';
import { askWhile } from '../latency.js';
import { median } from '../median.js';
import { run } from '../peers.js';
import { childrenOf, type Started, stop, untilQuiet } from '../processes.js';
import { dataDirectoryOf, startProgram } from '../program.js';
import { writeZone } from '../workload.js';
import type { Figures } from '../writes.js';
import { type Door, doorOf, doorsOf, portsOf, prepareBucket, settingsOf } from './doors.js';
import { measureLarge } from './large.js';
import { measureCompletion, measureLists } from './many.js';
import { type Nginx, startNginx } from './nginx.js';
import { type Asker, createAsker } from './signed.js';
import { measureSmall, nameOf, SIZES } from './small.js';

export const OBJECT_SECTIONS = ['small', 'dns', 'large', 'lists', 'parts'] as const;

const SERVER_CPU = availableParallelism() > 1 ? 0 : undefined;
/** Of DNS and its client, while others store. */
const ASKED_CPU = availableParallelism() > 1 ? 1 : 0;
const UPLOAD_OCTETS = 64 << 20;

export interface ObjectBenchOptions {
  readonly rounds: number;
  /** Of {@link OBJECT_SECTIONS}. */
  readonly sections: readonly string[];
}

/** Ports from `port` on. */
export async function measureObjects(directory: string, port: number, options: ObjectBenchOptions): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'objects-'));
  const ports = portsOf(port);
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, 1000);
  const pair = makePair(own, ['localhost']);
  const tls = { ZONEPLANE_TLS_CERT: pair.certificate, ZONEPLANE_TLS_KEY: pair.key };
  const settings = { ...settingsOf(ports, Object.keys(SIZES).map(nameOf)), ...tls };
  const running = await startProgram(own, zoneFile, port, SERVER_CPU, settings);
  const figures: Record<string, number> = {};
  const wants = (section: (typeof OBJECT_SECTIONS)[number]): boolean => options.sections.includes(section);
  let nginx: Nginx | undefined;
  let unsynced: Nginx | undefined;
  let asker: Asker | undefined;
  try {
    const { account, key } = await prepareBucket(running, own, ports);
    nginx = await startNginx(own, ports.nginx, ports.nginxTls, SERVER_CPU ?? 0);
    const doors = doorsOf(ports, account, key);
    await untilQuiet(running.server);
    if (wants('small')) {
      const neighbour = { door: doorOf(nginx), server: nginx };
      const small = { directory: own, rounds: options.rounds, ours: running.server, nginx: neighbour, doors };
      Object.assign(figures, await measureSmall(small));
    }
    const ours = running.server;
    if (wants('dns')) {
      const dns = { directory: own, rounds: options.rounds, ours, doors: [doorOf(nginx), doors[0]!, doors[2]!] };
      Object.assign(figures, await measureDns(dns));
    }
    if (wants('large')) {
      // With a sync of every piece, nginx takes minutes, and gives up.
      unsynced = await startNginx(own, ports.unsynced, ports.unsyncedTls, SERVER_CPU ?? 0, false);
      const large = { directory: own, rounds: options.rounds, ours, nginx: unsynced, ports, key };
      Object.assign(figures, await measureLarge(large));
    }
    asker = createAsker(ports.s3, key, 16);
    if (wants('lists')) Object.assign(figures, await measureLists(dataDirectoryOf(own), ours, asker));
    if (wants('parts')) Object.assign(figures, await measureCompletion(ours, asker));
    return figures;
  } finally {
    asker?.close();
    running.api.close();
    await stop(running.server);
    for (const server of [nginx, unsynced]) if (server) await stop(server);
  }
}

interface DnsOptions {
  readonly directory: string;
  readonly rounds: number;
  readonly ours: Started;
  readonly doors: readonly Door[];
}

/**
 * DNS while the disk is busy with uploads, in turn with quiet rounds. The same octets to nginx show the machine's share. DNS and its client
 * have one processor, the programs that store and send the other, as an operator would divide them.
 */
async function measureDns({ directory, rounds, ours, doors }: DnsOptions): Promise<Record<string, number>> {
  const file = join(directory, 'upload');
  writeFileSync(file, Buffer.alloc(UPLOAD_OCTETS, 'zoneplane'));
  moveTo(ASKED_CPU, childrenOf(ours.process.pid!).dns);
  moveTo(ASKED_CPU, process.pid);
  const names = ['idle', ...doors.map(({ name }) => `64 MiB uploads: ${name}`)];
  const p99s: number[][] = names.map(() => []);
  for (let round = 0; round < rounds; round++) {
    const works = [async () => {}, ...doors.map((door) => () => uploadApart(file, door))];
    for (const [i, work] of works.entries()) p99s[i]!.push(percentile99(await askWhile(ours.port, work)));
  }
  const idle = median(p99s[0]!);
  const figures = names.map((name, i) => [`DNS, ${name}: p99 ms`, median(p99s[i]!)] as const);
  const ratios = names
    .slice(1)
    .map((name, i) => [`DNS, ${name}: p99, times idle`, median(p99s[i + 1]!) / idle] as const);
  return Object.fromEntries([...figures, ...ratios]);
}

const percentile99 = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length * 0.99)]!;

function moveTo(cpu: number, pid: number): void {
  run('taskset', ['-acp', String(cpu), String(pid)]);
}

/** In another process, so that questions are asked on time. */
async function uploadApart(file: string, door: Door): Promise<void> {
  const headers = [...door.fields, 'Expect:'].flatMap((field) => ['-H', field]);
  const curl = ['curl', '-sf', '-o', '/dev/null', ...headers, '-T', file, door.urlOf('PUT', 'upload')];
  const sending = spawn('taskset', ['-c', String(SERVER_CPU ?? 0), ...curl]);
  const [status] = await once(sending, 'exit');
  if (status !== 0) throw new Error(`curl ended with ${status}`);
}
