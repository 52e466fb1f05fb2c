/**
 * Small objects through every door beside nginx, which serves files, and stores them with a sync of each: requests a second, and
 * processor time of a request, in turn. The servers have one processor, the load the other.
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { median } from '../median.js';
import { cpuSeconds, type Started } from '../processes.js';
import type { Door } from './doors.js';

export const SIZES = { '1 KiB': 1 << 10, '64 KiB': 1 << 16 } as const;
export const nameOf = (size: string): string => size.replace(' ', '-');

const LOAD_CPU = availableParallelism() > 1 ? 1 : 0;
const AT_ONCE = 8;
/** Keys that are written in turn. */
const KEYS = 64;
/** The engine compiles what runs thousands of times: with fewer, the figures are those of its start. */
const REQUESTS = { GET: 20_000, PUT: 2000 } as const;
const LONGEST_MS = 180_000;

interface Side {
  readonly door: Door;
  readonly server: Started;
}

export interface SmallOptions {
  readonly directory: string;
  readonly rounds: number;
  readonly ours: Started;
  readonly nginx: Side;
  readonly doors: readonly Door[];
}

export async function measureSmall(options: SmallOptions): Promise<Record<string, number>> {
  const { directory, doors, nginx, ours } = options;
  const figures: Record<string, number> = {};
  for (const [size, octets] of Object.entries(SIZES)) {
    const body = join(directory, `body-${nameOf(size)}`);
    writeFileSync(body, Buffer.alloc(octets, 'zoneplane'));
    for (const door of [doors[0]!, nginx.door])
      await load(directory, door, 'PUT', [nameOf(size)], { body, requests: 1 });
    for (const method of ['GET', 'PUT'] as const) {
      const keys = method === 'GET' ? [nameOf(size)] : Array.from({ length: KEYS }, (_, i) => `put-${i}`);
      const sides = [
        ...doors.filter((door) => method === 'GET' || door.takes).map((door) => ({ door, server: ours })),
        nginx,
      ];
      const run = ({ door, server }: Side, requests: number): Promise<Measured> =>
        measureLoad(server, () => load(directory, door, method, keys, { body, requests }));
      for (const side of sides) await run(side, REQUESTS[method]);
      const rounds: Measured[][] = [];
      for (let round = 0; round < options.rounds; round++) {
        const measured: Measured[] = [];
        for (const side of sides) measured.push(await run(side, REQUESTS[method]));
        rounds.push(measured);
      }
      Object.assign(figures, namedRatios(`${method} ${size}`, sides, rounds));
    }
  }
  return figures;
}

interface Measured {
  readonly aSecond: number;
  /** Processor time of a request, microseconds. */
  readonly micros: number;
}

/** nginx is the last side. */
function namedRatios(what: string, sides: readonly Side[], rounds: readonly Measured[][]): Record<string, number> {
  const figures: Record<string, number> = {};
  for (const [i, { door }] of sides.entries()) {
    const name = `${what}, ${door.name}`;
    figures[`${name}: a second`] = median(rounds.map((round) => round[i]!.aSecond));
    figures[`${name}: µs of processor time`] = median(rounds.map((round) => round[i]!.micros));
    if (i === sides.length - 1) continue;
    figures[`${name}: speed, times nginx`] = median(rounds.map((round) => round[i]!.aSecond / round.at(-1)!.aSecond));
    figures[`${name}: nginx's processor time by ours`] = median(
      rounds.map((round) => round.at(-1)!.micros / round[i]!.micros),
    );
  }
  return figures;
}

async function measureLoad(server: Started, work: () => Promise<Loaded>): Promise<Measured> {
  const before = cpuSeconds(server);
  const { requests, seconds } = await work();
  return { aSecond: requests / seconds, micros: ((cpuSeconds(server) - before) * 1e6) / requests };
}

interface Loaded {
  readonly requests: number;
  readonly seconds: number;
}

/** Throws when a request fails. */
async function load(
  directory: string,
  door: Door,
  method: 'GET' | 'PUT',
  keys: readonly string[],
  { body, requests }: { readonly body: string; readonly requests: number },
): Promise<Loaded> {
  const list = join(directory, 'uris');
  writeFileSync(list, `${keys.map((key) => door.urlOf(method, key)).join('\n')}\n`);
  const fields = door.fields.flatMap((field) => ['-H', field]);
  const put = method === 'PUT' ? ['-d', body, '-H', ':method: PUT'] : [];
  const connections = Math.min(AT_ONCE, requests);
  const args = ['h2load', '--h1', '-t', '1', '-c', String(connections), '-n', String(requests)];
  const to = `--connect-to=127.0.0.1:${door.port}`;
  const child = spawn('taskset', ['-c', String(LOAD_CPU), ...args, to, ...fields, ...put, '-i', list], {
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (text += piece));
  const status = await new Promise((resolve) => child.once('close', resolve));
  const [, finished] = /finished in ([\d.]+(?:us|ms|s))/.exec(text) ?? [];
  const [, answered] = /(\d+) 2xx/.exec(text) ?? [];
  if (status !== 0 || finished === undefined || Number(answered) !== requests) {
    throw new Error(`h2load ${method} ${door.name}: ${text}`);
  }
  const unit = finished.endsWith('us') ? 1e6 : finished.endsWith('ms') ? 1e3 : 1;
  return { requests, seconds: Number.parseFloat(finished) / unit };
}
