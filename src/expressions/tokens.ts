/** The words and signs of an expression. */
import { FaultFound } from './limits.js';

export type TokenKind = 'word' | 'text' | 'number' | 'address' | 'sign' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** What it says: of a text its value, without quotes. */
  readonly value: string;
  readonly offset: number;
}

/** Longer signs first. */
const SIGNS: readonly string[] = [
  ...['==', '!=', '<=', '>=', '&&', '||', '^^', '..', '[*]'],
  ...['<', '>', '!', '~', '(', ')', '{', '}', '[', ']', ',', '$'],
];
const SPACE = /[ \t\r\n]/;
const WORD = /[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*/y;
const NUMBER = /-?\d+/y;
/** Anything that may be an address or a network; which it is, is decided where it is used. */
const ADDRESS = /(?:\d+\.\d+\.\d+\.\d+|[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*)(?:\/\d+)?/y;
const RAW = /r(#*)"/y;

/** Splits a text into tokens; the last one is the end. */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    return pattern.exec(text);
  };
  while (at < text.length) {
    const offset = at;
    const first = text[at]!;
    if (SPACE.test(first)) {
      at++;
      continue;
    }
    const raw = match(RAW);
    if (first === '"' || raw) {
      const { value, end } = raw ? rawText(text, offset, raw) : quotedText(text, offset);
      tokens.push({ kind: 'text', value, offset });
      at = end;
      continue;
    }
    const address = match(ADDRESS);
    const number = address ? null : match(NUMBER);
    const word = address || number ? null : match(WORD);
    const kind: TokenKind = address ? 'address' : number ? 'number' : word ? 'word' : 'sign';
    const value = (address ?? number ?? word)?.[0] ?? SIGNS.find((sign) => text.startsWith(sign, offset));
    if (value === undefined) throw new FaultFound(offset, `'${firstCharacter(text, offset)}' has no meaning here`);
    tokens.push({ kind, value, offset });
    at += value.length;
  }
  return [...tokens, { kind: 'end', value: '', offset: text.length }];
}

function firstCharacter(text: string, offset: number): string {
  return String.fromCodePoint(text.codePointAt(offset)!);
}

/** A text in quotes, in which a backslash stands before a quote or another backslash. */
function quotedText(text: string, offset: number): { readonly value: string; readonly end: number } {
  let value = '';
  for (let at = offset + 1; at < text.length; at++) {
    const unit = text[at]!;
    if (unit === '"') return { value, end: at + 1 };
    if (unit === '\\') {
      const next = text[++at];
      if (next !== '"' && next !== '\\') {
        throw new FaultFound(at - 1, 'in a text, a backslash stands only before a quote or a backslash');
      }
      value += next;
    } else value += unit;
  }
  throw new FaultFound(offset, 'the text has no closing quote');
}

/** A raw text such as r"a\b" or r#"a"b"#, which ends with a quote and as many signs as it began with. */
function rawText(text: string, offset: number, raw: RegExpExecArray): { readonly value: string; readonly end: number } {
  const start = offset + raw[0].length;
  const close = `"${raw[1]}`;
  const end = text.indexOf(close, start);
  if (end < 0) throw new FaultFound(offset, 'the text has no closing quote');
  return { value: text.slice(start, end), end: end + close.length };
}
