/**
 * A field: one part of a type's rdata in its four forms (wire, presentation, v4 `data`, v4 `content`). The kinds of
 * fields are in fields.ts, text-fields.ts, binary-fields.ts and in the files of single types that need their own.
 */
import type { ByteWriter } from '../../base/bytes.js';
import { ROOT } from '../name.js';
import { latin1Text, type Token, type TokenCursor, TokenCursor as Tokens } from '../presentation.js';
import { octetsOfText, textOfOctets } from './octet-text.js';
import { tokenizeRdata } from './tokens.js';
import { type DataMember, RdataError, type RdataName } from './type.js';

/** Rules for a domain name inside rdata, as in {@link RdataName}, and whether canonical form lower-cases it. */
export interface NameRules {
  readonly compress: boolean;
  /** RFC 4034 §6.2 as corrected by RFC 6840 §5.1. */
  readonly lower: boolean;
  readonly additional: boolean;
}

/** The context on which the v4 forms of a field may depend. */
export interface ApiContext {
  /** The zone's apex, for which `@` stands. */
  readonly apex: Uint8Array;
}

/** `label` is the field's name in words, for messages. `at` and `end` are offsets in the rdata. */
export interface Field {
  readonly schema: Omit<DataMember, 'name' | 'required'>;
  /** Whether `data` may omit it; its text is then empty. */
  readonly optional: boolean;
  /** Whether the v4 API returns its text as the client sent it. */
  readonly asSent: boolean;
  /** Set when the whole field is one domain name. */
  readonly name: NameRules | undefined;
  /** Position after the field that starts at `at`, or -1 when it is malformed or does not fit. */
  end(rdata: Uint8Array, at: number): number;
  /** Reads presentation form and writes wire form. Throws PresentationError. */
  parse(tokens: TokenCursor, origin: Uint8Array, out: ByteWriter, label: string): void;
  /** Presentation form; '' for fields that print nothing. */
  print(rdata: Uint8Array, at: number, end: number): string;
  /** Text for v4 `content` when the octets did not come through the API. */
  spell(rdata: Uint8Array, at: number, end: number): string;
  /** Reads the field from v4 `content`; returns the text to store. */
  readContent(tokens: TokenCursor, out: ByteWriter, label: string, context: ApiContext): string;
  /** Reads the field from v4 `data`; returns the text for `content`. Throws RdataError or PresentationError. */
  readData(value: unknown, out: ByteWriter, label: string, context: ApiContext): string;
  /**
   * The member of the returned `data`. `spelled` is the field's text in the stored content, for fields that are
   * returned as sent.
   */
  writeData(rdata: Uint8Array, at: number, end: number, spelled: string | undefined): unknown;
}

type FieldBase = Pick<Field, 'schema' | 'end' | 'parse' | 'print'>;

/** Makes a field from its wire and presentation forms; v4 forms that are not given are derived from them. */
export function makeField(base: FieldBase & Partial<Field>): Field {
  const field: Field = {
    optional: false,
    asSent: false,
    name: undefined,
    spell: base.print,
    readContent(tokens, out, label) {
      const start = out.length;
      base.parse(tokens, ROOT, out, label);
      return field.spell(out.bytes(), start, out.length);
    },
    readData(value, out, label, context) {
      const tokens = new Tokens(tokenizeRdata(latin1Text(octetsOfText(readText(value, label)))));
      const spelled = field.readContent(tokens, out, label, context);
      tokens.end();
      return spelled;
    },
    writeData: (rdata, at, end, spelled) => spelled ?? field.spell(rdata, at, end),
    ...base,
  };
  return field;
}

/** A text member of `data`; a number is read as its digits. */
export function readText(value: unknown, label: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return String(value);
  throw new RdataError(`${label} must be a string.`);
}

/**
 * A number member of `data`: v4 clients send integers as 4, 4.0 and "4" (api-contract §6). Undefined for other values.
 */
export function readNumber(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
}

/** Takes the next word, which must not be quoted. */
export function takeWord(tokens: TokenCursor, label: string): Token {
  const token = tokens.next(label);
  if (token.quoted) throw tokens.failure(`${label} must not be quoted`, token);
  return token;
}

/** Takes all remaining words, joined without blanks; there must be one or more unless `optional`. */
export function takeJoinedWords(tokens: TokenCursor, label: string, optional = false): string {
  if (optional && tokens.done) return '';
  let text = takeWord(tokens, label).text;
  while (!tokens.done) text += takeWord(tokens, label).text;
  return text;
}

/** Decodes a token of v4 content, which was UTF-8 before it became octets. */
export function unicodeOfToken(token: Token): string {
  return textOfOctets(Buffer.from(token.text, 'latin1'));
}

/** Position after a string that begins with a length octet, or -1. */
export function lengthPrefixedEnd(rdata: Uint8Array, at: number): number {
  const end = at + 1 + (rdata[at] ?? 0);
  return at < rdata.length && end <= rdata.length ? end : -1;
}

export const NO_NAMES: readonly RdataName[] = [];
