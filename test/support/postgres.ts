/** A PostgreSQL server of a test: Debian's, in a temporary directory, on a free port of this machine. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { freePort } from './free-ports.js';
import { until } from './until.js';

const VERSIONS = '/usr/lib/postgresql';

/** The directory of its programs; undefined where it is not installed. */
function findPrograms(): string | undefined {
  if (!existsSync(VERSIONS)) return undefined;
  const [newest] = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a));
  const directory = newest && join(VERSIONS, newest, 'bin');
  return directory && existsSync(join(directory, 'initdb')) ? directory : undefined;
}

const programs = findPrograms();

/** Why tests with PostgreSQL are skipped; false where they run. With CI=true they are never skipped. */
export const skipWithoutPostgres =
  programs === undefined && process.env['CI'] !== 'true'
    ? 'PostgreSQL is not installed (apt install postgresql)'
    : false;

export interface Postgres {
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  /** Starts it again after a stop, and waits until it answers. */
  start(): Promise<void>;
  /** `SIGKILL`: it crashes. `SIGINT`: it ends its connections. `SIGSTOP` and `SIGCONT`: it hangs, and goes on. */
  signal(signal: 'SIGKILL' | 'SIGINT' | 'SIGSTOP' | 'SIGCONT'): Promise<void>;
  query(text: string): Promise<Record<string, unknown>[]>;
  /** A standby of this server, which it waits for before it acknowledges anything. */
  addStandby(): Promise<Postgres>;
  promote(): void;
}

/** PostgreSQL refuses to run as root. */
function command(program: string, args: readonly string[]): [string, string[]] {
  const path = join(programs ?? VERSIONS, program);
  if (process.getuid?.() !== 0) return [path, [...args]];
  return ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', path, ...args]];
}

function run(program: string, ...args: readonly string[]): void {
  const [path, all] = command(program, args);
  execFileSync(path, all, { stdio: 'pipe', cwd: '/' });
}

/** A directory of the user as whom servers run. */
export function makeServerDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-postgres-'));
  if (process.getuid?.() === 0) {
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(execFileSync('id', [flag, 'postgres'])));
    chownSync(directory, uid!, gid!);
  }
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Starts a new server; it ends with the test. */
export async function startPostgres(t: Test): Promise<Postgres> {
  const directory = makeServerDirectory(t);
  run(
    'initdb',
    '-D',
    join(directory, 'data'),
    '-U',
    'zoneplane',
    '-A',
    'trust',
    '--no-sync',
    '-E',
    'UTF8',
    '--locale=C',
  );
  return serve(t, directory);
}

async function serve(t: Test, directory: string): Promise<Postgres> {
  const port = await freePort();
  const data = join(directory, 'data');
  // The kernel keeps what a killed process has written: only a machine that fails needs fsync.
  const settings = { listen_addresses: '127.0.0.1', fsync: 'off', shared_buffers: '16MB', max_connections: '60' };
  let child: ChildProcess | undefined;
  const postgres: Postgres = {
    port,
    directory,
    url: `postgresql://zoneplane@127.0.0.1:${port}/postgres`,
    async start() {
      const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
      const [path, args] = command('postgres', ['-D', data, '-p', String(port), '-k', directory, ...options]);
      for (let attempt = 0; ; attempt++) {
        child = spawn(path, args, { stdio: 'ignore', cwd: '/' });
        if (await answers(child, port)) return;
        // Processes of a server that was killed need a moment to notice it.
        if (attempt === 150) throw new Error('PostgreSQL does not start');
        await sleep(200);
      }
    },
    async signal(signal) {
      const stopped = child!;
      if (signal === 'SIGSTOP' || signal === 'SIGCONT') {
        for (const pid of [stopped.pid!, ...childrenOf(stopped.pid!)]) process.kill(pid, signal);
        return;
      }
      if (stopped.exitCode !== null || stopped.signalCode !== null) return;
      const ended = once(stopped, 'exit');
      const children = signal === 'SIGKILL' ? childrenOf(stopped.pid!) : [];
      stopped.kill(signal);
      for (const pid of children) killQuietly(pid);
      await ended;
    },
    async query(text) {
      const client = new pg.Client(postgres.url);
      await client.connect();
      try {
        return (await client.query(text)).rows as Record<string, unknown>[];
      } finally {
        await client.end();
      }
    },
    async addStandby() {
      const second = makeServerDirectory(t);
      const target = join(second, 'data');
      run('pg_basebackup', '-d', postgres.url, '-D', target, '-R', '--no-sync', '-c', 'fast');
      appendFileSync(
        join(target, 'postgresql.auto.conf'),
        `primary_conninfo = 'host=127.0.0.1 port=${port} user=zoneplane application_name=second'\n`,
      );
      return serve(t, second);
    },
    promote: () => run('pg_ctl', '-D', data, 'promote'),
  };
  t.teardown(() => postgres.signal('SIGKILL'));
  await postgres.start();
  return postgres;
}

function childrenOf(pid: number): number[] {
  const text = execFileSync('ps', ['-eo', 'pid=,ppid=']).toString();
  return text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([own, parent]) => (parent === pid ? [own!] : []));
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended already.
  }
}

async function answers(child: ChildProcess, port: number): Promise<boolean> {
  for (let look = 0; look < 3000 && child.exitCode === null && child.signalCode === null; look++) {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'zoneplane', database: 'postgres' });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      await sleep(20);
    }
  }
  return false;
}

/** A standby that has every transaction before it is acknowledged. */
export async function addSynchronousStandby(postgres: Postgres): Promise<Postgres> {
  const standby = await postgres.addStandby();
  await postgres.query("ALTER SYSTEM SET synchronous_standby_names = 'second'");
  await postgres.query('SELECT pg_reload_conf()');
  await until(async () => {
    const [row] = await postgres.query('SELECT sync_state FROM pg_stat_replication');
    return row?.['sync_state'] === 'sync';
  });
  return standby;
}
