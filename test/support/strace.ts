/**
 * Disks that fail, and disks that lose what was not forced to them: strace injects errors into the system calls of a program by
 * path, and its record of the calls tells what a power failure at any point would have taken back.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Outcome, PROGRAM } from './commands.js';

function mayTrace(): boolean {
  return spawnSync('strace', ['-f', '-o', '/dev/null', 'true']).status === 0;
}

/** Why such tests are skipped; false where they run. */
export const skipWithoutStrace =
  process.env['CI'] === 'true' || mayTrace() ? false : 'strace is not installed, or this process may trace nothing';

/** Calls on a file that fail, such as `pread64:error=EIO`. */
export interface Fault {
  readonly path: string | readonly string[];
  readonly inject: string;
}

const callsOf = ({ inject }: Fault): string => inject.slice(0, inject.indexOf(':'));

function faultArguments(fault: Fault): string[] {
  const paths = [fault.path].flat().flatMap((path) => ['-P', path]);
  return ['-f', '-qq', ...paths, '-e', `trace=${callsOf(fault)}`, '-e', `inject=${fault.inject}`];
}

/** Runs a command of the program under strace. */
async function runTraced(
  options: readonly string[],
  environment: Record<string, string>,
  args: readonly string[],
  endAt?: string,
): Promise<Outcome> {
  const child = spawn('strace', [...options, process.execPath, PROGRAM, ...args], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: endAt !== undefined,
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (piece: Buffer) => {
    out += piece;
    if (endAt !== undefined && out.includes(endAt) && child.exitCode === null) process.kill(-child.pid!, 'SIGTERM');
  });
  child.stderr.on('data', (piece: Buffer) => (err += piece));
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}

/** Runs a command while calls on a file fail. */
export function runWithFault(
  fault: Fault,
  environment: Record<string, string>,
  ...args: readonly string[]
): Promise<Outcome> {
  return runTraced([...faultArguments(fault), '-o', '/dev/null'], environment, args);
}

/** Lets calls of a running process on a file fail; the returned function ends that. */
export function injectInto(pid: number, fault: Fault): Promise<(signal?: 'SIGKILL') => Promise<void>> {
  // Nobody reads what it says of each call: it would wait for that, and the process for it.
  return attach(pid, [...faultArguments(fault), '-o', '/dev/null']);
}

/** Notes the calls of a running process on a file, in their order; the returned function ends that and gives their names. */
export async function watchCalls(pid: number, path: string, calls: string): Promise<() => Promise<string[]>> {
  const trace = join(tmpdir(), `zoneplane-trace-${process.pid}-${++traces}`);
  const end = await attach(pid, ['-f', '-qq', '-P', path, '-e', `trace=${calls}`, '-o', trace]);
  return async () => {
    await end();
    const lines = readFileSync(trace, 'utf8').split('\n');
    rmSync(trace);
    return lines.flatMap((line) => /^\d+ +(\w+)\(/.exec(line)?.[1] ?? []);
  };
}

/** With SIGKILL the returned function lets a process go that has ended: strace may wait for its threads for ever. */
async function attach(pid: number, options: readonly string[]): Promise<(signal?: 'SIGKILL') => Promise<void>> {
  const child = spawn('strace', [...options, '-p', String(pid)], { stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = once(child, 'exit');
  // Without -qq it would say when it is attached; /proc says it, too.
  for (let look = 0; look < 500; look++) {
    if (/^TracerPid:\t[1-9]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return async (signal) => {
    child.kill(signal ?? 'SIGTERM');
    await ended;
  };
}

const DISK_CALLS =
  'openat,open,creat,write,pwrite64,writev,pwritev,ftruncate,copy_file_range,sendfile,ioctl,fsync,fdatasync,syncfs,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,link,linkat';

let traces = 0;

/** Runs a command, or a server until then, and tells what a power failure takes back at the moment when it prints `said`. */
export async function runAndLosePower(
  environment: Record<string, string>,
  args: readonly string[],
  below: string,
  said: string,
): Promise<Outcome & { readonly lost: readonly string[] }> {
  const trace = join(tmpdir(), `zoneplane-trace-${process.pid}-${++traces}`);
  try {
    const outcome = await runTraced(
      ['-f', '-y', '-qq', '-s', '512', '-e', `trace=${DISK_CALLS}`, '-o', trace],
      environment,
      args,
      args[0] === 'serve' ? said : undefined,
    );
    return { ...outcome, lost: lostAt(readFileSync(trace, 'utf8'), below, said) };
  } finally {
    rmSync(trace, { force: true });
  }
}

/** What a disk model knows: files whose content, and directories whose names, were not forced to the disk yet. */
class Disk {
  private readonly contents = new Set<string>();
  private readonly names = new Map<string, Set<string>>();

  constructor(private readonly below: string) {}

  name(path: string): void {
    if (!path.startsWith(this.below)) return;
    const directory = dirname(path);
    this.names.set(directory, (this.names.get(directory) ?? new Set()).add(path));
  }

  write(path: string): void {
    if (path.startsWith(this.below)) this.contents.add(path);
  }

  sync(path: string): void {
    this.contents.delete(path);
    this.names.delete(path);
  }

  syncAll(): void {
    this.contents.clear();
    this.names.clear();
  }

  forget(path: string): void {
    for (const known of [...this.contents]) if (isWithin(known, path)) this.contents.delete(known);
    for (const [directory, entries] of this.names) {
      if (isWithin(directory, path)) this.names.delete(directory);
      else for (const entry of [...entries]) if (isWithin(entry, path)) entries.delete(entry);
    }
  }

  move(from: string, to: string): void {
    const moved = (path: string): string => (isWithin(path, from) ? to + path.slice(from.length) : path);
    for (const path of [...this.contents]) {
      this.contents.delete(path);
      this.contents.add(moved(path));
    }
    for (const [directory, entries] of [...this.names]) {
      this.names.delete(directory);
      this.names.set(moved(directory), new Set([...entries].filter((entry) => entry !== from).map(moved)));
    }
    this.name(to);
  }

  lost(): string[] {
    const names = [...this.names.values()].flatMap((entries) => [...entries].map((entry) => `name ${entry}`));
    return [...[...this.contents].map((path) => `content ${path}`), ...names].toSorted();
  }
}

const isWithin = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`);

/** The lines of `strace -f`, with calls that were interrupted by those of other threads put together. */
function* wholeCalls(text: string): Generator<string> {
  const begun = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [, pid = '', call = ''] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    const unfinished = / <unfinished \.\.\.>$/.exec(call);
    const resumed = /^<\.\.\. \w+ resumed>/.exec(call);
    if (unfinished) begun.set(pid, call.slice(0, unfinished.index));
    else if (resumed) yield (begun.get(pid) ?? '') + call.slice(resumed[0].length);
    else yield call;
  }
}

function lostAt(text: string, below: string, said: string): readonly string[] {
  const disk = new Disk(below);
  const known = new Set<string>();
  for (const call of wholeCalls(text)) {
    const [, name = ''] = /^(\w+)\(/.exec(call) ?? [];
    if (/= -1 E/.test(call)) continue;
    const paths = [...call.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, path]) => path!);
    const descriptors = [...call.matchAll(/\d+<(\/[^>]*)>/g)].map(([, path]) => path!);
    if (name === 'write' && call.includes(said) && !descriptors[0]?.startsWith(below)) return disk.lost();
    follow(disk, known, { name, call, paths, descriptors });
  }
  return [`it never said ${said}`];
}

interface Call {
  readonly name: string;
  readonly call: string;
  readonly paths: readonly string[];
  readonly descriptors: readonly string[];
}

function follow(disk: Disk, known: Set<string>, { name, call, paths, descriptors }: Call): void {
  const [first, second] = paths;
  if (/^(open|openat|creat)$/.test(name)) {
    const path = descriptors.at(-1);
    if (path === undefined || known.has(path) || !(name === 'creat' || call.includes('O_CREAT'))) return;
    known.add(path);
    disk.name(path);
    if (call.includes('O_TRUNC')) disk.write(path);
  } else if (/^(write|pwrite64|writev|pwritev|ftruncate)$/.test(name)) disk.write(descriptors[0] ?? '');
  else if (name === 'ioctl') {
    if (call.includes('FICLONE')) disk.write(descriptors[0] ?? '');
  } else if (name === 'copy_file_range') disk.write(descriptors[1] ?? '');
  else if (name === 'sendfile') disk.write(descriptors[0] ?? '');
  else if (/^(fsync|fdatasync)$/.test(name)) disk.sync(descriptors[0] ?? '');
  else if (name === 'syncfs') disk.syncAll();
  else if (name.startsWith('rename')) {
    disk.move(first!, second!);
    known.add(second!);
    known.delete(first!);
  } else if (name.startsWith('mkdir')) disk.name(first!);
  else if (name.startsWith('link')) disk.name(second!);
  else if (/^(unlink|unlinkat|rmdir)$/.test(name)) {
    disk.forget(first!);
    known.delete(first!);
  }
}
