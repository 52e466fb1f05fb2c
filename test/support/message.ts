/** A strict decoder of DNS messages, independent of the code under test, and functions that create queries. */

export interface DecodedRR {
  /** Presentation-like text in lower case, every octet outside letters, digits, `-`, `_`, `*` escaped. */
  readonly owner: string;
  readonly type: number;
  readonly class: number;
  readonly ttl: number;
  /** Rdata with names decompressed and in lower case, as hexadecimal. */
  readonly rdata: string;
}

export interface DecodedMessage {
  readonly id: number;
  readonly qr: boolean;
  readonly opcode: number;
  readonly aa: boolean;
  readonly tc: boolean;
  readonly rd: boolean;
  readonly ra: boolean;
  readonly z: boolean;
  readonly ad: boolean;
  readonly cd: boolean;
  /** Extended by OPT. */
  readonly rcode: number;
  /** Octets of the question section as sent. */
  readonly question: Buffer;
  readonly answer: readonly DecodedRR[];
  readonly authority: readonly DecodedRR[];
  /** Without OPT. */
  readonly additional: readonly DecodedRR[];
  readonly opt:
    | { readonly size: number; readonly version: number; readonly dnssecOk: boolean; readonly options: Buffer }
    | undefined;
  readonly length: number;
}

/**
 * Positions of names in rdata that may come compressed (RFC 3597 §4), by type: octets before the first, number of names.
 * NS MD MF CNAME SOA MB MG MR PTR MINFO MX RP AFSDB RT PX SRV DNAME.
 */
const NAMES: Readonly<Record<number, readonly [skip: number, count: number]>> = {
  2: [0, 1],
  3: [0, 1],
  4: [0, 1],
  5: [0, 1],
  6: [0, 2],
  7: [0, 1],
  8: [0, 1],
  9: [0, 1],
  12: [0, 1],
  14: [0, 2],
  15: [2, 1],
  17: [0, 2],
  18: [2, 1],
  21: [2, 1],
  26: [2, 2],
  33: [6, 1],
  39: [0, 1],
};

/** Throws when the message is not exactly what its counts say. */
export function decodeMessage(message: Buffer): DecodedMessage {
  if (message.length < 12) throw new Error('shorter than a header');
  const flags = message.readUInt16BE(2);
  const counts = [4, 6, 8, 10].map((at) => message.readUInt16BE(at)) as [number, number, number, number];
  let at = 12;
  for (let i = 0; i < counts[0]; i++) at = readName(message, at).next + 4;
  const question = message.subarray(12, at);
  const sections: DecodedRR[][] = [[], [], []];
  let opt: DecodedMessage['opt'];
  let extended = 0;
  for (const [index, section] of sections.entries()) {
    for (let i = 0; i < counts[index + 1]!; i++) {
      const { rr, next, raw, fixed } = readRR(message, at);
      at = next;
      if (rr.type !== 41) {
        section.push(rr);
        continue;
      }
      if (opt || index !== 2 || rr.owner !== '.') throw new Error('misplaced OPT');
      opt = {
        size: rr.class,
        version: message[fixed + 5]!,
        dnssecOk: (message[fixed + 6]! & 0x80) !== 0,
        options: raw,
      };
      extended = message[fixed + 4]!;
    }
  }
  if (at !== message.length) throw new Error(`${message.length - at} octets behind the message`);
  const bit = (mask: number): boolean => (flags & mask) !== 0;
  return {
    id: message.readUInt16BE(0),
    qr: bit(0x8000),
    opcode: (flags >> 11) & 15,
    aa: bit(0x0400),
    tc: bit(0x0200),
    rd: bit(0x0100),
    ra: bit(0x0080),
    z: bit(0x0040),
    ad: bit(0x0020),
    cd: bit(0x0010),
    rcode: (flags & 15) | (extended << 4),
    question,
    answer: sections[0]!,
    authority: sections[1]!,
    additional: sections[2]!,
    opt,
    length: message.length,
  };
}

function readRR(message: Buffer, at: number): { rr: DecodedRR; next: number; raw: Buffer; fixed: number } {
  const { labels, next: fixed } = readName(message, at);
  const type = message.readUInt16BE(fixed);
  const length = message.readUInt16BE(fixed + 8);
  const start = fixed + 10;
  const end = start + length;
  if (end > message.length) throw new Error('rdata runs out of the message');
  const raw = message.subarray(start, end);
  const rr = {
    owner: printLabels(labels),
    type,
    class: message.readUInt16BE(fixed + 2),
    ttl: message.readUInt32BE(fixed + 4),
    rdata: readRdata(message, type, start, end).toString('hex'),
  };
  return { rr, next: end, raw, fixed };
}

function readRdata(message: Buffer, type: number, start: number, end: number): Buffer {
  const places = NAMES[type];
  if (!places) return message.subarray(start, end);
  const parts: Buffer[] = [message.subarray(start, start + places[0])];
  let at = start + places[0];
  for (let i = 0; i < places[1]; i++) {
    const { labels, next } = readName(message, at);
    for (const label of labels) parts.push(Buffer.from([label.length]), label);
    parts.push(Buffer.from([0]));
    at = next;
  }
  if (at > end) throw new Error('a name runs out of its rdata');
  parts.push(message.subarray(at, end));
  return Buffer.concat(parts);
}

/** A name with pointers followed, which must lead backwards. */
function readName(message: Buffer, start: number): { labels: Buffer[]; next: number } {
  const labels: Buffer[] = [];
  let next = -1;
  let at = start;
  let bound = start;
  for (let total = 0; ; ) {
    const length = message[at];
    if (length === undefined) throw new Error('a name runs out of the message');
    if (length === 0) return { labels, next: next < 0 ? at + 1 : next };
    if (length >= 0xc0) {
      const target = ((length & 0x3f) << 8) | message[at + 1]!;
      if (target >= bound) throw new Error('a pointer leads forward');
      if (next < 0) next = at + 2;
      bound = target;
      at = target;
      continue;
    }
    if (length > 63) throw new Error('a label type that does not exist');
    total += length + 1;
    if (total > 254) throw new Error('a name longer than 255 octets');
    labels.push(
      Buffer.from(
        message
          .subarray(at + 1, at + 1 + length)
          .toString('latin1')
          .replace(/[A-Z]/g, (c) => c.toLowerCase()),
        'latin1',
      ),
    );
    at += 1 + length;
  }
}

/** The printed form of a name in wire form without compression, lower case: to compare with {@link DecodedRR}.owner. */
export function printWire(name: Uint8Array): string {
  return printLabels(readName(Buffer.from(name), 0).labels);
}

function printLabels(labels: readonly Buffer[]): string {
  if (labels.length === 0) return '.';
  return labels
    .map(
      (label) =>
        `${label.toString('latin1').replace(/[^a-z0-9_*-]/g, (c) => `\\${String(c.charCodeAt(0)).padStart(3, '0')}`)}.`,
    )
    .join('');
}

export interface QueryOptions {
  readonly id?: number;
  /** Both octets of flags. */
  readonly flags?: number;
  readonly class?: number;
  /** Payload size; no OPT without it. */
  readonly edns?: number;
  readonly dnssecOk?: boolean;
  readonly version?: number;
  readonly options?: Buffer;
}

/** A query for a wire name. */
export function makeQuery(name: Uint8Array, type: number, options: QueryOptions = {}): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(options.id ?? 0x1234, 0);
  header.writeUInt16BE(options.flags ?? 0, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(options.edns === undefined ? 0 : 1, 10);
  const tail = Buffer.alloc(4);
  tail.writeUInt16BE(type, 0);
  tail.writeUInt16BE(options.class ?? 1, 2);
  const parts: Buffer[] = [header, Buffer.from(name), tail];
  if (options.edns !== undefined) parts.push(makeOpt(options));
  return Buffer.concat(parts);
}

export function makeOpt({
  edns = 1232,
  dnssecOk = false,
  version = 0,
  options = Buffer.alloc(0),
}: QueryOptions): Buffer {
  const opt = Buffer.alloc(11);
  opt.writeUInt16BE(41, 1);
  opt.writeUInt16BE(edns, 3);
  opt[6] = version;
  opt[7] = dnssecOk ? 0x80 : 0;
  opt.writeUInt16BE(options.length, 9);
  return Buffer.concat([opt, options]);
}
