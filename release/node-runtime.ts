/** The Node.js runtime in the Debian packages, taken from its npm packages. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './programs.js';

const NODE_VERSION = '24.21.0';

/** The sum that the registry published, by the npm name of the architecture. */
const INTEGRITY: Readonly<Record<string, string>> = {
  x64: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  arm64: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
};

/** Unpacks the package in an empty directory and returns its path. */
export function fetchNode(architecture: string, directory: string): string {
  const name = `node-linux-${architecture}`;
  const file = run('npm', ['pack', '--silent', `${name}@${NODE_VERSION}`], { cwd: directory }).trim();
  const sum = createHash('sha512')
    .update(readFileSync(join(directory, file)))
    .digest('base64');
  if (`sha512-${sum}` !== INTEGRITY[architecture])
    throw new Error(`${name}@${NODE_VERSION} has an unexpected sum: ${sum}`);
  run('tar', ['--extract', '--no-same-owner', '--file', file], { cwd: directory });
  return join(directory, 'package');
}
