/** Commands as tests run them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { runCommandLine } from '../../src/cli/program.js';
import { ENVIRONMENT } from './environment.js';

/** The program's entry; tests run from the root of the project. */
export const PROGRAM = resolve('build/src/main.js');

export interface Outcome {
  /** The exit code. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command in this process, with exactly this environment. */
export async function runCommand(environment: Record<string, string>, ...args: readonly string[]): Promise<Outcome> {
  let out = '';
  let err = '';
  const code = await runCommandLine({
    arguments: args,
    program: PROGRAM,
    environment,
    stdout: { write: (text) => (out += text) },
    stderr: { write: (text) => (err += text) },
  });
  return { code, out, err };
}

/** Runs a command as a process of its own, with the path and this environment; `input` is its standard input. */
export async function spawnCommand(
  environment: Record<string, string>,
  args: readonly string[],
  input = '',
): Promise<Outcome> {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { ...ENVIRONMENT, ...environment } });
  let out = '';
  let err = '';
  child.stdout.on('data', (piece: Buffer) => (out += piece));
  child.stderr.on('data', (piece: Buffer) => (err += piece));
  // A command that does not read its input may end before it is written.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number];
  return { code, out, err };
}
