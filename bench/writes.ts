/**
 * The cost of writing: time from the API's answer to DNS, idle and under load; records created per second; loading of
 * whole zones.
 */
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { atOnce } from './at-once.js';
import { isAnswered, spreadOf } from './latency.js';
import { run } from './peers.js';
import { stop } from './processes.js';
import { type Running, startProgram } from './program.js';
import { writeQueries, writeZone, ZONE } from './workload.js';

const PROGRAM = fileURLToPath(new URL('../src/main.js', import.meta.url));

export interface WriteOptions {
  readonly directory: string;
  readonly names: number;
  readonly port: number;
  /** Creations measured, one after the other. */
  readonly changes: number;
  readonly taskset: boolean;
}

export type Figures = Readonly<Record<string, number>>;

/** Milliseconds from the API's answer to the first DNS answer that knows the record, and creations a second. */
export async function measureWrites({ directory, names, port, changes, taskset }: WriteOptions): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'writes-'));
  const zoneFile = join(own, 'zone');
  const queries = join(own, 'queries');
  await writeZone(zoneFile, names);
  writeQueries(queries, 'mix', names);
  const running = await startProgram(own, zoneFile, port);
  try {
    const idle = await propagationOf(running, port, 'idle', changes);
    const load = spawn(
      taskset ? 'taskset' : 'dnsperf',
      [
        ...(taskset ? ['-c', '1', 'dnsperf'] : []),
        '-s',
        '127.0.0.1',
        '-p',
        String(port),
        '-d',
        queries,
        '-l',
        '60',
        '-Q',
        '100000',
        '-e',
      ],
      { stdio: 'ignore' },
    );
    const loaded = await propagationOf(running, port, 'loaded', changes);
    load.kill('SIGINT');
    return {
      ...named('idle', idle),
      ...named('under 100 k questions/s', loaded),
      'creations/s, one at a time': await creationsPerSecond(running, 1, 2000),
      'creations/s, 50 at once': await creationsPerSecond(running, 50, 10_000),
      'creations/s, batches of 1000': await batchedPerSecond(running, 20),
    };
  } finally {
    running.api.close();
    await stop(running.server);
  }
}

function named(what: string, waits: readonly number[]): Figures {
  const { p50, p99, longest } = spreadOf(waits);
  return { [`p50 ms, ${what}`]: p50, [`p99 ms, ${what}`]: p99, [`longest ms, ${what}`]: longest };
}

export async function propagationOf(
  { api, zonePath }: Running,
  port: number,
  prefix: string,
  changes: number,
): Promise<number[]> {
  const socket = createSocket('udp4');
  const waits: number[] = [];
  try {
    for (let i = 0; i < changes; i++) {
      const name = `${prefix}${i}`;
      await api.call('POST', `${zonePath}/dns_records`, { type: 'A', name, content: `192.0.2.${i % 250}`, ttl: 60 });
      const answeredAt = performance.now();
      while (!(await isAnswered(socket, port, `${name}.${ZONE}`)));
      waits.push(performance.now() - answeredAt);
    }
  } finally {
    socket.close();
  }
  return waits;
}

async function creationsPerSecond(running: Running, places: number, count: number): Promise<number> {
  const began = performance.now();
  await createAtOnce(running, places, count, `c${places}`);
  return count / ((performance.now() - began) / 1000);
}

/** Creates records with so many requests at the same time. */
export async function createAtOnce(
  { api, zonePath }: Running,
  places: number,
  count: number,
  prefix: string,
): Promise<void> {
  await atOnce(places, count, (i) => {
    const content = `198.51.${(i >> 8) & 255}.${i & 255}`;
    return api.call('POST', `${zonePath}/dns_records`, { type: 'A', name: `${prefix}-${i}`, content, ttl: 60 });
  });
}

async function batchedPerSecond({ api, zonePath }: Running, batches: number): Promise<number> {
  const began = performance.now();
  for (let batch = 0; batch < batches; batch++) {
    const posts = Array.from({ length: 1000 }, (_, i) => {
      return { type: 'A', name: `b${batch}-${i}`, content: `203.0.113.${i % 250}`, ttl: 60 };
    });
    await api.call('POST', `${zonePath}/dns_records/batch`, { posts });
  }
  return (batches * 1000) / ((performance.now() - began) / 1000);
}

/** Records a second into the database, from one zone file; `pdnsutil load-zone` for comparison. */
export async function measureLoading(directory: string, names: number, withPowerDns: boolean): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'loading-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, names);
  const records = Math.round(names * 1.7) + 14;
  const env = { ZONEPLANE_DATA_DIR: join(own, 'data'), ZONEPLANE_LOG_LEVEL: 'error' };
  const ours = run(
    process.execPath,
    [PROGRAM, 'zone', 'import', '--init', '--replace', zoneFile, '--origin', ZONE],
    env,
  );
  const figures: Record<string, number> = {
    'zone file, MB': statSync(zoneFile).size / 1e6,
    'records/s, zoneplane zone import': records / (ours / 1000),
  };
  if (withPowerDns) {
    const config = join(own, 'pdns');
    mkdirSync(config);
    const database = join(own, 'pdns.sqlite');
    run('sh', ['-c', `sqlite3 "${database}" < /usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql`]);
    writeFileSync(join(config, 'pdns.conf'), `launch=gsqlite3\ngsqlite3-database=${database}\n`);
    const theirs = run('pdnsutil', ['--config-dir', config, 'load-zone', ZONE, zoneFile]);
    figures['records/s, pdnsutil load-zone'] = records / (theirs / 1000);
    figures['ours/its records/s'] = theirs / ours;
  }
  return figures;
}
