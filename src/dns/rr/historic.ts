/** Obsolete types of networks and notations: X25, ISDN, NSAP, GPOS, WKS (RFC 1183, 1706, 1712, 1035). */
import { fromHex, toHex } from '../../base/bytes.js';
import { defineType } from './define.js';
import { type Field, makeField, takeWord } from './field.js';
import { ipv4, parseInteger } from './fields.js';
import { charString, strings, stringsOf } from './text-fields.js';

export const X25 = defineType({
  mnemonic: 'X25',
  code: 19,
  rfc: 'RFC 1183 §3.1',
  fields: { psdn: charString },
  check: (rdata) =>
    rdata.length > 4 && rdata.subarray(1).every((octet) => octet >= 48 && octet <= 57)
      ? undefined
      : 'psdn must be at least 4 digits',
});

/** The subaddress may be absent. */
export const ISDN = defineType({
  mnemonic: 'ISDN',
  code: 20,
  rfc: 'RFC 1183 §3.2',
  fields: { address: strings },
  check: (rdata) => (stringsOf(rdata).length > 2 ? 'more than an address and a subaddress' : undefined),
});

export const GPOS = defineType({
  mnemonic: 'GPOS',
  code: 27,
  rfc: 'RFC 1712 §3',
  fields: { longitude: charString, latitude: charString, altitude: charString },
  check: (rdata) =>
    stringsOf(rdata).every((text) => /^-?\d+(\.\d+)?$/.test(Buffer.from(text).toString('latin1')))
      ? undefined
      : 'longitude, latitude and altitude must be decimal numbers',
});

/** `0x` and hexadecimal digits; dots between them are ignored (RFC 1706 §6). */
const nsapAddress: Field = makeField({
  schema: { type: 'string' },
  end: (rdata, at) => (at < rdata.length ? rdata.length : -1),
  parse(tokens, _origin, out, label) {
    const token = takeWord(tokens, label);
    const digits = /^0x([0-9a-f][0-9a-f.]*)$/i.exec(token.text)?.[1]?.replaceAll('.', '');
    const octets = digits === undefined ? undefined : fromHex(digits);
    if (!octets) throw tokens.failure(`${label} must be 0x and hexadecimal digits`, token);
    out.octets(octets);
  },
  print: (rdata, at, end) => `0x${toHex(rdata.subarray(at, end))}`,
});

export const NSAP = defineType({ mnemonic: 'NSAP', code: 22, rfc: 'RFC 1706 §5', fields: { address: nsapAddress } });

const PROTOCOLS: ReadonlyMap<string, number> = new Map(Object.entries({ ICMP: 1, TCP: 6, UDP: 17 }));
const SERVICES: ReadonlyMap<string, number> = new Map(
  Object.entries({
    tcpmux: 1,
    echo: 7,
    discard: 9,
    'ftp-data': 20,
    ftp: 21,
    ssh: 22,
    telnet: 23,
    smtp: 25,
    time: 37,
    domain: 53,
    tftp: 69,
    gopher: 70,
    finger: 79,
    http: 80,
    pop3: 110,
    nntp: 119,
    ntp: 123,
    imap: 143,
    snmp: 161,
    https: 443,
  }),
);

/** A protocol and its served ports as a bit map (RFC 1035 §3.4.2). */
const services: Field = makeField({
  schema: { type: 'string' },
  end: (rdata, at) =>
    at < rdata.length && rdata.length - at <= 8193 && (at + 1 === rdata.length || rdata[rdata.length - 1] !== 0)
      ? rdata.length
      : -1,
  parse(tokens, _origin, out, label) {
    const protocol = takeWord(tokens, 'protocol');
    const number = PROTOCOLS.get(protocol.text.toUpperCase()) ?? parseInteger(protocol.text, 255);
    if (number < 0) throw tokens.failure('protocol must be TCP, UDP or a number from 0 to 255', protocol);
    const bits = new Uint8Array(8192);
    let length = 0;
    while (!tokens.done) {
      const token = takeWord(tokens, label);
      const port = SERVICES.get(token.text.toLowerCase()) ?? parseInteger(token.text, 0xffff);
      if (port < 0) throw tokens.failure('a port must be a number from 0 to 65535', token);
      bits[port >> 3]! |= 0x80 >> (port & 7);
      length = Math.max(length, (port >> 3) + 1);
    }
    out.u8(number);
    out.octets(bits.subarray(0, length));
  },
  print(rdata, at, end) {
    const ports: number[] = [];
    for (let bit = 0; bit < (end - at - 1) * 8; bit++) {
      if (rdata[at + 1 + (bit >> 3)]! & (0x80 >> (bit & 7))) ports.push(bit);
    }
    return [rdata[at], ...ports].join(' ');
  },
});

export const WKS = defineType({
  mnemonic: 'WKS',
  code: 11,
  rfc: 'RFC 1035 §3.4.2',
  fields: { address: ipv4, services },
});
