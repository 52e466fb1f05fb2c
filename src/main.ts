#!/usr/bin/env node
/** The program: command line in, exit code out. The only file that ends the process. */
import { fileURLToPath } from 'node:url';
import { runtimeComplaint } from './base/runtime.js';

const complaint = runtimeComplaint(process.version);
if (complaint !== undefined) {
  process.stderr.write(`${complaint}\n`);
  process.exit(1);
}

// A reader that has seen enough (`zone export … | head`) is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

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
process.exit(exitCode);
