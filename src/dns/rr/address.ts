/** A and AAAA: addresses (RFC 1035 §3.4.1, RFC 3596 §2.2). */
import { parseIPv4, parseIPv6 } from '../../base/ip.js';
import type { TokenCursor } from '../presentation.js';
import { defineType } from './define.js';
import { takeWord } from './field.js';
import { ipv4, ipv6 } from './fields.js';
import type { RRType } from './type.js';
import { isUnknownForm } from './unknown.js';

/** A type with a parser that makes no copy, because most records are addresses. */
function parsedDirectly(type: RRType, parseText: (text: string) => Uint8Array | undefined, family: string): RRType {
  return {
    ...type,
    parse(tokens: TokenCursor, origin: Uint8Array): Uint8Array {
      if (isUnknownForm(tokens)) return type.parse(tokens, origin);
      const token = takeWord(tokens, 'address');
      const rdata = parseText(token.text);
      if (!rdata) throw tokens.failure(`address must be a valid ${family} address`, token);
      tokens.end();
      return rdata;
    },
  };
}

export const A = parsedDirectly(
  defineType({
    mnemonic: 'A',
    code: 1,
    rfc: 'RFC 1035 §3.4.1',
    fields: { address: ipv4 },
    api: {
      form: 'content',
      invalid: { code: 9005, message: 'Content for A record must be a valid IPv4 address.' },
    },
  }),
  parseIPv4,
  'IPv4',
);

export const AAAA = parsedDirectly(
  defineType({
    mnemonic: 'AAAA',
    code: 28,
    rfc: 'RFC 3596 §2.1',
    fields: { address: ipv6 },
    api: {
      form: 'content',
      invalid: { code: 9006, message: 'Content for AAAA record must be a valid IPv6 address.' },
    },
  }),
  parseIPv6,
  'IPv6',
);
