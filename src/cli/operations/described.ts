/**
 * A description of all commands that is read without loading them. The build writes it, because completion scripts are made at each
 * start of a shell, and loading all commands takes several times as long as everything else.
 */

import { existsSync, readFileSync } from 'node:fs';
import type { Command } from '../command.js';

export const DESCRIBED_FILE: URL = new URL('commands.json', import.meta.url);

/** A command with its path, such as `zone import`. */
export interface Described {
  readonly path: readonly string[];
  readonly description: string;
  readonly usage: string;
  /** Commands below it. */
  readonly below: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly { readonly flags: string; readonly long?: string; readonly description: string }[];
  /** Whether zone names follow the path: one, or any number. */
  readonly zones: 'no' | 'one' | 'many';
}

/** The command and all below it, outermost first. */
export function describe(command: Command, path: readonly string[] = []): Described[] {
  const entry: Described = {
    path,
    description: command.description(),
    usage: command.usage(),
    below: command.commands.map((child) => ({ name: child.name(), description: child.description() })),
    options: command.options
      .filter(({ hidden }) => !hidden)
      .map(({ flags, long, description }) => ({ flags, ...(long === undefined ? {} : { long }), description })),
    zones: takesZones(command),
  };
  return [entry, ...command.commands.flatMap((child) => describe(child, [...path, child.name()]))];
}

function takesZones({ registeredArguments: [first] }: Command): Described['zones'] {
  if (first?.name() === 'zone') return 'one';
  return first?.name() === 'zones' ? 'many' : 'no';
}

export function printDescribed(version: string, commands: readonly Described[]): string {
  return JSON.stringify({ version, commands });
}

/** What the build wrote; undefined if it did not, or did for another version. */
export function readDescribed(version: string): Described[] | undefined {
  if (!existsSync(DESCRIBED_FILE)) return undefined;
  const written = JSON.parse(readFileSync(DESCRIBED_FILE, 'utf8')) as { version: string; commands: Described[] };
  return written.version === version ? written.commands : undefined;
}
