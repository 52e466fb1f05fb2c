/** What all commands share. */
import { readFileSync } from 'node:fs';
import { Command as Commander } from 'commander';
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

/** Examples as they stand at the end of the help of each command. */
export function example(...commands: readonly string[]): string {
  return `\nExample:\n${commands.map((command) => `  $ ${command}`).join('\n')}`;
}

/** A command of this program, or a group of commands. */
export class Command extends Commander {
  declare readonly commands: readonly Command[];
  declare readonly parent: Command | null;

  override createCommand(name?: string): Command {
    return new Command(name);
  }

  example(...commands: readonly string[]): this {
    return this.addHelpText('after', example(...commands));
  }

  /** `--json`, and the examples. */
  printsJson(...examples: readonly string[]): this {
    return this.option('--json', 'print JSON').example(...examples);
  }
}

/** The version of this program as in package.json, which lies three directories above the compiled file. */
export function readVersion(): string {
  const path = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
