/**
 * Tokens of one record's data outside a zone file: v4 `content`, a CLI argument (RFC 1035 §5.1 without lines and
 * comments).
 */
import { PresentationError, type Token } from '../presentation.js';

const TAB = 9;
const SPACE = 32;
const QUOTE = 34;
const EQUALS = 61;
const BACKSLASH = 92;

/**
 * Words and quoted strings of a latin1 text. A quote ends a word and begins a string. After `=`, the quoted string is
 * part of the word, as in `alpn="h2,h3"` (RFC 9460 §2.1). Throws PresentationError for a line break or an unclosed
 * quote.
 */
export function tokenizeRdata(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const c = text.charCodeAt(at);
    if (c === SPACE || c === TAB) {
      at++;
      continue;
    }
    const start = at;
    if (c === QUOTE) {
      at = quoteEnd(text, at);
      tokens.push({ text: text.slice(start + 1, at - 1), quoted: true, line: 1, column: start + 1 });
    } else {
      at = wordEnd(text, at);
      tokens.push({ text: text.slice(start, at), quoted: false, line: 1, column: start + 1 });
    }
  }
  return tokens;
}

/** Position after the closing quote of the string that opens at `start`. */
function quoteEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === QUOTE) return at + 1;
    if (c === BACKSLASH) at++;
    else failAtLineBreak(c, at);
  }
  throw new PresentationError('unclosed quote', 1, start + 1, text.slice(start));
}

function wordEnd(text: string, start: number): number {
  let at = start;
  while (at < text.length) {
    const c = text.charCodeAt(at);
    if (c === SPACE || c === TAB) break;
    failAtLineBreak(c, at);
    if (c === BACKSLASH) at += 2;
    else if (c !== QUOTE) at++;
    else if (text.charCodeAt(at - 1) === EQUALS) at = quoteEnd(text, at);
    else break;
  }
  return Math.min(at, text.length);
}

function failAtLineBreak(c: number, at: number): void {
  if (c === 10 || c === 13) throw new PresentationError('line break inside record data', 1, at + 1);
}
