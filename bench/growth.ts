/**
 * How answers, starts, memory, edits and lists grow with names, signed names, zones and custom hostnames: each world once small and
 * once large, both at the same time and measured in turn.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { atOnce } from './at-once.js';
import { measure } from './dnsperf.js';
import { allowHostnames, createHostnames, UPSTREAM } from './hostnames.js';
import { isAnswered } from './latency.js';
import { median } from './median.js';
import { allThreadsMs, childrenOf, memoryOctets, stop } from './processes.js';
import { type Running, startAgain, startProgram } from './program.js';
import { writeQueries, writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

export interface GrowthOptions {
  readonly directory: string;
  /** Of the largest zone; a tenth of it zones, a hundredth hostnames. */
  readonly names: number;
  readonly port: number;
  readonly rounds: number;
  readonly seconds: string;
  readonly sections: readonly string[];
}

interface World {
  /** The things of which there are few or many. */
  readonly sizes: (names: number) => readonly [small: number, large: number];
  /** Names of the zone that is edited. */
  readonly names: (size: number) => number;
  readonly records: (size: number) => number;
  readonly prepare?: (running: Running, size: number, directory: string) => Promise<void>;
  readonly question?: (size: number) => string;
  readonly lists: (running: Running, size: number) => Readonly<Record<string, string>>;
}

const recordsOf = (names: number): number => Math.round(names * 1.7) + 14;
const recordLists: World['lists'] = ({ zonePath }, size) => ({
  'first page': `${zonePath}/dns_records?per_page=100`,
  'a page in the middle': `${zonePath}/dns_records?per_page=100&page=${Math.max(1, Math.floor(recordsOf(size) / 200))}`,
  'by name': `${zonePath}/dns_records?name=h${Math.floor(size / 2)}.${ZONE}`,
});
/** As few as fill a page of a list; otherwise the pages would differ. */
const PAGE = 50;
/** All of the same length, because answers of one length leave together. */
const zoneName = (i: number): string => `z${String(i).padStart(7, '0')}.example`;

function isSigned(port: number): boolean {
  const { stdout } = spawnSync('dig', ['@127.0.0.1', '-p', String(port), '+dnssec', ZONE, 'SOA'], { encoding: 'utf8' });
  return stdout.includes('RRSIG');
}

const WORLDS: Readonly<Record<string, World>> = {
  names: {
    sizes: (names) => [1000, names],
    names: (size) => size,
    records: recordsOf,
    lists: recordLists,
  },
  signed: {
    sizes: (names) => [1000, names],
    names: (size) => size,
    records: recordsOf,
    async prepare({ api, zonePath, server }) {
      await api.call('PATCH', `${zonePath}/dnssec`, { status: 'active' });
      while (!isSigned(server.port)) await sleep(500);
    },
    lists: recordLists,
  },
  zones: {
    sizes: (names) => [PAGE, Math.round(names / 10)],
    names: () => 1000,
    records: (size) => size,
    prepare: ({ api }, size) => atOnce(64, size, (i) => api.call('POST', '/zones', { name: zoneName(i) })),
    question: (size) => `${zoneName(Math.floor(Math.random() * size))} SOA`,
    lists: (_, size) => ({
      'first page': '/zones?per_page=50',
      'last page': `/zones?per_page=${PAGE}&page=${Math.max(1, Math.floor(size / PAGE))}`,
      'by name': `/zones?name=${zoneName(0)}`,
    }),
  },
  hostnames: {
    sizes: (names) => [PAGE, Math.round(names / 100)],
    names: () => 1000,
    records: (size) => size,
    async prepare(running, size, directory) {
      await allowHostnames(running, directory);
      await createHostnames(running.api, `${running.zonePath}/custom_hostnames`, size);
    },
    lists: ({ zonePath }, size) => ({
      'first page': `${zonePath}/custom_hostnames?per_page=50`,
      'last page': `${zonePath}/custom_hostnames?per_page=${PAGE}&page=${Math.max(1, Math.floor(size / PAGE))}`,
      'by name': `${zonePath}/custom_hostnames?hostname=h0.outside.example`,
    }),
  },
};

export const GROWTH_SECTIONS: readonly string[] = Object.keys(WORLDS);

const REQUESTS = 60;
const EDITS = 40;

interface Measured {
  running: Running;
  readonly own: string;
  readonly port: number;
  readonly size: number;
  readonly samples: Map<string, number[]>;
}

/** Ratios of the large world to the small one, and what a record takes. */
export async function measureGrowth(options: GrowthOptions): Promise<Figures> {
  const figures: Record<string, number> = {};
  for (const [index, section] of options.sections.entries()) {
    Object.assign(figures, await measureWorld(section, { ...options, port: options.port + index * 12 }));
  }
  return figures;
}

async function measureWorld(section: string, options: GrowthOptions): Promise<Figures> {
  const world = WORLDS[section]!;
  const both: Measured[] = [];
  const upstream: ChildProcess = spawn(process.execPath, [UPSTREAM, String(options.port + 10)], { stdio: 'ignore' });
  const more = settingsOf(options.port + 10);
  try {
    for (const [index, size] of world.sizes(options.names).entries()) {
      const own = mkdtempSync(join(options.directory, `growth-${section}-`));
      const port = options.port + index * 5;
      const zoneFile = join(own, 'zone');
      await writeZone(zoneFile, world.names(size));
      const running = await startProgram(own, zoneFile, port, undefined, more(port));
      both.push({ running, own, port, size, samples: new Map() });
      await world.prepare?.(running, size, own);
      writeQuestions(world, own, size);
    }
    for (let round = 0; round < options.rounds; round++) {
      for (const one of both) await measureOnce(world, one, options.seconds, more(one.port));
    }
    return compare(section, world, both[0]!, both[1]!);
  } finally {
    upstream.kill();
    for (const { running } of both) {
      running.api.close();
      await stop(running.server);
    }
  }
}

const settingsOf =
  (upstream: number) =>
  (port: number): Readonly<Record<string, string>> => ({
    ZONEPLANE_RESOLVER_UPSTREAMS: `127.0.0.1:${upstream}`,
    ZONEPLANE_BUCKET_PORT: String(port + 3),
    ZONEPLANE_EDGE: 'off',
  });

function writeQuestions({ names, question }: World, own: string, size: number): void {
  const file = join(own, 'queries');
  if (!question) writeQueries(file, 'mix', names(size));
  else writeFileSync(file, `${Array.from({ length: 200_000 }, () => question(size)).join('\n')}\n`);
}

async function measureOnce(
  world: World,
  one: Measured,
  seconds: string,
  more: Readonly<Record<string, string>>,
): Promise<void> {
  const note = (what: string, value: number): void => {
    one.samples.set(what, [...(one.samples.get(what) ?? []), value]);
  };
  await stop(one.running.server);
  one.running.api.close();
  one.running = await startAgain(one.own, one.port, more);
  const { server, api } = one.running;
  const { admin, dns } = childrenOf(server.process.pid!);
  note('start of DNS, ms', allThreadsMs([dns]));
  note('memory, MB', memoryOctets(server) / 1e6);
  // Other processes are still at their start.
  const before = allThreadsMs([dns]);
  const { answersPerSecond } = measure(server, 'mix', join(one.own, 'queries'), { seconds });
  note('answer, µs', ((allThreadsMs([dns]) - before) * 1000) / (answersPerSecond * Number(seconds)));
  note('edit until DNS answers it, ms', await editMs(one, [admin, dns]));
  for (const [what, path] of Object.entries(world.lists(one.running, one.size))) {
    await api.call('GET', path);
    const began = allThreadsMs([admin]);
    for (let i = 0; i < REQUESTS; i++) await api.call('GET', path);
    note(`list, ${what}, ms`, (allThreadsMs([admin]) - began) / REQUESTS);
  }
}

let edits = 0;

/** Processor time of both processes for an edit. */
async function editMs({ running, port }: Measured, processes: readonly number[]): Promise<number> {
  const socket = createSocket('udp4');
  try {
    let before = 0;
    for (let i = -5; i < EDITS; i++) {
      if (i === 0) before = allThreadsMs(processes);
      const name = `edit${edits++}.${ZONE}`;
      const body = { type: 'A', name, content: '192.0.2.1', ttl: 60 };
      await running.api.call('POST', `${running.zonePath}/dns_records`, body);
      while (!(await isAnswered(socket, port, name)));
    }
    return (allThreadsMs(processes) - before) / EDITS;
  } finally {
    socket.close();
  }
}

function compare(section: string, { records }: World, small: Measured, large: Measured): Figures {
  const figures: Record<string, number> = {};
  const many = records(large.size) - records(small.size);
  process.stdout.write(`\n${`${section}: processor time`.padEnd(44)}${small.size} → ${large.size}\n`);
  for (const [what, values] of small.samples) {
    const [few, more] = [median(values), median(large.samples.get(what)!)];
    figures[`${section}, ${what}: ratio`] = more / few;
    process.stdout.write(
      `${what.padEnd(40)}${few.toFixed(2).padStart(10)}${more.toFixed(2).padStart(10)}${(more / few).toFixed(2).padStart(8)}\n`,
    );
    if (what.startsWith('start')) figures[`${section}, start, µs each`] = ((more - few) * 1000) / many;
    if (what.startsWith('memory')) figures[`${section}, memory, octets each`] = ((more - few) * 1e6) / many;
  }
  return figures;
}
