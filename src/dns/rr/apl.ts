/** APL: lists of address prefixes (RFC 3123). */
import { parseIP, printIP } from '../../base/ip.js';
import { defineType } from './define.js';
import { type Field, makeField, takeWord } from './field.js';
import { parseInteger, readU16 } from './fields.js';

/** Octets of an address by its family number (RFC 3123 §4). */
const ADDRESS_LENGTHS: Readonly<Record<number, number>> = { 1: 4, 2: 16 };
const NEGATION = 0x80;

/** Position after the item at `at`, or -1: known family, prefix in range, no zero octets at the end. */
function itemEnd(rdata: Uint8Array, at: number): number {
  if (at + 4 > rdata.length) return -1;
  const full = ADDRESS_LENGTHS[readU16(rdata, at)] ?? 0;
  const length = rdata[at + 3]! & ~NEGATION;
  const end = at + 4 + length;
  const fits = length <= full && end <= rdata.length && rdata[at + 2]! <= full * 8;
  return full > 0 && fits && (length === 0 || rdata[end - 1] !== 0) ? end : -1;
}

const items: Field = makeField({
  schema: { type: 'string' },
  optional: true,
  end(rdata, at) {
    while (at >= 0 && at < rdata.length) at = itemEnd(rdata, at);
    return at;
  },
  parse(tokens, _origin, out) {
    while (!tokens.done) {
      const token = takeWord(tokens, 'address prefix');
      const match = /^(!?)([12]):([^/]+)\/(\d{1,3})$/.exec(token.text);
      const address = match && parseIP(match[3]!);
      const prefix = match ? parseInteger(match[4]!, 255) : -1;
      if (!match || !address || address.length !== ADDRESS_LENGTHS[Number(match[2])] || prefix > address.length * 8) {
        throw tokens.failure('address prefix must be written as 1:address/length or 2:address/length', token);
      }
      let length = address.length;
      while (length > 0 && address[length - 1] === 0) length--;
      out.u16(Number(match[2]));
      out.u8(prefix);
      out.u8(length | (match[1] ? NEGATION : 0));
      out.octets(address.subarray(0, length));
    }
  },
  print(rdata, at, end) {
    const texts: string[] = [];
    while (at < end) {
      const family = readU16(rdata, at);
      const next = itemEnd(rdata, at);
      const address = new Uint8Array(ADDRESS_LENGTHS[family]!);
      address.set(rdata.subarray(at + 4, next));
      texts.push(`${rdata[at + 3]! & NEGATION ? '!' : ''}${family}:${printIP(address)}/${rdata[at + 2]}`);
      at = next;
    }
    return texts.join(' ');
  },
});

export const APL = defineType({ mnemonic: 'APL', code: 42, rfc: 'RFC 3123 §4', fields: { items } });
