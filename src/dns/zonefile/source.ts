/** Where zone text comes from: files in chunks, text in memory, and the files that $INCLUDE names, kept inside one directory. */
import { closeSync, openSync, readSync, realpathSync } from 'node:fs';
import { basename, isAbsolute, resolve, sep } from 'node:path';
import { messageOf, UserError } from '../../base/errors.js';
import { parseName, printName } from '../name.js';
import { PresentationError, type Token } from '../presentation.js';
import { createLexer, type Entry } from './lexer.js';

const CHUNK = 1 << 18;
const MAX_INCLUDE_DEPTH = 10;
/** Entries looked at to find out which zone a file holds. */
const ENTRIES_FOR_ORIGIN = 200;

/** A zone by the path of its file, or as text. */
export type ZoneText = { readonly file: string } | { readonly text: string | Uint8Array };

/** Where an $INCLUDE stands: how deep, and in which files. */
export interface IncludePlace {
  readonly depth: number;
  /** Real paths of the files being read, outermost first. */
  readonly ancestors: readonly string[];
}

export interface IncludedFile {
  /** To open and to show. */
  readonly file: string;
  readonly realPath: string;
  readonly origin: Uint8Array | undefined;
}

/** The octets of a zone file or text, piece by piece; each piece is valid until the next. Throws UserError. */
export function* readChunks(source: ZoneText): Generator<Uint8Array> {
  if ('text' in source) {
    // Text from the API is UTF-8; octets of a file are taken as they are.
    yield typeof source.text === 'string' ? Buffer.from(source.text, 'utf8') : source.text;
    return;
  }
  const descriptor = open(source.file);
  try {
    const buffer = Buffer.allocUnsafe(CHUNK);
    for (;;) {
      const count = read(descriptor, buffer, source.file);
      if (count === 0) return;
      yield buffer.subarray(0, count);
    }
  } finally {
    closeSync(descriptor);
  }
}

function open(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    throw unreadable(file, error);
  }
}

function read(descriptor: number, buffer: Buffer, file: string): number {
  try {
    return readSync(descriptor, buffer);
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): UserError {
  return new UserError(`The zone file ${file} cannot be read: ${messageOf(error)}`, 'Check the path and its mode.');
}

/** Finds the file an $INCLUDE means. Throws PresentationError when it may not be read. */
export function includeFile(
  token: Token,
  origin: Uint8Array | undefined,
  directory: string | undefined,
  place: IncludePlace,
): IncludedFile {
  const fail = (message: string): PresentationError =>
    new PresentationError(message, token.line, token.column, token.text);
  if (directory === undefined) throw fail('$INCLUDE directive not allowed');
  if (place.depth >= MAX_INCLUDE_DEPTH) throw fail(`$INCLUDE nested deeper than ${MAX_INCLUDE_DEPTH}`);
  if (token.text.includes('\0')) throw fail('bad file name');
  const file = isAbsolute(token.text) ? token.text : resolve(directory, token.text);
  let realPath: string;
  let inside: string;
  try {
    inside = realpathSync(directory);
    realPath = realpathSync(file);
  } catch (error) {
    throw fail(`$INCLUDE cannot be read: ${messageOf(error)}`);
  }
  // Links are followed before the test, so that none leads out.
  if (!realPath.startsWith(inside.endsWith(sep) ? inside : inside + sep))
    throw fail('$INCLUDE leads out of the directory of the zone file');
  if (place.ancestors.includes(realPath)) throw fail('$INCLUDE of a file that is being read');
  return { file, realPath, origin };
}

/**
 * The zone a file or text holds: the owner of its SOA, else its first $ORIGIN, else (for files) the name of the file without
 * `.zone`, `.db` or a leading `db.`. Undefined when nothing tells.
 */
export function detectOrigin(source: ZoneText): Uint8Array | undefined {
  const lexer = createLexer(false);
  let origin: Uint8Array | undefined;
  let seen = 0;
  for (const chunk of readChunks(source)) {
    for (const entry of lexer.feed(chunk)) {
      const found = originOf(entry, origin);
      if (found?.apex) return found.apex;
      origin = found?.origin ?? origin;
    }
    seen += chunk.length;
    if (seen > ENTRIES_FOR_ORIGIN * 4096) break;
  }
  for (const entry of lexer.end()) {
    const found = originOf(entry, origin);
    if (found?.apex) return found.apex;
    origin = found?.origin ?? origin;
  }
  return origin ?? ('file' in source ? originOfFileName(source.file) : undefined);
}

function originOf(
  entry: Entry,
  origin: Uint8Array | undefined,
): { apex?: Uint8Array; origin?: Uint8Array } | undefined {
  const [first, second] = entry.tokens;
  if (!first) return undefined;
  if (first.text.toUpperCase() === '$ORIGIN' && second) return optional('origin', tryName(second.text, origin));
  const isSoa = entry.tokens
    .slice(entry.leadingBlank ? 0 : 1, 4)
    .some(({ text, quoted }) => !quoted && text.toUpperCase() === 'SOA');
  if (!isSoa) return undefined;
  return optional('apex', entry.leadingBlank ? origin : tryName(first.text, origin));
}

function optional<Key extends 'apex' | 'origin'>(key: Key, name: Uint8Array | undefined): { [K in Key]?: Uint8Array } {
  return (name === undefined ? {} : { [key]: name }) as { [K in Key]?: Uint8Array };
}

function tryName(text: string, origin: Uint8Array | undefined): Uint8Array | undefined {
  try {
    return parseName(text, origin);
  } catch {
    // A bad or relative name tells nothing; the parser reports it.
    return undefined;
  }
}

function originOfFileName(file: string): Uint8Array | undefined {
  const name = basename(file)
    .replace(/^db\./, '')
    .replace(/\.(zone|db|zonefile)$/, '');
  if (!/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+$/.test(name)) return undefined;
  const origin = tryName(`${name}.`, undefined);
  return origin && printName(origin) !== '.' ? origin : undefined;
}
