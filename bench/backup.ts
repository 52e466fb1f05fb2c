/**
 * Backups and restorations compared with `cp` of the same octets, and their verification with `sha256sum`; DNS latency and propagation beside them.
 * One record in ten names has an object, half of which are files.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { SystemClock } from '../src/base/clock.js';
import { silentLogger } from '../src/base/log.js';
import { systemRandom } from '../src/base/random.js';
import { createLocalStore } from '../src/bucket/local-store.js';
import { openStore } from '../src/store/driver.js';
import { allBuckets } from '../src/store/objects/buckets.js';
import { atOnce } from './at-once.js';
import { askWhile, isAnswered, named, spreadOf } from './latency.js';
import { median } from './median.js';
import { run } from './peers.js';
import { stop } from './processes.js';
import { dataDirectoryOf, environmentOf, PROGRAM, type Running, startAgain, startProgram } from './program.js';
import { writeZone, ZONE } from './workload.js';
import type { Figures } from './writes.js';

const ROUNDS = 3;
/** Octets of bodies: in the database, and as files. */
const SIZES = [4 << 10, 80 << 10] as const;
const AT_ONCE = 16;
const CHANGES = 200;

export async function measureBackups(directory: string, names: number, port: number): Promise<Figures> {
  const own = mkdtempSync(join(directory, 'backup-'));
  const zoneFile = join(own, 'zone');
  await writeZone(zoneFile, names);
  const first = await startProgram(own, zoneFile, port);
  first.api.close();
  await stop(first.server);
  rmSync(zoneFile);
  const env = environmentOf(own, port, {});
  run(process.execPath, [PROGRAM, 'bucket', 'create', 'bench'], env);
  await fill(dataDirectoryOf(own), Math.ceil(names / 10));
  const running = await startAgain(own, port, {});
  try {
    const figures = compare(own, env);
    // The server has closed the connection that was idle meanwhile.
    await sleep(1000);
    return { ...figures, ...(await beside(running, own, env, port)) };
  } finally {
    running.api.close();
    await stop(running.server);
  }
}

async function fill(data: string, objects: number): Promise<void> {
  const store = openStore(data, { isCopy: true });
  const own = createLocalStore({ store, clock: new SystemClock(), random: systemRandom, log: silentLogger() });
  const bucket = allBuckets(store)[0]!.seq;
  await atOnce(AT_ONCE, objects, (index) => {
    const body = Buffer.from(systemRandom.bytes(SIZES[index % SIZES.length]!));
    return own.put(bucket, `object-${index}`, Readable.from([body]), { httpMetadata: {}, limit: 1 << 20 });
  });
  store.checkpoint();
  store.close();
}

const seconds = (work: () => void): number => {
  const startMs = performance.now();
  work();
  return (performance.now() - startMs) / 1000;
};

/** Medians of rounds, all of which are interleaved. `cp` also with the octets forced to the disk, as a backup has them. */
function compare(own: string, env: Readonly<Record<string, string>>): Record<string, number> {
  const times = { backup: [] as number[], cp: [] as number[], synced: [] as number[], restore: [] as number[] };
  const checks = { verify: [] as number[], sums: [] as number[] };
  let octets = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const file = join(own, `backup-${round}.db`);
    times.backup.push(seconds(() => run(process.execPath, [PROGRAM, 'backup', file], env)));
    const copy = join(own, 'copy');
    const startMs = performance.now();
    run('cp', ['-r', '--reflink=never', file, `${file}.blobs`, `${file}.sha256`, makeDirectory(copy)], env);
    times.cp.push((performance.now() - startMs) / 1000);
    run('sync', [], env);
    times.synced.push((performance.now() - startMs) / 1000);
    checks.verify.push(seconds(() => run(process.execPath, [PROGRAM, 'backup', 'verify', file], env)));
    checks.sums.push(
      seconds(() => run('sh', ['-c', 'cd "$1" && sha256sum --check --quiet "$2"', 'sh', own, `${file}.sha256`], env)),
    );
    const restored = join(own, 'restored');
    const there = { ...env, ZONEPLANE_DATA_DIR: restored };
    times.restore.push(seconds(() => run(process.execPath, [PROGRAM, 'restore', file], there)));
    octets = octetsBelow(`${file}.blobs`) + statSync(file).size;
    for (const path of [restored, copy, file, `${file}.blobs`, `${file}.sha256`]) rmSync(path, { recursive: true });
  }
  const ratio = (one: readonly number[], other: readonly number[]): number =>
    median(one.map((value, index) => value / other[index]!));
  return {
    'octets of the backup, MiB': octets / (1 << 20),
    'backup, s': median(times.backup),
    'cp of the same octets, s': median(times.cp),
    'backup, speed of cp': ratio(times.cp, times.backup),
    'backup, speed of cp and sync': ratio(times.synced, times.backup),
    'restoration, s': median(times.restore),
    'restoration, speed of cp and sync': ratio(times.synced, times.restore),
    'verification, s': median(checks.verify),
    'verification, speed of sha256sum': ratio(checks.sums, checks.verify),
  };
}

function makeDirectory(path: string): string {
  spawnSync('mkdir', [path]);
  return path;
}

function octetsBelow(directory: string): number {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

/** Answers and changes, alone and while one backup follows the other. */
async function beside(
  running: Running,
  own: string,
  env: Readonly<Record<string, string>>,
  port: number,
): Promise<Record<string, number>> {
  let count = 0;
  const backUp = async (): Promise<void> => {
    const file = join(own, `beside-${count++}.db`);
    // As the server makes them, at a lower priority.
    const child = spawn('nice', [process.execPath, PROGRAM, 'backup', file], { env: { ...process.env, ...env } });
    await once(child, 'exit');
    for (const path of [file, `${file}.blobs`, `${file}.sha256`]) rmSync(path, { recursive: true, force: true });
  };
  const figures: Record<string, number> = {};
  const alone = await askWhile(port, async () => {});
  const together = await askWhile(port, backUp);
  Object.assign(figures, named('DNS alone', alone), named('DNS beside backups', together));
  const quiet = spreadOf(await propagate(running, port, 'alone'));
  let isOver = false;
  const backups = (async () => {
    while (!isOver) await backUp();
  })();
  const busy = spreadOf(await propagate(running, port, 'beside'));
  isOver = true;
  await backups;
  return {
    ...figures,
    'propagation alone, p50 ms': quiet.p50,
    'propagation alone, p99 ms': quiet.p99,
    'propagation beside backups, p50 ms': busy.p50,
    'propagation beside backups, p99 ms': busy.p99,
  };
}

/** Milliseconds from the answer of the API until DNS answers the new record. */
async function propagate({ api, zonePath }: Running, port: number, prefix: string): Promise<readonly number[]> {
  const socket = createSocket('udp4');
  const waits: number[] = [];
  try {
    for (let index = 0; index < CHANGES; index++) {
      const name = `${prefix}${index}`;
      await api.call('POST', `${zonePath}/dns_records`, { type: 'A', name, content: '192.0.2.1', ttl: 60 });
      const answeredAt = performance.now();
      while (!(await isAnswered(socket, port, `${name}.${ZONE}`))) await sleep(1);
      waits.push(performance.now() - answeredAt);
      await sleep(20);
    }
  } finally {
    socket.close();
  }
  return waits;
}
