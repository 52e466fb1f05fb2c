/** What all commands share. */
import { readFileSync } from 'node:fs';
import type { Terminal } from './terminal.js';

/** What a command is given beside its arguments. */
export interface CommandContext {
  readonly terminal: Terminal;
  readonly environment: NodeJS.ProcessEnv;
  /** The program's entry, a JavaScript file. */
  readonly program: string;
  readonly version: string;
  /** Standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Columns of that terminal, or what is usual. */
  readonly width: number;
}

/** The example that ends each command's help. */
export function example(...commands: readonly string[]): string {
  return `\nExample:\n${commands.map((command) => `  $ ${command}`).join('\n')}`;
}

/** The version of this program as in package.json, which lies three directories above the compiled file. */
export function readVersion(): string {
  const path = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
