/**
 * Sources of zone text: files in chunks, text in memory, and the files named by $INCLUDE, which must be inside one
 * directory.
 */
import { closeSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { basename, isAbsolute, resolve, sep } from 'node:path';
import { messageOf, UserError } from '../../base/errors.js';
import { explainFileFailure } from '../../base/file-failure.js';
import { parseName, printName } from '../name.js';
import { PresentationError, type Token } from '../presentation.js';
import { createLexer, type Entry } from './lexer.js';

/** All words of a chunk are objects at once: of a larger one, they would outlive the collections of young garbage, and be copied. */
const CHUNK = 1 << 15;
const MAX_INCLUDE_DEPTH = 10;
/** Octets that are examined to detect the zone of a file. */
const OCTETS_FOR_ORIGIN = 1 << 20;

/** A zone as the path of a file, or as text. */
export type ZoneText = { readonly file: string } | { readonly text: string | Uint8Array };

/** The position of an $INCLUDE: its depth and the including files. */
export interface IncludePlace {
  readonly depth: number;
  /** Real paths of the files that are being read, outermost first. */
  readonly ancestors: readonly string[];
}

export interface IncludedFile {
  /** The path for messages. */
  readonly file: string;
  /** The path to open. It contains no symbolic links, so the checked file is the one that is opened. */
  readonly realPath: string;
  readonly origin: Uint8Array | undefined;
}

/** The path of a file without symbolic links, for detecting loops; undefined for text and pipes. */
export function realPathOf(source: ZoneText): string | undefined {
  if ('text' in source) return undefined;
  try {
    return realpathSync(source.file);
  } catch {
    // A pipe has no such path; an unreadable file is reported when it is opened.
    return undefined;
  }
}

/** The octets of a zone file or text in chunks; each chunk is valid until the next. Throws UserError. */
export function* readChunks(source: ZoneText): Generator<Uint8Array> {
  if ('text' in source) {
    // Text from the API is UTF-8; the octets of a file are used unchanged.
    const octets = typeof source.text === 'string' ? Buffer.from(source.text, 'utf8') : source.text;
    for (let at = 0; at < octets.length; at += CHUNK) yield octets.subarray(at, at + CHUNK);
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
  const known = explainFileFailure(error, file);
  if (!(known instanceof UserError)) throw error;
  return new UserError(`The zone file ${known.message}`, 'Check the path and its mode.');
}

/** Resolves the file of an $INCLUDE. Throws PresentationError when it may not be read. */
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
  // Symbolic links are resolved before the check, so that no link leads out of the directory.
  if (!realPath.startsWith(inside.endsWith(sep) ? inside : inside + sep))
    throw fail('$INCLUDE leads out of the directory of the zone file');
  if (place.ancestors.includes(realPath)) throw fail('$INCLUDE of a file that is already being read');
  // Reading a device or a pipe might never end.
  if (!statSync(realPath, { throwIfNoEntry: false })?.isFile()) throw fail('$INCLUDE of something that is not a file');
  return { file, realPath, origin };
}

/** The comment at the head of a v4 export (v4: §7.2). */
const EXPORT_HEAD = /^(?:;.*\r?\n|[ \t]*\r?\n)*?;;[ \t]*Domain:[ \t]+(\S+)/;
const OCTETS_FOR_EXPORT_HEAD = 4096;

/** The zone that a v4 export says it holds; undefined for other files, and for what can be read only once. */
export function exportedZone(source: ZoneText): Uint8Array | undefined {
  if ('file' in source && statSync(source.file, { throwIfNoEntry: false })?.isFile() !== true) return undefined;
  for (const chunk of readChunks(source)) {
    const head = Buffer.from(chunk.subarray(0, OCTETS_FOR_EXPORT_HEAD)).toString('latin1');
    const name = EXPORT_HEAD.exec(head)?.[1];
    return name === undefined ? undefined : tryName(name.endsWith('.') ? name : `${name}.`, undefined);
  }
  return undefined;
}

/**
 * The zone a file or text holds: what the head of an export says, else the owner of its SOA, else its first $ORIGIN, else (for
 * files) the name of the file without
 * `.zone`, `.db` or a leading `db.`. Undefined when none of these is there.
 */
export function detectOrigin(source: ZoneText): Uint8Array | undefined {
  return statedOrigin(source) ?? ('file' in source ? originOfFileName(source.file) : undefined);
}

/** The zone that the text itself says it is; undefined when at most the name of its file tells. */
export function statedOrigin(source: ZoneText): Uint8Array | undefined {
  const exported = exportedZone(source);
  if (exported) return exported;
  const lexer = createLexer(false);
  const head: HeadOfFile = { origin: undefined, owner: undefined };
  let seen = 0;
  for (const chunk of readChunks(source)) {
    for (const entry of lexer.feed(chunk)) if (findApex(entry, head)) return head.owner;
    seen += chunk.length;
    if (seen >= OCTETS_FOR_ORIGIN) break;
  }
  for (const entry of lexer.end()) if (findApex(entry, head)) return head.owner;
  return head.origin;
}

interface HeadOfFile {
  origin: Uint8Array | undefined;
  /** The owner of the last record. */
  owner: Uint8Array | undefined;
}

/** Whether the entry is an SOA with a known owner. */
function findApex({ tokens, leadingBlank }: Entry, head: HeadOfFile): boolean {
  const [first, second] = tokens;
  if (!first) return false;
  if (!leadingBlank && first.text.startsWith('$')) {
    if (first.text.toUpperCase() === '$ORIGIN' && second) head.origin = tryName(second.text, head.origin);
    return false;
  }
  if (!leadingBlank) head.owner = tryName(first.text, head.origin);
  const type = tokens.slice(leadingBlank ? 0 : 1).find(({ text }) => !/^(?:\d.*|IN|CLASS1)$/i.test(text));
  return head.owner !== undefined && type?.quoted === false && /^(?:SOA|TYPE6)$/i.test(type.text);
}

function tryName(text: string, origin: Uint8Array | undefined): Uint8Array | undefined {
  try {
    return parseName(text, origin);
  } catch {
    // An invalid or relative name does not help here; the parser reports it.
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
