/**
 * An object of one GiB over TLS, through the S3 API and beside it from nginx with the same certificate: processor time and speed by
 * those of nginx, and memory that the process of the door takes more meanwhile.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { presign } from '../../src/s3/signature/presign.js';
import { median } from '../median.js';
import { childrenOf, cpuSeconds, proportionalOctets, type Started } from '../processes.js';
import { BUCKET, type ObjectPorts, type S3Key } from './doors.js';
import type { Nginx } from './nginx.js';

const OCTETS = 1 << 30;
const PIECE = 1 << 20;
const LOAD_CPU = availableParallelism() > 1 ? 1 : 0;
const LOOK_MS = 100;

interface Measured {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** Most octets that the process had more than before. */
  readonly more: number;
}

export interface LargeOptions {
  readonly directory: string;
  readonly rounds: number;
  readonly ours: Started;
  readonly nginx: Nginx;
  readonly ports: ObjectPorts;
  readonly key: S3Key;
}

export async function measureLarge(options: LargeOptions): Promise<Record<string, number>> {
  const { directory, rounds, ours, nginx, ports, key } = options;
  const file = join(directory, 'large');
  const opened = openSync(file, 'w');
  for (let at = 0; at < OCTETS; at += PIECE) writeSync(opened, Buffer.alloc(PIECE, `zoneplane ${at} `));
  closeSync(opened);
  const endpoint = new URL(`https://127.0.0.1:${ports.s3Tls}`);
  const own = { ...key, endpoint, bucket: BUCKET, expires: 86_400, key: 'large' };
  const figures: Record<string, number> = {};
  for (const method of ['PUT', 'GET'] as const) {
    const urls = [
      [ours, presign({ ...own, method, nowMs: Date.now() }), childrenOf(ours.process.pid!).admin],
      [nginx, `https://127.0.0.1:${nginx.securePort}/large`, nginx.process.pid!],
    ] as const;
    const all: Measured[][] = [];
    for (let round = 0; round < rounds; round++) {
      const measured: Measured[] = [];
      for (const [server, url, pid] of urls) measured.push(await transfer(server, { method, url, file, pid }));
      all.push(measured);
    }
    const name = `${method} 1 GiB over TLS`;
    const ratio = (of: (measured: Measured) => number): number =>
      median(all.map(([here, there]) => of(there!) / of(here!)));
    figures[`${name}: nginx's processor time by ours`] = ratio((measured) => measured.cpuSeconds);
    figures[`${name}: speed, times nginx`] = ratio(({ seconds }) => seconds);
    figures[`${name}: seconds of processor time`] = median(all.map(([here]) => here!.cpuSeconds));
    figures[`${name}: MiB of memory more`] = Math.max(...all.map(([here]) => here!.more)) / PIECE;
  }
  rmSync(file);
  return figures;
}

async function transfer(
  server: Started,
  {
    method,
    url,
    file,
    pid,
  }: { readonly method: string; readonly url: string; readonly file: string; readonly pid: number },
): Promise<Measured> {
  const [before, cpuBefore, began] = [proportionalOctets(pid), cpuSeconds(server), performance.now()];
  let most = before;
  const looking = setInterval(() => (most = Math.max(most, proportionalOctets(pid))), LOOK_MS);
  const put = method === 'PUT' ? ['-T', file, '-H', 'Expect:'] : [];
  const curl = ['curl', '-sfk', '--http1.1', '-o', '/dev/null', ...put, url];
  const child = spawn('taskset', ['-c', String(LOAD_CPU), ...curl], { stdio: 'ignore' });
  const [status] = await once(child, 'exit');
  clearInterval(looking);
  if (status !== 0) throw new Error(`curl ${method} ${server.name} ended with ${status}`);
  const seconds = (performance.now() - began) / 1000;
  return { seconds, cpuSeconds: cpuSeconds(server) - cpuBefore, more: most - before };
}
