/** How long it takes from the answer of the API until stock secondaries answer a change. */
import { spawn } from 'node:child_process';
import { createSocket, type Socket } from 'node:dgram';
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Secondary } from '../../test/support/secondaries.js';
import { isAnswered, spreadOf } from '../latency.js';
import { stop } from '../processes.js';
import { type Running, startProgram } from '../program.js';
import { writeQueries, writeZone, ZONE } from '../workload.js';
import type { Figures } from '../writes.js';
import { startSecondaries } from './secondary-servers.js';

const NAMES = 1000;
/** Milliseconds between two questions for a name that is not there yet. */
const LOOK_EVERY_MS = 1;
const LIMIT_MS = 20_000;
/** Milliseconds between two changes that people make, at least and at most. */
const PAUSE_MS = [200, 900] as const;
/** Questions a second to our server, for the figures under load. */
const LOAD = 20_000;
/** Seconds of changes without a pause. */
const BURST_SECONDS = 5;

export interface PropagationOptions {
  readonly changes: number;
  readonly taskset: boolean;
}

export async function measurePropagation(
  directory: string,
  port: number,
  { changes, taskset }: PropagationOptions,
): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'propagation-'));
  const [zoneFile, queries] = [join(own, 'zone'), join(own, 'queries')];
  await writeZone(zoneFile, NAMES);
  writeQueries(queries, 'mix', NAMES);
  const running = await startProgram(own, zoneFile, port);
  const secondaries = await startSecondaries(own);
  try {
    await follow(running, secondaries, 'first', 3, true);
    const calm = await follow(running, secondaries, 'calm', changes, true);
    const dnsperf = ['dnsperf', '-s', '127.0.0.1', '-p', String(port), '-d', queries, '-l', '600', '-Q', String(LOAD)];
    const [command, ...args] = taskset ? ['taskset', '-c', '1', ...dnsperf] : dnsperf;
    const load = spawn(command!, args, { stdio: 'ignore' });
    await sleep(500);
    const loaded = await follow(running, secondaries, 'loaded', changes, true);
    load.kill('SIGINT');
    const quick = await follow(running, secondaries, 'quick', changes, false);
    return {
      ...named('calm', calm),
      ...named(`under ${LOAD / 1000} k questions/s`, loaded),
      ...named('no pauses', quick),
      ...(await burst(running, secondaries)),
    };
  } finally {
    for (const secondary of secondaries) await secondary.stop();
    running.api.close();
    await stop(running.server);
  }
}

type Waits = ReadonlyMap<string, readonly number[]>;

function named(what: string, waits: Waits): Figures {
  const figures: Record<string, number> = {};
  for (const [name, unsorted] of waits) {
    const { p50, p99, longest } = spreadOf(unsorted);
    figures[`${name}, ${what}, p50 ms`] = p50;
    figures[`${name}, ${what}, p99 ms`] = p99;
    figures[`${name}, ${what}, longest ms`] = longest;
  }
  return figures;
}

/** One change after the other; each waits until all secondaries answer the one before, and pauses where wanted. */
async function follow(
  { api, zonePath }: Running,
  secondaries: readonly Secondary[],
  prefix: string,
  changes: number,
  withPauses: boolean,
): Promise<Waits> {
  const waits = new Map<string, number[]>(secondaries.map(({ name }) => [name, []]));
  const socket = createSocket('udp4');
  try {
    for (let i = 0; i < changes; i++) {
      const name = `${prefix}${i}`;
      const [least, most] = PAUSE_MS;
      if (withPauses) await sleep(least + ((i * 379) % (most - least)));
      await api.call('POST', `${zonePath}/dns_records`, { type: 'A', name, content: `192.0.2.${i % 250}`, ttl: 60 });
      const answeredAt = performance.now();
      await Promise.all(
        secondaries.map(async (secondary) => {
          await untilThere(socket, secondary, `${name}.${ZONE}`);
          waits.get(secondary.name)!.push(performance.now() - answeredAt);
        }),
      );
    }
  } finally {
    socket.close();
  }
  return waits;
}

/** Creates records as fast as the API takes them, and says how far behind each secondary is when the last was answered. */
async function burst({ api, zonePath }: Running, secondaries: readonly Secondary[]): Promise<Figures> {
  const endAt = performance.now() + BURST_SECONDS * 1000;
  let count = 0;
  const create = async (): Promise<void> => {
    while (performance.now() < endAt) {
      const content = `198.51.${(count >> 8) & 255}.${count & 255}`;
      await api.call('POST', `${zonePath}/dns_records`, { type: 'A', name: `burst${count++}`, content, ttl: 60 });
    }
  };
  await Promise.all(Array.from({ length: 20 }, create));
  const { result } = await api.call('POST', `${zonePath}/dns_records`, {
    type: 'A',
    name: 'last',
    content: '192.0.2.1',
    ttl: 60,
  });
  if (!result) throw new Error('the last record was not created');
  const answeredAt = performance.now();
  const figures: Record<string, number> = { 'changes/s without a pause': count / BURST_SECONDS };
  const socket = createSocket('udp4');
  await Promise.all(
    secondaries.map(async (secondary) => {
      await untilThere(socket, secondary, `last.${ZONE}`);
      figures[`${secondary.name}, behind after them, ms`] = performance.now() - answeredAt;
    }),
  );
  socket.close();
  return figures;
}

async function untilThere(socket: Socket, secondary: Secondary, name: string): Promise<void> {
  const endAt = performance.now() + LIMIT_MS;
  while (!(await isAnswered(socket, secondary.port, name))) {
    if (performance.now() > endAt)
      throw new Error(`${secondary.name} does not answer ${name}: ${secondary.log().slice(-1000)}`);
    await sleep(LOOK_EVERY_MS);
  }
}
