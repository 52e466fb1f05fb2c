/**
 * The cost of synthesized answers compared with plain ones, and of keeping the targets of flattened names up to date.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { askWhile, named } from './latency.js';
import { median } from './median.js';
import { cpuSeconds, stop } from './processes.js';
import { type Running, startProgram } from './program.js';
import { writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

const UPSTREAM = fileURLToPath(new URL('./upstream.js', import.meta.url));
const KINDS = ['plain', 'proxied', 'flattened'] as const;
const NAMES = 2000;
const ROUNDS = 5;
const TARGETS = 20_000;
const FAILING = 10_000;
const BATCH = 1000;

/** CPU ratios of answers, and figures of 20,000 flattened names. DNS on `port`, API behind it, the resolver behind that. */
export async function measureSynthesis(directory: string, port: number, taskset: boolean): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'synthesis-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, 1000);
  const upstream = spawn(process.execPath, [UPSTREAM, String(port + 2)], { stdio: 'ignore' });
  const running = await startProgram(own, zoneFile, port, taskset ? 0 : undefined, {
    ZONEPLANE_RESOLVER_UPSTREAMS: `127.0.0.1:${port + 2}`,
  });
  try {
    const answers = await measureAnswers(running, own, port, taskset);
    return { ...answers, ...(await measureTargets(running, port)) };
  } finally {
    running.api.close();
    await stop(running.server);
    await end(upstream);
  }
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill();
  await ended;
}

/** Creates records in batches. */
async function create({ api, zonePath }: Running, records: readonly object[]): Promise<void> {
  for (let at = 0; at < records.length; at += BATCH) {
    await api.call('POST', `${zonePath}/dns_records/batch`, { posts: records.slice(at, at + BATCH) });
  }
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

async function measureAnswers(running: Running, own: string, port: number, taskset: boolean): Promise<Figures> {
  const settings = { flatten_cname: true };
  const target = `plain0.${ZONE}`;
  await create(
    running,
    numbers(NAMES).map((i) => ({ type: 'A', name: `plain${i}`, content: '198.51.100.1', ttl: 300 })),
  );
  await create(
    running,
    numbers(NAMES).map((i) => ({ type: 'A', name: `proxied${i}`, content: '198.51.100.1', proxied: true })),
  );
  await create(
    running,
    numbers(NAMES).map((i) => ({ type: 'CNAME', name: `flattened${i}`, content: target, ttl: 300, settings })),
  );
  await pause(2000);
  const micros: Record<string, number[]> = { plain: [], proxied: [], flattened: [] };
  for (const kind of KINDS) {
    const lines = numbers(NAMES).map((i) => `${kind}${i}.${ZONE} A`);
    writeFileSync(join(own, kind), `${lines.join('\n')}\n`);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const kind of KINDS) {
      const before = cpuSeconds(running.server);
      const { answered } = dnsperf(join(own, kind), port, taskset);
      micros[kind]!.push(((cpuSeconds(running.server) - before) / answered) * 1e6);
    }
  }
  const ratio = (kind: string): number => median(micros[kind]!.map((value, i) => value / micros['plain']![i]!));
  return {
    'CPU µs/answer, plain A': median(micros['plain']!),
    'proxied/plain CPU': ratio('proxied'),
    'flattened/plain CPU': ratio('flattened'),
  };
}

async function measureTargets(running: Running, port: number): Promise<Figures> {
  const flattened = (prefix: string, i: number): object => {
    const content = `${prefix}${i}.target.test`;
    return { type: 'CNAME', name: `t-${prefix}${i}`, content, ttl: 300, settings: { flatten_cname: true } };
  };
  const calm = await askWhile(port, () => pause(10));
  const [cpuBefore, began, known] = [cpuSeconds(running.server), performance.now(), await refreshes(port)];
  await create(
    running,
    numbers(TARGETS).map((i) => flattened('good', i)),
  );
  const created = performance.now();
  while ((await refreshes(port)) < known + TARGETS) await pause(100);
  const heard = performance.now();
  const cpu = cpuSeconds(running.server) - cpuBefore;
  await create(
    running,
    numbers(FAILING).map((i) => flattened('bad', i)),
  );
  const failing = await askWhile(port, () => pause(10));
  return {
    [`seconds to create ${TARGETS} flattened names`]: (created - began) / 1000,
    'seconds until all are known': (heard - began) / 1000,
    'CPU ms a target, creation included': (cpu * 1000) / TARGETS,
    ...named('DNS, calm', calm),
    ...named(`DNS, ${FAILING} targets failing`, failing),
  };
}

/** Targets asked for so far. */
async function refreshes(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port + 1}/metrics`)).text();
  return [...text.matchAll(/flatten_refreshes_total\{[^}]*\} (\d+)/g)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

function dnsperf(queries: string, port: number, taskset: boolean): { readonly answered: number } {
  const load = ['-s', '127.0.0.1', '-p', String(port), '-d', queries, '-l', '3', '-q', '200'];
  const [program, ...rest] = taskset ? ['taskset', '-c', '1', 'dnsperf', ...load] : ['dnsperf', ...load];
  const { status, stdout, stderr } = spawnSync(program!, rest, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`dnsperf failed: ${stderr}`);
  return { answered: Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1]) };
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
