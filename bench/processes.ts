/** Starts servers for a measurement, and reads the processor time and memory of a whole process tree from /proc. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Clock ticks a second; what sysconf(_SC_CLK_TCK) says on every Linux. */
const TICKS = 100;
const PAGE_OCTETS = 4096;
/** A server that has not ended by itself after that is killed. Its children may answer for a moment longer then. */
const STOP_LIMIT_MS = 20_000;

export interface Started {
  readonly name: string;
  readonly port: number;
  readonly process: ChildProcess;
  /** Milliseconds from start to the first answer. */
  readonly startMs: number;
}

/** Starts a server and waits until it answers a question. Throws with what it printed when it does not. */
export async function start(
  name: string,
  command: readonly string[],
  port: number,
  question: string,
  options: { readonly cpu?: number; readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {},
): Promise<Started> {
  const pinned = options.cpu === undefined ? [...command] : ['taskset', '-c', String(options.cpu), ...command];
  const began = performance.now();
  const child = spawn(pinned[0]!, pinned.slice(1), {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  let printed = '';
  const keep = (chunk: Buffer): void => {
    if (printed.length < 4000) printed += chunk.toString();
  };
  child.stdout!.on('data', keep);
  child.stderr!.on('data', keep);
  for (let attempt = 0; attempt < 2400; attempt++) {
    if (child.exitCode !== null || child.signalCode !== null) break;
    if (await answers(port, question)) {
      return { name, port, process: child, startMs: performance.now() - began };
    }
    await sleep(25);
  }
  const ended = child.signalCode === null ? '' : ` (ended by ${child.signalCode})`;
  child.kill('SIGKILL');
  throw new Error(`${name} does not answer on port ${port}${ended}: ${printed}`);
}

export async function stop(started: Started): Promise<void> {
  if (started.process.exitCode !== null) return;
  const ended = new Promise((resolve) => started.process.once('exit', resolve));
  started.process.kill('SIGTERM');
  await Promise.race([ended, sleep(STOP_LIMIT_MS)]);
  if (started.process.exitCode === null) started.process.kill('SIGKILL');
}

/** Whether a question for an A record is answered with NOERROR in time. */
export function answers(port: number, name: string, limitMs = 300): Promise<boolean> {
  const labels = name.split('.').filter((label) => label !== '');
  const wire = Buffer.concat([
    ...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label)])),
    Buffer.from([0]),
  ]);
  const request = Buffer.concat([Buffer.from([1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), wire, Buffer.from([0, 1, 0, 1])]);
  const socket = createSocket('udp4');
  return new Promise((resolve) => {
    const finish = (answer: boolean): void => {
      clearTimeout(timer);
      socket.close();
      resolve(answer);
    };
    const timer = setTimeout(() => finish(false), limitMs);
    socket.once('message', (message) => finish((message[3]! & 15) === 0));
    socket.once('error', () => finish(false));
    socket.send(request, port, '127.0.0.1');
  });
}

/** The process and all below it. */
function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const parent = statOf(Number(entry))?.parent;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(entry)]);
  }
  const tree = [root];
  for (let i = 0; i < tree.length; i++) tree.push(...(children.get(tree[i]!) ?? []));
  return tree;
}

function statOf(pid: number): { parent: number; cpuSeconds: number; rssOctets: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    // It ended between the listing and the look.
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return {
    parent: Number(fields[1]),
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / TICKS,
    rssOctets: Number(fields[21]) * PAGE_OCTETS,
  };
}

/** User and system seconds of one process so far. */
export function cpuSecondsOf(pid: number): number {
  return statOf(pid)?.cpuSeconds ?? 0;
}

/** User and system seconds of the tree so far. */
export function cpuSeconds(started: Started): number {
  return treeOf(started.process.pid!).reduce((sum, pid) => sum + (statOf(pid)?.cpuSeconds ?? 0), 0);
}

/** Milliseconds between two looks, the most that a quiet tree takes meanwhile, looks that must be quiet, and looks at all. */
const LOOK_MS = 500;
const QUIET_S = 0.02;
const QUIET_LOOKS = 6;
const MOST_LOOKS = 120;

/** Resolves when the tree does nothing: spare processes begin in the seconds after a start, and again after a restart. */
export async function untilQuiet(started: Started): Promise<void> {
  let last = cpuSeconds(started);
  for (let look = 0, quiet = 0; look < MOST_LOOKS && quiet < QUIET_LOOKS; look++) {
    await sleep(LOOK_MS);
    const now = cpuSeconds(started);
    quiet = now - last <= QUIET_S ? quiet + 1 : 0;
    last = now;
  }
}

/** Memory of the tree without counting shared pages twice (PSS), octets. */
export function memoryOctets(started: Started): number {
  return treeOf(started.process.pid!).reduce((sum, pid) => sum + proportionalOctets(pid), 0);
}

/** Memory of one process. */
export function proportionalOctets(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1024;
  } catch {
    return statOf(pid)?.rssOctets ?? 0;
  }
}

/** The processes of one `serve` by their roles. */
export function childrenOf(supervisor: number): { readonly admin: number; readonly dns: number } {
  const children = readFileSync(`/proc/${supervisor}/task/${supervisor}/children`, 'latin1').trim().split(' ');
  const ofRole = (role: string): number => {
    const found = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(`--role\0${role}`));
    if (found === undefined) throw new Error(`no process of the role ${role} is below ${supervisor}`);
    return Number(found);
  };
  return { admin: ofRole('admin'), dns: ofRole('dns') };
}

/** Milliseconds that the main threads of these processes have used; on a busy machine they say more than the clock. */
export function mainThreadMs(processes: readonly number[]): number {
  return processes.reduce((sum, pid) => sum + nanosecondsOf(pid) / 1e6, 0);
}

/** The same for all their present threads. */
export function allThreadsMs(processes: readonly number[]): number {
  return processes.reduce((sum, pid) => {
    const threads = readdirSync(`/proc/${pid}/task`).map(Number);
    return sum + threads.reduce((all, thread) => all + nanosecondsOf(pid, thread) / 1e6, 0);
  }, 0);
}

function nanosecondsOf(pid: number, thread = pid): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]);
  } catch {
    // A command that has ended.
    return 0;
  }
}
