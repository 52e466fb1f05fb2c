#!/usr/bin/env node
/** The program: command line in, exit code out. The only file that ends the process. */
import { fileURLToPath } from 'node:url';
import { messageOf } from './base/errors.js';
import { explainFileFailure } from './base/file-failure.js';
import { runtimeComplaint } from './base/runtime.js';

const complaint = runtimeComplaint(process.version);
if (complaint !== undefined) {
  process.stderr.write(`${complaint}\n`);
  process.exit(1);
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`zone export … | head`) is not a fault.
  if (error.code === 'EPIPE') process.exit(0);
  // The terminal has closed; a server that ends because of that finishes its work.
  if (error.code === 'EIO') return;
  process.stderr.write(`zoneplane: ${messageOf(explainFileFailure(error, 'standard output'))}\n`);
  process.exit(1);
});
// Messages are lost then, but the exit code still tells whether the command succeeded.
process.stderr.on('error', () => {});

// Loaded only now: it loads native code, which crashes on a Node.js that is too old.
const { runCommandLine } = await import('./cli/program.js');
const typed = process.argv.slice(2);
const exitCode = await runCommandLine({
  arguments: typed.length === 0 ? ['serve'] : typed,
  program: fileURLToPath(import.meta.url),
  environment: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
});
// A pipe holds little: the rest of the output is written only as its reader reads.
for (const stream of [process.stdout, process.stderr]) {
  await new Promise<void>((resolve) => stream.write('', () => resolve()));
}
process.exit(exitCode);
