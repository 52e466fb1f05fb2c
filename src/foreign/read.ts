/** Reads the configuration of another name server, whichever it is. */
import { basename } from 'node:path';
import { UserError } from '../base/errors.js';
import { readBind } from './bind/read.js';
import type { Configuration, ProgramName, ReadingOptions } from './configuration.js';
import { readKnot } from './knot/read.js';
import { readNsd } from './nsd/read.js';
import { readPowerDns } from './powerdns/read.js';

const READERS: Readonly<Record<ProgramName, (path: string, options: ReadingOptions) => Configuration>> = {
  bind: readBind,
  nsd: readNsd,
  knot: readKnot,
  powerdns: readPowerDns,
};

const NAMES: readonly (readonly [RegExp, ProgramName])[] = [
  [/^named.*\.conf|\.named$/, 'bind'],
  [/^nsd.*\.conf/, 'nsd'],
  [/^knot.*\.conf/, 'knot'],
  [/^pdns.*\.conf/, 'powerdns'],
];

/** Throws a UserError for a file that cannot be read or is not understood. */
export function readConfiguration(
  path: string,
  { kind, ...options }: ReadingOptions & { readonly kind?: ProgramName | undefined },
): Configuration {
  const program = kind ?? NAMES.find(([pattern]) => pattern.test(basename(path)))?.[1];
  if (!program) {
    throw new UserError(`${path}: its name does not say whose configuration it is`, 'Name the program with --kind.', 2);
  }
  return READERS[program](path, options);
}
