/** Words of an entry that say what the others are: classes and types (RFC 1035 §5.1). */
import type { Token } from '../presentation.js';
import { typeByMnemonic } from '../rr/registry.js';
import { tokenizeRdata } from '../rr/tokens.js';
import type { RRType } from '../rr/type.js';
import { failure } from './rdata.js';

const TYPE_CACHE = new Map<string, RRType>();

/** Whether the token is a class. Every class except IN is refused, because no other is served. */
export function isClass(token: Token): boolean {
  if (token.quoted) return false;
  const text = token.text.toUpperCase();
  if (text === 'IN' || text === 'CLASS1') return true;
  if (text === 'CH' || text === 'HS' || text === 'CS' || text === 'NONE' || /^CLASS\d+$/.test(text)) {
    throw failure('class is not served, only IN is', token);
  }
  return false;
}

/** Whether the type is one that PowerDNS and others use for a CNAME that is replaced by the addresses of its target. */
export function isFlattenedAlias({ text, quoted }: Token): boolean {
  if (quoted || text.length !== 5) return false;
  const mnemonic = text.toUpperCase();
  return mnemonic === 'ALIAS' || mnemonic === 'ANAME';
}

/** Types that exist in one server only, and what to do about them. */
const UNSERVED_TYPES: ReadonlyMap<string, string> = new Map([
  ['LUA', 'LUA records, whose answers PowerDNS computes, are not supported; replace the record by the data it answers'],
]);

/** The type that a word names. Throws PresentationError. */
export function findType(token: Token): RRType {
  const known = TYPE_CACHE.get(token.text);
  if (known && !token.quoted) return known;
  const type = token.quoted ? undefined : typeByMnemonic(token.text);
  if (!type) throw failure(UNSERVED_TYPES.get(token.text.toUpperCase()) ?? 'unknown record type', token);
  if (TYPE_CACHE.size < 1000) TYPE_CACHE.set(token.text, type);
  return type;
}

/** BIND takes the data of $GENERATE as one word, so several words are quoted there; both forms are accepted here. */
export function unpackQuotedData(tokens: readonly Token[]): readonly Token[] {
  const data = tokens[tokens.length - 1];
  const type = tokens[tokens.length - 2];
  if (!data?.quoted || !type || type.quoted || !typeByMnemonic(type.text)) return tokens;
  const { line, column } = data;
  return [...tokens.slice(0, -1), ...tokenizeRdata(data.text).map((token) => ({ ...token, line, column }))];
}
