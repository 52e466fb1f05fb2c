/** The Node.js runtime that packages bring, as its npm packages have it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './programs.js';

const NODE_VERSION = '24.21.0';

/** By architecture, as npm calls it: the sum that the registry published. */
const INTEGRITY: Readonly<Record<string, string>> = {
  x64: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  arm64: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};

/** Puts the package into an empty directory, and returns where it is. */
export function fetchNode(architecture: string, directory: string): string {
  const name = `node-linux-${architecture}`;
  const file = run('npm', ['pack', '--silent', `${name}@${NODE_VERSION}`], { cwd: directory }).trim();
  const sum = createHash('sha512')
    .update(readFileSync(join(directory, file)))
    .digest('base64');
  if (`sha512-${sum}` !== INTEGRITY[architecture]) throw new Error(`${name}@${NODE_VERSION} has another sum: ${sum}`);
  run('tar', ['--extract', '--no-same-owner', '--file', file], { cwd: directory });
  return join(directory, 'package');
}
