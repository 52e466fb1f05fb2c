/**
 * Load balancers in DNS: processor time of their answers beside plain ones, the shares that weights give, and answers while the health
 * of origins changes.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import { DEFAULT_ENGINE_SETTINGS } from '../src/answer/state.js';
import { Type } from '../src/dns/codes.js';
import { parseName } from '../src/dns/name.js';
import { setStates } from '../src/image/states.js';
import { ImageWriter } from '../src/image/writer.js';
import { compileProgram, type PoolSource } from '../src/steering/compile.js';
import { State } from '../src/steering/layout.js';
import { makeQuery } from '../test/support/message.js';
import { writeMmdb } from '../test/support/mmdb.js';
import { measureProbing, measureVisible } from './balancing.js';
import { median } from './median.js';
import { measureDeaths, PROBING } from './origin-deaths.js';
import { cpuSeconds, stop } from './processes.js';
import { environmentOf, type Running, startProgram } from './program.js';
import { writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

const NAMES = 500;
const SECONDS = 2;
const QUESTIONS = 40_000;
const FLIPPED = 1_000_000;
const FLIP_MS = [100, 1];

export async function measureSteering(
  directory: string,
  port: number,
  rounds: number,
  taskset: boolean,
): Promise<Figures> {
  return {
    ...(await measureCpu(mkdtempSync(join(directory, 'steering-')), port, rounds, taskset)),
    ...(await measureShares()),
    ...(await measureFlips()),
  };
}

/** Names of these kinds; `subnet`: those that steer by the client subnet, asked with one and a database. */
const KINDS = ['plain', 'balanced', 'subnet'] as const;

async function measureCpu(own: string, port: number, rounds: number, taskset: boolean): Promise<Figures> {
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, 1000);
  const database = join(own, 'geo.mmdb');
  const entries = Array.from({ length: 250 }, (_, i) => [
    `10.${i}.0.0/16`,
    { country: { iso_code: i % 2 ? 'DE' : 'US' } },
  ]);
  writeFileSync(database, writeMmdb(Object.fromEntries(entries)));
  const more = { ZONEPLANE_GEO_DATABASE: database, ZONEPLANE_REGION: 'WEU', ...PROBING };
  const running = await startProgram(own, zoneFile, port, taskset ? 0 : undefined, more);
  try {
    await createBalancers(running);
    await pause(2000);
    const micros: Record<string, number[]> = {};
    for (const kind of KINDS)
      writeFileSync(
        join(own, kind),
        `${names(kind)
          .map((name) => `${name} A`)
          .join('\n')}\n`,
      );
    for (let round = 0; round < rounds; round++) {
      for (const kind of KINDS) {
        const before = cpuSeconds(running.server);
        const answered = dnsperf(join(own, kind), port, kind === 'subnet', taskset);
        (micros[kind] ??= []).push(((cpuSeconds(running.server) - before) / answered) * 1e6);
      }
    }
    const deaths = await measureDeaths([{ running, port }]);
    const visible = await measureVisible(running, port);
    const probing = await measureProbing(running, environmentOf(own, port, more));
    const ratio = (kind: string): number => median(micros[kind]!.map((value, i) => value / micros['plain']![i]!));
    return {
      'CPU µs/answer, plain A': median(micros['plain']!),
      'balanced/plain CPU': ratio('balanced'),
      'balanced by client subnet and database/plain CPU': ratio('subnet'),
      ...deaths,
      ...visible,
      ...probing,
    };
  } finally {
    running.api.close();
    await stop(running.server);
  }
}

function names(kind: string): string[] {
  return Array.from({ length: NAMES }, (_, i) => `${kind}${i}.${ZONE}`);
}

async function createBalancers({ api, zonePath }: Running): Promise<void> {
  const { result } = (await api.call('GET', zonePath)) as { result: { account: { id: string } } };
  const base = `/accounts/${result.account.id}/load_balancers`;
  const pools: string[] = [];
  for (const letter of ['a', 'b', 'c']) {
    const origins = [1, 2, 3].map((i) => ({ name: `o${i}`, address: `198.51.100.${pools.length * 10 + i}` }));
    const made = (await api.call('POST', `${base}/pools`, { name: letter, origins })) as { result: { id: string } };
    pools.push(made.result.id);
  }
  const [a, b, c] = pools;
  for (let i = 0; i < NAMES; i++) {
    await api.call('POST', `${zonePath}/dns_records`, {
      type: 'A',
      name: `plain${i}`,
      content: '198.51.100.1',
      ttl: 60,
    });
    const lists = { default_pools: [a, b], fallback_pool: c, ttl: 60 };
    await api.call('POST', `${zonePath}/load_balancers`, {
      ...lists,
      name: `balanced${i}.${ZONE}`,
      steering_policy: 'random',
    });
    await api.call('POST', `${zonePath}/load_balancers`, {
      ...{ ...lists, name: `subnet${i}.${ZONE}`, steering_policy: 'geo', country_pools: { DE: [b], US: [a] } },
      location_strategy: { mode: 'pop', prefer_ecs: 'always' },
    });
  }
}

/** Answers that came within some seconds. */
function dnsperf(file: string, port: number, hasSubnet: boolean, taskset: boolean): number {
  // Family 1, 24 bits, 10.7.3.0.
  const option = hasSubnet ? ['-E', '8:000118000a0703'] : ['-e'];
  const args = ['-s', '127.0.0.1', '-p', `${port}`, '-d', file, '-l', `${SECONDS}`, '-q', '100', ...option];
  const command = taskset ? ['taskset', '-c', '1', 'dnsperf', ...args] : ['dnsperf', ...args];
  const { stdout } = spawnSync(command[0]!, command.slice(1), { encoding: 'utf8' });
  const completed = Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1] ?? 0);
  if (completed === 0) throw new Error(`no answers: ${stdout}`);
  return completed;
}

/** Three pools of one origin each, the last of which is the fallback pool; each has the place of its number and of 10 more. */
function image(weights: Readonly<Record<string, number>>, defaults: readonly string[]) {
  const writer = new ImageWriter({ seed: 7 });
  const apex = parseName('example.test.');
  const zone = writer.beginZone(apex);
  const pool = (id: string, slot: number): PoolSource => ({
    ...{
      id,
      enabled: true,
      monitored: true,
      minimumOrigins: 1,
      place: undefined,
      originPolicy: 'random',
      slot: slot + 10,
    },
    loadShedding: { defaultPercent: 0, defaultPolicy: 'random', sessionPercent: 0 },
    origins: [{ key: id, enabled: true, weight: 1, slot, hasIpv4: true, hasIpv6: false, ipv4: slot }],
  });
  const program = compileProgram({
    ...{ defaultPools: defaults, fallbackPool: 'c', policy: 'random', regionPools: {}, countryPools: {}, popPools: {} },
    ...{ randomSteering: { defaultWeight: 1, poolWeights: weights }, ttl: 30, answer: 'one', rules: [], poolSets: [] },
    locationStrategy: { mode: 'pop', preferEcs: 'never' },
    pools: ['a', 'b', 'c'].map(pool),
  });
  const rrsets = [1, 2, 3].map((last) => ({ type: Type.a, ttl: 30, rdatas: [Uint8Array.of(192, 0, 2, last)] }));
  const balance = { rrsets, program, conditions: [] };
  writer.loadNode(zone, { owner: apex, apex, rrsets: [], balance });
  writer.publishZone(zone);
  writer.commit();
  return { writer, request: new Uint8Array(makeQuery(apex, Type.a)) };
}

/** Answers by the last octet of their address, after so many questions of a thread; `meanwhile` runs until it is done. */
async function ask(
  { writer, request }: ReturnType<typeof image>,
  count: number,
  meanwhile: () => void = () => {},
  everyMs = 100,
): Promise<Int32Array> {
  const { port2 } = new MessageChannel();
  const engine = { image: writer.current(), settings: DEFAULT_ENGINE_SETTINGS };
  const worker = new Worker(new URL('./steering-asker.js', import.meta.url), {
    workerData: { engine, port: port2, count, request },
    transferList: [port2],
  });
  const timer = setInterval(meanwhile, everyMs);
  try {
    return await new Promise<Int32Array>((resolve, reject) => worker.once('message', resolve).once('error', reject));
  } finally {
    clearInterval(timer);
    await worker.terminate();
  }
}

async function measureShares(): Promise<Figures> {
  const world = image({ a: 0.25, b: 0.25, c: 0.5 }, ['a', 'b', 'c']);
  setStates(world.writer.reader, new Map([0, 1, 2].map((slot) => [slot, State.up])));
  const counts = await ask(world, QUESTIONS);
  const deviations = [0.25, 0.25, 0.5].map(
    (share, i) => Math.abs(counts[i + 1]! - QUESTIONS * share) / Math.sqrt(QUESTIONS * share * (1 - share)),
  );
  return { [`σ, largest deviation from weights in ${QUESTIONS} answers`]: Math.max(...deviations) };
}

/** One of the first two pools is up at any time, so that the fallback pool is never answered. */
async function measureFlips(): Promise<Figures> {
  const world = image({}, ['a', 'b']);
  let flips = 0;
  const flip = (): void => {
    const up = flips++ % 2;
    setStates(
      world.writer.reader,
      new Map([
        [up, State.up],
        [1 - up, State.down],
      ]),
    );
  };
  flip();
  const figures: Record<string, number> = {};
  for (const everyMs of FLIP_MS) {
    const counts = await ask(world, FLIPPED, flip, everyMs);
    figures[`wrong answers of ${FLIPPED} while states flip each ${everyMs} ms`] = FLIPPED - counts[1]! - counts[2]!;
  }
  return { ...figures, flips };
}
