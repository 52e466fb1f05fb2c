/** A message for people: every part of it where it stands, in hexadecimal and in words. */
import { toHex } from '../base/bytes.js';
import { EdnsOption, Opcode, RCODE_MNEMONICS, Type } from '../dns/codes.js';
import { type MessagePart, type ReadRecord, readParts } from '../dns/message.js';
import { toFqdn } from '../dns/name.js';
import { typeMnemonic } from '../dns/rr/registry.js';
import { printRecord } from '../dns/zonefile/writer.js';
import { subnetOf } from './client-subnet.js';

export interface PacketPart {
  readonly part: MessagePart['part'];
  /** Octets before it. */
  readonly offset: number;
  readonly hex: string;
  /** Text for people. */
  readonly text: string;
}

/** One message, octet for octet. */
export interface Packet {
  /** Its size in octets. */
  readonly size: number;
  /** In order, without gaps. */
  readonly parts: readonly PacketPart[];
}

/** Throws for octets that are not a message: only our own are given. */
export function packetOf(octets: Uint8Array): Packet {
  const parts = readParts(octets);
  if (!parts) throw new Error('our own message cannot be read');
  return {
    size: octets.length,
    parts: parts.map((part) => ({
      part: part.part,
      offset: part.at,
      hex: toHex(octets.subarray(part.at, part.end)),
      text: textOf(part, octets),
    })),
  };
}

function textOf({ part, at, record, question }: MessagePart, octets: Uint8Array): string {
  if (record) return record.type === Type.opt ? optText(record) : printRecord(record).replaceAll('\t', ' ');
  if (question) return `${toFqdn(question.name)}. IN ${typeMnemonic(question.type)}`;
  if (part === 'header') return headerText(octets.subarray(at));
  return '';
}

/** The bits between opcode and response code, from the highest (RFC 1035 §4.1.1, RFC 4035 §3). */
const FLAGS: readonly (readonly [bit: number, name: string])[] = [
  [0x8000, 'qr'],
  [0x0400, 'aa'],
  [0x0200, 'tc'],
  [0x0100, 'rd'],
  [0x0080, 'ra'],
  [0x0020, 'ad'],
  [0x0010, 'cd'],
];

function headerText(header: Uint8Array): string {
  const word = (index: number): number => (header[2 * index]! << 8) | header[2 * index + 1]!;
  const flags = word(1);
  const set = FLAGS.filter(([bit]) => flags & bit).map(([, name]) => name);
  const opcode = ((flags >>> 11) & 15) === Opcode.query ? 'QUERY' : `opcode ${(flags >>> 11) & 15}`;
  const counts = ['question', 'answer', 'authority', 'additional'].map((name, i) => `${word(2 + i)} ${name}`);
  return [
    opcode,
    ...(flags & 0x8000 ? [RCODE_MNEMONICS[flags & 15] ?? `rcode ${flags & 15}`] : []),
    `id ${word(0)}`,
    `flags ${set.join(' ') || 'none'}`,
    counts.join(', '),
  ].join('; ');
}

/** RFC 6891 §6.1.3. */
function optText({ class: payload, ttl, rdata }: ReadRecord): string {
  const options: string[] = [];
  for (let at = 0; at + 4 <= rdata.length; ) {
    const code = (rdata[at]! << 8) | rdata[at + 1]!;
    const end = at + 4 + ((rdata[at + 2]! << 8) | rdata[at + 3]!);
    options.push(optionText(code, rdata.subarray(at + 4, end)));
    at = end;
  }
  const flags = ttl & 0x8000 ? 'flags do' : 'flags none';
  return [`EDNS version ${(ttl >>> 16) & 255}`, `payload ${payload} octets`, flags, ...options].join('; ');
}

const OPTIONS: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(EdnsOption).map(([name, code]) => [
    code,
    name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
  ]),
);

function optionText(code: number, data: Uint8Array): string {
  const name = OPTIONS[code] ?? `option ${code}`;
  const subnet = code === EdnsOption.clientSubnet ? subnetOf(data) : undefined;
  return subnet === undefined ? `${name} ${toHex(data)}` : `${name} ${subnet}, scope ${data[3]}`;
}
