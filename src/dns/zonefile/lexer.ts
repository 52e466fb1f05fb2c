/**
 * Master file octets → entries of tokens (RFC 1035 §5.1): parentheses, quotes, escapes, comments, continuation over lines.
 * Fed in chunks, so a file is never in memory as a whole. Octets stand for themselves; there is no character set.
 */
import type { Token } from '../presentation.js';

/** One logical line. */
export interface Entry {
  readonly tokens: readonly Token[];
  /** The line began with blank space: the owner is that of the record before (RFC 1035 §5.1). */
  readonly leadingBlank: boolean;
  /** 1-based line of its first token. */
  readonly line: number;
  /** Text behind the last `;` comment of the entry, when comments are kept. */
  readonly comment: string | undefined;
  /** What is wrong with its form; the tokens are then incomplete. */
  readonly fault: LexicalFault | undefined;
}

export interface LexicalFault {
  readonly message: string;
  readonly line: number;
  readonly column: number;
  readonly text?: string | undefined;
}

export interface Lexer {
  /** Entries completed by these octets. */
  feed(chunk: Uint8Array): Entry[];
  /** Entries left when the file ends. */
  end(): Entry[];
}

/** An entry longer than this is refused, octets: nothing that can be served takes as much. */
export const MAX_ENTRY_LENGTH = 1 << 20;

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

export function createLexer(keepComments: boolean): Lexer {
  let kept: Buffer = Buffer.alloc(0);
  let line = 1;
  let started = false;
  /** After an overlong entry everything is skipped up to the next line that begins a record. */
  let skipping = false;

  function run(buffer: Buffer, last: boolean): Entry[] {
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
      const reading = readEntry(buffer, at, line, last, keepComments);
      if (!reading) {
        if (buffer.length - at <= MAX_ENTRY_LENGTH) break;
        const fault = { message: `entry longer than ${MAX_ENTRY_LENGTH} octets`, line, column: 1 };
        entries.push({ tokens: [], leadingBlank: false, line, comment: undefined, fault });
        skipping = true;
        continue;
      }
      if (reading.entry.tokens.length > 0 || reading.entry.fault) entries.push(reading.entry);
      at = reading.at;
      line = reading.line;
    }
    kept = buffer.subarray(at);
    return entries;
  }

  return {
    feed(chunk) {
      const octets = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let buffer = kept.length === 0 ? octets : Buffer.concat([kept, octets]);
      if (!started) {
        if (buffer.length < 3) {
          kept = Buffer.from(buffer);
          return [];
        }
        started = true;
        buffer = skipByteOrderMark(buffer);
      }
      const entries = run(buffer, false);
      // The caller may use its memory again.
      kept = Buffer.from(kept);
      return entries;
    },
    end() {
      const buffer = started ? kept : skipByteOrderMark(kept);
      started = true;
      return run(buffer, true);
    },
  };
}

/** Editors put it there; it means nothing in a zone file. */
function skipByteOrderMark(buffer: Buffer): Buffer {
  return buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf ? buffer.subarray(3) : buffer;
}

interface Reading {
  readonly entry: Entry;
  /** Octet and line behind the entry. */
  readonly at: number;
  readonly line: number;
}

/** One entry from `start`; undefined when it goes on behind the buffer and the file is not at its end. */
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
  let opened: LexicalFault | undefined;
  let comment: string | undefined;
  let fault: LexicalFault | undefined;
  let at = start;
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
      depth++;
      opened ??= { message: 'unclosed parenthesis', line, column: at - lineStart + 1 };
      at++;
    } else if (c === CLOSE) {
      if (depth === 0)
        fault ??= {
          message: 'closing parenthesis without an opening one',
          line,
          column: at - lineStart + 1,
          text: ')',
        };
      else depth--;
      at++;
    } else if (c === QUOTE) {
      const stop = quoteEnd(buffer, at);
      if (stop === end && !last && !closesAt(buffer, at, stop)) return undefined;
      if (!closesAt(buffer, at, stop)) {
        fault ??= {
          message: 'unclosed quote',
          line,
          column: at - lineStart + 1,
          text: buffer.toString('latin1', at, Math.min(stop, at + 40)),
        };
        // The rest of the line cannot be trusted; parentheses on it neither.
        depth = 0;
        at = stop;
      } else {
        tokens.push({
          text: buffer.toString('latin1', at + 1, stop - 1),
          quoted: true,
          line,
          column: at - lineStart + 1,
        });
        at = stop;
      }
    } else {
      const stop = wordEnd(buffer, at);
      if (stop < 0 || (stop === end && !last)) {
        if (!last) return undefined;
        fault ??= { message: 'unclosed quote', line, column: at - lineStart + 1 };
        at = lineEnd(buffer, at);
        continue;
      }
      tokens.push({ text: buffer.toString('latin1', at, stop), quoted: false, line, column: at - lineStart + 1 });
      at = stop;
    }
  }
  if (depth > 0) fault ??= opened;
  return { entry: { tokens, leadingBlank, line: tokens[0]?.line ?? firstLine, comment, fault }, at, line };
}

function lineEnd(buffer: Buffer, from: number): number {
  const at = buffer.indexOf(NEWLINE, from);
  return at < 0 ? buffer.length : at;
}

/** Position behind the closing quote, or of the line end or buffer end that comes first. */
function quoteEnd(buffer: Buffer, start: number): number {
  for (let at = start + 1; at < buffer.length; at++) {
    const c = buffer[at]!;
    if (c === QUOTE) return at + 1;
    if (c === NEWLINE) return at;
    if (c === BACKSLASH && buffer[at + 1] !== NEWLINE) at++;
  }
  return buffer.length;
}

/** Whether the string from `start` was really closed at `stop`. */
function closesAt(buffer: Buffer, start: number, stop: number): boolean {
  if (stop - start < 2 || buffer[stop - 1] !== QUOTE) return false;
  let backslashes = 0;
  for (let at = stop - 2; at > start && buffer[at] === BACKSLASH; at--) backslashes++;
  return backslashes % 2 === 0;
}

/** Position behind a word. A quote after `=` belongs to it, as in `alpn="h2,h3"` (RFC 9460 §2.1). -1: that quote is unclosed. */
function wordEnd(buffer: Buffer, start: number): number {
  let at = start;
  while (at < buffer.length) {
    const c = buffer[at]!;
    if (c === BACKSLASH) {
      at += buffer[at + 1] === NEWLINE ? 1 : 2;
    } else if (ENDS_WORD[c] === 0) {
      at++;
    } else if (c === QUOTE && at > start && buffer[at - 1] === EQUALS) {
      const stop = quoteEnd(buffer, at);
      if (!closesAt(buffer, at, stop)) return -1;
      at = stop;
    } else {
      break;
    }
  }
  return Math.min(at, buffer.length);
}
