/**
 * Runs test files, each in a process of its own, and prints what they print as one TAP document. `tap` runs them, too, but loads
 * its hooks into each process and into all programs that a test starts, which doubles the time of a start.
 *
 *     node build/test/run.js [--long] [--jobs=N] [FILE…]
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { sleep } from '../src/base/clock.js';

/** For the tests of one file. */
const LIMIT_S = 600;
/** A process that does not end by itself after that. */
const KILL_MS = (LIMIT_S + 30) * 1000;
/** A program that outlives its test may hold the other end of the pipe. */
const LAST_OUTPUT_MS = 10_000;

/**
 * These files take half a minute to two minutes. They come first, so that none of them still runs when all others have ended. If a slow
 * file is missing here, a run takes a little longer.
 */
const LONGEST: readonly string[] = [
  'e2e/cluster',
  'certs/directory',
  'e2e/dashboard/screens',
  'e2e/dashboard/people',
  'e2e/process',
  'e2e/dashboard/records',
  'publish/memory',
  'conformance/differential',
  'e2e/dnssec-kill',
  'e2e/dashboard/actions',
  'e2e/dashboard/transfers',
  'certs/issuance',
  'cli/commands',
  'e2e/dashboard/hostnames',
  'e2e/dashboard/nodes',
  'e2e/dashboard/interruptions',
  'e2e/dashboard/team',
  'e2e/primaries',
  'e2e/bucket',
  'e2e/dashboard/edge',
].map((name) => `build/test/${name}.long.test.js`);
const rankOf = (file: string): number => (LONGEST.includes(file) ? LONGEST.indexOf(file) : LONGEST.length);

const { values, positionals } = parseArgs({
  options: { long: { type: 'boolean', default: false }, jobs: { type: 'string', default: '2' } },
  allowPositionals: true,
});
const isLong = (file: string): boolean => file.endsWith('.long.test.js');
const files =
  positionals.length > 0
    ? positionals
    : globSync('build/test/**/*.test.js')
        .filter((file) => isLong(file) === values.long)
        .sort()
        .sort((one, other) => rankOf(one) - rankOf(other));
/** Lines of the sources in what fails. To read where they are takes a tenth of the time of all tests. */
const sourceLines = positionals.length > 0 ? ['--enable-source-maps'] : [];
const missing = LONGEST.filter((file) => !existsSync(file));
if (missing.length > 0) throw new Error(`named as long, and not there: ${missing.join(', ')}`);

interface Ended {
  readonly printed: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly ms: number;
}

const children = new Set<ReturnType<typeof spawn>>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    for (const child of children) child.kill(signal);
    process.exit(1);
  });
}

function run(file: string): Promise<Ended> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [...sourceLines, file], {
    env: { ...process.env, TAP_TIMEOUT: String(LIMIT_S) },
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: KILL_MS,
    killSignal: 'SIGKILL',
  });
  children.add(child);
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (printed += piece));
  return new Promise((resolve) => {
    child.once('exit', async (code, signal) => {
      children.delete(child);
      if (!child.stdout.closed)
        await Promise.race([new Promise((closed) => child.stdout.once('close', closed)), sleep(LAST_OUTPUT_MS)]);
      resolve({ printed, code, signal, ms: performance.now() - startedMs });
    });
  });
}

const counts = new Map<string, number>();
const add = (name: string, count: number): void => void counts.set(name, (counts.get(name) ?? 0) + count);

/** Adds what the file has counted. Returns whether all of it passed. */
function count({ printed, code, signal }: Ended): boolean {
  const summary = [...printed.matchAll(/^# \{ (total: .*) \}$/gm)].at(-1)?.[1];
  const own = new Map(summary?.split(', ').map((part) => part.split(': ') as [string, string]));
  for (const [name, value] of own) add(name, Number(value));
  if (own.has('fail')) return false;
  if (code === 0 && signal === null && summary !== undefined) return true;
  // It ended before it could count, or after that.
  add('total', 1);
  add('fail', 1);
  return false;
}

/** A test among those of all files. */
function print(file: string, number: number, ended: Ended): void {
  const { printed, code, signal, ms } = ended;
  const lines = printed.split('\n').filter((line) => line !== 'TAP version 14');
  const indented = lines.map((line) => (line === '' ? '' : `    ${line}`)).join('\n');
  const isGood = count(ended);
  const result = `${isGood ? 'ok' : 'not ok'} ${number} - ${file} # time=${Math.round(ms)}ms`;
  const why = isGood ? '' : `  ---\n  exitCode: ${code}\n  signal: ${signal}\n  ...\n`;
  process.stdout.write(`# Subtest: ${file}\n${indented.trimEnd()}\n${result}\n${why}\n`);
}

process.stdout.write(`TAP version 14\n1..${files.length}\n`);
const startedMs = performance.now();
const rest = [...files];
let printedFiles = 0;
const worker = async (): Promise<void> => {
  for (let file = rest.shift(); file !== undefined; file = rest.shift()) print(file, ++printedFiles, await run(file));
};
await Promise.all(Array.from({ length: Number(values.jobs) }, worker));
const summary = [...counts].map(([name, value]) => `${name}: ${value}`).join(', ');
process.stdout.write(`# { ${summary || 'total: 0'} }\n# time=${Math.round(performance.now() - startedMs)}ms\n`);
process.exitCode = files.length > 0 && !counts.has('fail') ? 0 : 1;
