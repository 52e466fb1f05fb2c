/**
 * Turns the octets of a master file into entries of tokens (RFC 1035 §5.1): parentheses, quotes, escapes, comments,
 * continued lines. The input comes in chunks, so a file is never completely in memory. Octets are literal; there is no
 * character set.
 */
import type { Token } from '../presentation.js';

/** One logical line. */
export interface Entry {
  readonly tokens: readonly Token[];
  /** Whether the line began with blank space: the owner is then that of the previous record (RFC 1035 §5.1). */
  readonly leadingBlank: boolean;
  /** Line of its first token, 1-based. */
  readonly line: number;
  /** Text of the entry's last `;` comment, when comments are kept. */
  readonly comment: string | undefined;
  /** The syntax error of the entry; the tokens are then incomplete. */
  readonly fault: LexicalFault | undefined;
}

export interface LexicalFault {
  readonly message: string;
  readonly line: number;
  readonly column: number;
  readonly text?: string | undefined;
}

export interface Lexer {
  /** Returns the entries that these octets complete. */
  feed(chunk: Uint8Array): Entry[];
  /** Returns the remaining entries at the end of the file. */
  end(): Entry[];
  /** Whether the file began with a byte order mark, which was skipped; known with the first entry. */
  readonly isMarked: boolean;
}

/** A longer entry is refused, in octets; no servable record is as long. */
const MAX_ENTRY_LENGTH = 1 << 20;
/** The largest number of words and strings in an entry; 65535 octets as pairs of hexadecimal digits need fewer. */
const MAX_ENTRY_TOKENS = 1 << 17;

const TAB = 9;
const NEWLINE = 10;
const RETURN = 13;
const SPACE = 32;
const QUOTE = 34;
const OPEN = 40;
const CLOSE = 41;
const SEMICOLON = 59;
const EQUALS = 61;
const BACKSLASH = 92;

/** Octets that end a word. */
const ENDS_WORD = new Uint8Array(256);
for (const octet of [TAB, NEWLINE, RETURN, SPACE, QUOTE, OPEN, CLOSE, SEMICOLON]) ENDS_WORD[octet] = 1;

/** Octets at the beginning of a line that probably continues an entry. */
const CONTINUES = new Uint8Array(256);
for (const octet of [TAB, NEWLINE, RETURN, SPACE, QUOTE, OPEN, CLOSE, SEMICOLON]) CONTINUES[octet] = 1;

/** Octets that are examined to detect what is not text. */
const OCTETS_FOR_FORMAT = 512;
/** How often the lexer may go back to an unclosed parenthesis; each time an entry is read again. */
const MAX_RECOVERIES = 20;
/** Characters of invalid text that messages show. */
const SHOWN = 40;

export function createLexer(keepComments: boolean): Lexer {
  const readEntries = createReader(keepComments);
  let kept: Buffer = Buffer.alloc(0);
  /** What is not a text of single octets is refused: nothing of it is read. */
  let state: 'beginning' | 'reading' | 'refused' = 'beginning';
  let isMarked = false;

  function read(octets: Buffer, last: boolean): Entry[] {
    if (state === 'refused') return [];
    const buffer = state === 'beginning' ? skipByteOrderMark(octets) : octets;
    isMarked ||= buffer !== octets;
    const fault = state === 'beginning' ? foreignText(octets) : undefined;
    state = fault === undefined ? 'reading' : 'refused';
    if (fault !== undefined) return [broken(fault, 1)];
    const { entries, rest } = readEntries(buffer, last);
    // The caller may reuse its buffer.
    kept = Buffer.from(rest);
    return entries;
  }

  return {
    feed(chunk) {
      const octets = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      const buffer = kept.length === 0 ? octets : Buffer.concat([kept, octets]);
      if (state !== 'beginning' || buffer.length >= OCTETS_FOR_FORMAT) return read(buffer, false);
      kept = Buffer.from(buffer);
      return [];
    },
    end: () => read(kept, true),
    get isMarked() {
      return isMarked;
    },
  };
}

/** Reads the entries that a buffer completes; the rest of it comes again in front of the next one. */
type EntryReader = (buffer: Buffer, last: boolean) => { readonly entries: Entry[]; readonly rest: Buffer };

function createReader(keepComments: boolean): EntryReader {
  let line = 1;
  /** The rest of a line that was too long is skipped. */
  let skipping = false;
  let recoveries = 0;

  /** Reads the entry at `at` and the next position; undefined when it needs octets that have not arrived yet. */
  function readNext(buffer: Buffer, at: number, last: boolean): Reading | undefined {
    const reading = readEntry(buffer, at, line, last, keepComments);
    const from = reading?.brokenAt;
    if (!from || recoveries >= MAX_RECOVERIES) return reading;
    const next = nextBeginning(buffer, from, last);
    if (!next) return undefined;
    recoveries++;
    return { entry: reading.entry, ...next };
  }

  return (buffer, last) => {
    const entries: Entry[] = [];
    let at = 0;
    while (at < buffer.length) {
      if (skipping) {
        const next = buffer.indexOf(NEWLINE, at);
        if (next < 0) {
          at = buffer.length;
          break;
        }
        skipping = false;
        line++;
        at = next + 1;
        continue;
      }
      let reading = readNext(buffer, at, last);
      if (!reading) {
        if (buffer.length - at <= MAX_ENTRY_LENGTH) break;
        reading = readNext(buffer, at, true) as Reading;
        if (!reading.entry.fault) reading = { ...reading, entry: overlong(line) };
        skipping = buffer[reading.at - 1] !== NEWLINE;
      }
      if (reading.entry.tokens.length > 0 || reading.entry.fault) entries.push(reading.entry);
      at = reading.at;
      line = reading.line;
    }
    return { entries, rest: buffer.subarray(at) };
  };
}

const overlong = (line: number): Entry => broken(`entry longer than ${MAX_ENTRY_LENGTH} octets`, line);

function broken(message: string, line: number): Entry {
  return { tokens: [], leadingBlank: false, line, comment: undefined, fault: { message, line, column: 1 } };
}

/** Why the beginning of an input shows that it is not a zone file at all. */
function foreignText(buffer: Buffer): string | undefined {
  const mark = buffer.length < 2 ? 0 : buffer.readUInt16BE(0);
  if (mark === 0xfeff || mark === 0xfffe) {
    return 'the text is in UTF-16; convert it, such as with `iconv -f UTF-16 -t UTF-8`';
  }
  // Text has no NUL, which begins most binary formats; a record has it as \000.
  return buffer.subarray(0, OCTETS_FOR_FORMAT).includes(0) ? 'this is not a zone file: it has NUL octets' : undefined;
}

/** Skips a byte order mark, which some editors write; it has no meaning in a zone file. */
function skipByteOrderMark(buffer: Buffer): Buffer {
  return buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf ? buffer.subarray(3) : buffer;
}

interface Position {
  readonly at: number;
  readonly line: number;
}

interface Reading extends Position {
  /** `at` and `line` are the position after the entry. */
  readonly entry: Entry;
  /** Where an entry of several lines becomes invalid; records may follow from there. */
  readonly brokenAt?: Position;
}

/** Reads one entry from `start`; undefined when it continues after the buffer and more input may follow. */
function readEntry(
  buffer: Buffer,
  start: number,
  firstLine: number,
  last: boolean,
  keepComments: boolean,
): Reading | undefined {
  const end = buffer.length;
  const tokens: Token[] = [];
  const leadingBlank = buffer[start] === SPACE || buffer[start] === TAB;
  let line = firstLine;
  let lineStart = start;
  let depth = 0;
  let opened: (Position & { readonly fault: LexicalFault }) | undefined;
  let comment: string | undefined;
  let fault: LexicalFault | undefined;
  let at = start;
  const faultAt = (message: string, text?: string): LexicalFault => ({
    message,
    line,
    column: at - lineStart + 1,
    text,
  });
  for (;;) {
    if (at >= end) {
      if (!last) return undefined;
      break;
    }
    const c = buffer[at]!;
    if (c === SPACE || c === TAB || c === RETURN) {
      at++;
    } else if (c === NEWLINE) {
      at++;
      line++;
      lineStart = at;
      if (depth === 0) break;
    } else if (c === SEMICOLON) {
      const stop = lineEnd(buffer, at);
      if (stop === end && !last) return undefined;
      if (keepComments) comment = buffer.toString('latin1', at + 1, stop);
      at = stop;
    } else if (c === OPEN) {
      if (depth++ === 0) opened = { fault: faultAt('unclosed parenthesis'), at, line };
      at++;
    } else if (c === CLOSE) {
      if (depth === 0) fault ??= faultAt('closing parenthesis without an opening one', ')');
      else depth--;
      at++;
    } else {
      const quoted = c === QUOTE;
      const stop = quoted ? quoteEnd(buffer, at) : wordEnd(buffer, at);
      if (Math.abs(stop) === end && !last && !(quoted && stop > 0)) return undefined;
      if (stop < 0) {
        fault ??= faultAt('unclosed quote', buffer.toString('latin1', at, Math.min(-stop, at + SHOWN)));
        at = -stop;
        if (depth === 0) continue;
        // The end of the parentheses is unknown, so the entry cannot be read.
        const entry = { tokens, leadingBlank, line: firstLine, comment, fault };
        return { entry, at, line, brokenAt: { at, line } };
      }
      if (tokens.length >= MAX_ENTRY_TOKENS) fault ??= faultAt(`entry of more than ${MAX_ENTRY_TOKENS} words`);
      else {
        const text = quoted ? buffer.toString('latin1', at + 1, stop - 1) : buffer.toString('latin1', at, stop);
        tokens.push({ text, quoted, line, column: at - lineStart + 1 });
      }
      at = stop;
    }
  }
  const entry = { tokens, leadingBlank, line: tokens[0]?.line ?? firstLine, comment };
  if (depth > 0 && opened) return { entry: { ...entry, fault: fault ?? opened.fault }, at, line, brokenAt: opened };
  return { entry: { ...entry, fault }, at, line };
}

/**
 * The next line after `from` that looks like the beginning of a record. If there is none: the end of the buffer at the
 * end of the file, otherwise undefined.
 */
function nextBeginning(buffer: Buffer, from: Position, last: boolean): Position | undefined {
  let { at, line } = from;
  for (;;) {
    const next = buffer.indexOf(NEWLINE, at);
    if (next < 0) return last ? { at: buffer.length, line } : undefined;
    at = next + 1;
    line++;
    if (at === buffer.length) return last ? { at, line } : undefined;
    if (!CONTINUES[buffer[at]!]) return { at, line };
  }
}

function lineEnd(buffer: Buffer, from: number): number {
  const at = buffer.indexOf(NEWLINE, from);
  return at < 0 ? buffer.length : at;
}

/** Position after the closing quote. Without one, the negated position of the line end or buffer end. */
function quoteEnd(buffer: Buffer, start: number): number {
  for (let at = start + 1; at < buffer.length; at++) {
    const c = buffer[at]!;
    if (c === QUOTE) return at + 1;
    if (c === NEWLINE) return -at;
    if (c === BACKSLASH && buffer[at + 1] !== NEWLINE) at++;
  }
  return -buffer.length;
}

/**
 * Position after a word. A quoted string after `=` belongs to the word, as in `alpn="h2,h3"` (RFC 9460 §2.1); if it is
 * unclosed, the negated position of the line end or buffer end.
 */
function wordEnd(buffer: Buffer, start: number): number {
  let at = start;
  while (at < buffer.length) {
    const c = buffer[at]!;
    if (c === BACKSLASH) {
      at += buffer[at + 1] === NEWLINE ? 1 : 2;
    } else if (ENDS_WORD[c] === 0) {
      at++;
    } else if (c === QUOTE && at > start && buffer[at - 1] === EQUALS) {
      at = quoteEnd(buffer, at);
      if (at < 0) return at;
    } else {
      break;
    }
  }
  return Math.min(at, buffer.length);
}
