/**
 * Types that contain a gateway or identity whose form depends on an earlier octet: IPSECKEY, AMTRELAY, HIP, DOA, DSYNC.
 */
import { fromBase64, fromHex, toBase64, toHex } from '../../base/bytes.js';
import { parseIPv4, parseIPv6, printIP } from '../../base/ip.js';
import { printName } from '../name.js';
import type { TokenCursor } from '../presentation.js';
import { plainNameEnd } from '../wire-name.js';
import { optionalBase64, typeCovered } from './binary-fields.js';
import { defineType } from './define.js';
import { type Field, makeField, takeWord } from './field.js';
import { domainName, integer, nameOfWord, parseInteger, readU16, takeName, u8, u16, u32 } from './fields.js';
import { charString } from './text-fields.js';

/** Position after a gateway of type 0 none, 1 IPv4, 2 IPv6, 3 name; -1 when malformed (RFC 4025 §2.3). */
function gatewayEnd(kind: number, rdata: Uint8Array, at: number): number {
  if (kind === 3) return plainNameEnd(rdata, at, rdata.length);
  const length = [0, 4, 16][kind];
  return length === undefined || at + length > rdata.length ? -1 : at + length;
}

function printGateway(kind: number, rdata: Uint8Array, at: number, end: number): string {
  if (kind === 0) return '.';
  return kind === 3 ? printName(rdata, at) : printIP(rdata.subarray(at, end));
}

function takeGateway(tokens: TokenCursor, kind: number, origin: Uint8Array): Uint8Array {
  const token = takeWord(tokens, 'gateway');
  if (kind === 3) return nameOfWord(tokens, token, origin, 'gateway');
  const none = token.text === '.' ? new Uint8Array(0) : undefined;
  const gateway = [none, parseIPv4(token.text), parseIPv6(token.text)][kind];
  if (!gateway) throw tokens.failure('gateway does not fit its type', token);
  return gateway;
}

function takeInteger(tokens: TokenCursor, label: string, max: number): number {
  const token = takeWord(tokens, label);
  const value = parseInteger(token.text, max);
  if (value < 0) throw tokens.failure(`${label} must be an integer from 0 to ${max}`, token);
  return value;
}

/** Gateway type, algorithm and gateway. */
const ipsecGateway: Field = makeField({
  schema: { type: 'string' },
  end: (rdata, at) => (at + 2 > rdata.length ? -1 : gatewayEnd(rdata[at]!, rdata, at + 2)),
  parse(tokens, origin, out) {
    const kind = takeInteger(tokens, 'gateway type', 3);
    out.u8(kind);
    out.u8(takeInteger(tokens, 'algorithm', 255));
    out.octets(takeGateway(tokens, kind, origin));
  },
  print: (rdata, at, end) => `${rdata[at]} ${rdata[at + 1]} ${printGateway(rdata[at]!, rdata, at + 2, end)}`,
});

export const IPSECKEY = defineType({
  mnemonic: 'IPSECKEY',
  code: 45,
  rfc: 'RFC 4025 §2.1',
  fields: { precedence: u8, gateway: ipsecGateway, public_key: optionalBase64 },
});

const DISCOVERY_OPTIONAL = 0x80;

/** Discovery bit, relay type and relay (RFC 8777 §4.2). */
const relay: Field = makeField({
  schema: { type: 'string' },
  end: (rdata, at) => (at >= rdata.length ? -1 : gatewayEnd(rdata[at]! & ~DISCOVERY_OPTIONAL, rdata, at + 1)),
  parse(tokens, origin, out) {
    const discovery = takeInteger(tokens, 'discovery optional', 1);
    const kind = takeInteger(tokens, 'relay type', 3);
    out.u8(discovery * DISCOVERY_OPTIONAL + kind);
    out.octets(takeGateway(tokens, kind, origin));
  },
  print(rdata, at, end) {
    const kind = rdata[at]! & ~DISCOVERY_OPTIONAL;
    return `${rdata[at]! >> 7} ${kind} ${printGateway(kind, rdata, at + 1, end)}`;
  },
});

export const AMTRELAY = defineType({
  mnemonic: 'AMTRELAY',
  code: 260,
  rfc: 'RFC 8777 §4',
  fields: { precedence: u8, relay },
});

/** Algorithm, host identity tag and public key, preceded by their two lengths (RFC 8005 §5). */
const identity: Field = makeField({
  schema: { type: 'string' },
  end(rdata, at) {
    if (at + 4 > rdata.length) return -1;
    const tagLength = rdata[at]!;
    const keyLength = readU16(rdata, at + 2);
    const end = at + 4 + tagLength + keyLength;
    return tagLength > 0 && keyLength > 0 && end <= rdata.length ? end : -1;
  },
  parse(tokens, _origin, out) {
    const algorithm = takeInteger(tokens, 'algorithm', 255);
    const tagToken = takeWord(tokens, 'host identity tag');
    const tag = fromHex(tagToken.text);
    if (!tag || tag.length === 0 || tag.length > 255) throw tokens.failure('bad host identity tag', tagToken);
    const keyToken = takeWord(tokens, 'public key');
    const key = fromBase64(keyToken.text);
    if (!key || key.length === 0 || key.length > 0xffff) throw tokens.failure('bad public key', keyToken);
    out.u8(tag.length);
    out.u8(algorithm);
    out.u16(key.length);
    out.octets(tag);
    out.octets(key);
  },
  print(rdata, at, end) {
    const keyAt = at + 4 + rdata[at]!;
    return `${rdata[at + 1]} ${toHex(rdata.subarray(at + 4, keyAt))} ${toBase64(rdata.subarray(keyAt, end))}`;
  },
});

/** Names up to the end of the rdata, possibly none. */
const servers: Field = makeField({
  schema: { type: 'string' },
  optional: true,
  end(rdata, at) {
    while (at >= 0 && at < rdata.length) at = plainNameEnd(rdata, at, rdata.length);
    return at;
  },
  parse(tokens, origin, out, label) {
    while (!tokens.done) out.octets(takeName(tokens, origin, label));
  },
  print(rdata, at, end) {
    const texts: string[] = [];
    for (; at < end; at = plainNameEnd(rdata, at, rdata.length)) texts.push(printName(rdata, at));
    return texts.join(' ');
  },
});

export const HIP = defineType({ mnemonic: 'HIP', code: 55, rfc: 'RFC 8005 §5', fields: { identity, servers } });

/** Data in base 64, `-` for none. */
const objectData: Field = makeField({
  schema: { type: 'string' },
  end: (rdata) => rdata.length,
  parse(tokens, origin, out, label) {
    const next = tokens.peek();
    if (next?.text === '-' && tokens.remaining === 1) tokens.next(label);
    else if (next) optionalBase64.parse(tokens, origin, out, label);
    else tokens.next(label);
  },
  print: (rdata, at, end) => (at === end ? '-' : toBase64(rdata.subarray(at, end))),
});

export const DOA = defineType({
  mnemonic: 'DOA',
  code: 259,
  rfc: 'IANA',
  fields: { enterprise: u32, type: u32, location: u8, media_type: charString, data: objectData },
});

export const DSYNC = defineType({
  mnemonic: 'DSYNC',
  code: 66,
  rfc: 'RFC 9859 §2',
  fields: {
    type: typeCovered,
    scheme: integer(1, { words: { NOTIFY: 1 } }),
    port: u16,
    target: domainName({ root: true }),
  },
});
