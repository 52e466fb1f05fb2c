/**
 * TXT and the types with the same rdata (RFC 1035 §3.3.14, RFC 7208 §3.1, RFC 9606).
 *
 * The v4 API keeps the content as it was sent. Content that begins and ends with a quote is a series of quoted strings;
 * any other content is one raw text, in which quotes and backslashes are literal (v4: §6.1).
 */
import { concatBytes } from '../../base/bytes.js';
import { latin1Text, PresentationError, type TokenCursor, unescapeText } from '../presentation.js';
import { defineType } from './define.js';
import { octetsOfText } from './octet-text.js';
import { MAX_STRING_LENGTH, strings, stringsOf } from './text-fields.js';
import { tokenizeRdata } from './tokens.js';
import { type ApiInput, RdataError, type RRType } from './type.js';
import { isUnknownForm } from './unknown.js';

/** The longest text of one record that the API accepts, in octets (v4: §6.1). */
const MAX_TEXT_LENGTH = 4096;
const BACKSLASH = 92;

function textType(mnemonic: string, code: number, rfc: string, creatable = false): RRType {
  const type = defineType({ mnemonic, code, rfc, fields: { strings }, ...(creatable ? { api: {} } : {}) });
  return {
    ...type,
    data: [],
    parse: (tokens, origin) => parseOneString(tokens) ?? type.parse(tokens, origin),
    duplicateKey: (rdata) => concatBytes(...stringsOf(rdata)),
    fromApi: (input) => fromApi(mnemonic, input),
    toApi: (_rdata, content) => ({ content }),
  };
}

/** Rdata of a single string without escapes, the most frequent case; undefined for other tokens. */
function parseOneString(tokens: TokenCursor): Uint8Array | undefined {
  if (tokens.remaining !== 1 || isUnknownForm(tokens)) return undefined;
  const { text } = tokens.peek()!;
  const length = text.length;
  if (length > MAX_STRING_LENGTH) return undefined;
  const rdata = new Uint8Array(length + 1);
  rdata[0] = length;
  for (let i = 0; i < length; i++) {
    const c = text.charCodeAt(i);
    if (c === BACKSLASH) return undefined;
    rdata[i + 1] = c;
  }
  tokens.next('text');
  return rdata;
}

function fromApi(mnemonic: string, input: ApiInput): { rdata: Uint8Array; content: string } {
  const content = input.content ?? '';
  const refuse = (reason: string): RdataError =>
    new RdataError(`Content for ${mnemonic} record ${reason}.`, '/content', 9051);
  if (content === '') throw refuse('must not be empty');
  if (/[\r\n]/.test(content)) throw refuse('must not contain line breaks');
  const texts = content.startsWith('"') && content.endsWith('"') ? quotedStrings(content) : [octetsOfText(content)];
  if (!texts) throw refuse('has unbalanced quotes or a bad escape');
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length > MAX_TEXT_LENGTH) throw refuse(`must not be longer than ${MAX_TEXT_LENGTH} octets`);
  // Empty ones are strings, too.
  if (texts.length > MAX_TEXT_LENGTH) throw refuse(`must not have more than ${MAX_TEXT_LENGTH} strings`);
  return { rdata: encodeStrings(texts), content };
}

/** Octets of each string in `"a" "b"`; undefined for other content. */
function quotedStrings(content: string): Uint8Array[] | undefined {
  try {
    const tokens = tokenizeRdata(latin1Text(octetsOfText(content)));
    const texts = tokens.map((token) => (token.quoted ? unescapeText(token.text) : undefined));
    return texts.includes(undefined) ? undefined : (texts as Uint8Array[]);
  } catch (error) {
    if (error instanceof PresentationError) return undefined;
    throw error;
  }
}

/** Encodes character strings; a text above 255 octets is split. */
function encodeStrings(texts: readonly Uint8Array[]): Uint8Array {
  const parts: Uint8Array[] = [];
  for (const text of texts) {
    let at = 0;
    do {
      const chunk = text.subarray(at, at + MAX_STRING_LENGTH);
      parts.push(Uint8Array.of(chunk.length), chunk);
      at += MAX_STRING_LENGTH;
    } while (at < text.length);
  }
  return concatBytes(...parts);
}

export const TXT = textType('TXT', 16, 'RFC 1035 §3.3.14', true);
export const NINFO = textType('NINFO', 56, 'IANA');
export const SPF = textType('SPF', 99, 'RFC 7208 §3.1');
export const AVC = textType('AVC', 258, 'IANA');
export const RESINFO = textType('RESINFO', 261, 'RFC 9606 §3');
export const WALLET = textType('WALLET', 262, 'IANA');
