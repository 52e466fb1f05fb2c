/** The version of this program, from its package. */
import { readFileSync } from 'node:fs';

/** As in package.json, which lies three directories above the compiled file. */
export function readVersion(): string {
  const path = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
