/** The real program, which a test starts on its own ports and stops. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { sleep } from '../../src/base/clock.js';
import { ENVIRONMENT } from './environment.js';
import { freePort } from './free-ports.js';

export interface ProgramOptions {
  /** Where its directories are: `data` (or another name) and `zones`, which is made when it is missing. */
  readonly directory: string;
  readonly data?: string;
  /** Key of the first administrator. */
  readonly key?: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Only one of its processes. */
  readonly role?: 'dns' | 'edge';
  /** What it prints when it is to be used; default: that it is ready. */
  readonly said?: string;
  /** In a process group of its own, so that all its processes can be killed at one stroke. */
  readonly detached?: boolean;
  /** Default: that of this version. */
  readonly program?: string | undefined;
}

export interface Program {
  readonly child: ChildProcess;
  readonly dnsPort: number;
  readonly adminPort: number;
  readonly bucketPort: number;
  /** `http://127.0.0.1:…` */
  readonly api: string;
  /** All it has printed up to now. */
  readonly printed: () => string;
}

const PROGRAM = resolve('build/src/main.js');
/** Looks, 20 ms apart. */
const ATTEMPTS = 3000;

/** Resolves when it says that it is ready. Throws with what it printed when it does not come to that. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { directory, data = 'data', key, environment = {}, detached = false, role, said = '"msg":"ready"' } = options;
  const { program = PROGRAM } = options;
  const [dnsPort, bucketPort] = [await freePort(), await freePort()];
  const adminPort = Number(environment['ZONEPLANE_ADMIN_PORT'] ?? (await freePort()));
  mkdirSync(join(directory, 'zones'), { recursive: true });
  const child = spawn(process.execPath, [program, 'serve', ...(role ? ['--role', role] : [])], {
    detached,
    env: {
      ...ENVIRONMENT,
      ZONEPLANE_DATA_DIR: join(directory, data),
      ZONEPLANE_ZONES_DIR: join(directory, 'zones'),
      ZONEPLANE_DNS_HOST: '127.0.0.1',
      ZONEPLANE_DNS_PORT: String(dnsPort),
      ZONEPLANE_DNS_WORKERS: '1',
      ZONEPLANE_ADMIN_PORT: String(adminPort),
      ZONEPLANE_BUCKET_PORT: String(bucketPort),
      ZONEPLANE_RESOLVER_UPSTREAMS: '',
      // Two tests at once would want the same ports.
      ZONEPLANE_EDGE: 'off',
      ZONEPLANE_S3: 'off',
      // Where the other servers of a test are.
      ZONEPLANE_ALLOW_NETWORKS: '127.0.0.0/8,::1/128',
      ...(key !== undefined && { ZONEPLANE_ADMIN_KEY: key }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (piece: Buffer) => (printed += piece));
  for (let attempt = 0; !printed.includes(said); attempt++) {
    if (attempt > ATTEMPTS || child.exitCode !== null) {
      child.kill('SIGKILL');
      throw new Error(`the program did not start: ${printed}`);
    }
    await sleep(20);
  }
  return { child, dnsPort, adminPort, bucketPort, api: `http://127.0.0.1:${adminPort}`, printed: () => printed };
}

/** Resolves with the exit code when it has ended; null after SIGKILL, which goes to its whole group where it has one. */
export async function stopProgram(
  { child }: Pick<Program, 'child'>,
  signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM',
): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, 'exit');
  if (signal === 'SIGKILL') process.kill(-child.pid!, signal);
  else child.kill(signal);
  await ended;
  return child.exitCode;
}

/** The process of a role; undefined where there is none. */
export function childOf(parent: number, role: string): number | undefined {
  return childrenOf(parent, role)[0];
}

/** All processes of a role. */
export function childrenOf(parent: number, role: string): number[] {
  const { stdout } = spawnSync('ps', ['--ppid', String(parent), '-o', 'pid=,args='], { encoding: 'utf8' });
  const lines = stdout.split('\n').filter((line) => line.includes(`--role ${role}`));
  return lines.map((line) => Number(line.trim().split(' ')[0]));
}
