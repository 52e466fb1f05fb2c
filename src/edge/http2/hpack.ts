/** Blocks of header fields of HTTP/2 (HPACK, RFC 7541). Pure. */
import type { HeaderList } from '../exchange/exchange.js';
import { readHuffman } from './huffman.js';

/** The block breaks the rules, after which nothing that follows can be read. */
export class HpackError extends Error {}

/** Appendix A. */
const STATIC: readonly (readonly [name: string, value: string])[] = [
  ...pairs(':authority', '', ':method', 'GET', ':method', 'POST', ':path', '/', ':path', '/index.html'),
  ...pairs(':scheme', 'http', ':scheme', 'https', ':status', '200', ':status', '204', ':status', '206'),
  ...pairs(':status', '304', ':status', '400', ':status', '404', ':status', '500', 'accept-charset', ''),
  ...pairs('accept-encoding', 'gzip, deflate', 'accept-language', '', 'accept-ranges', '', 'accept', ''),
  ...pairs('access-control-allow-origin', '', 'age', '', 'allow', '', 'authorization', '', 'cache-control', ''),
  ...pairs('content-disposition', '', 'content-encoding', '', 'content-language', '', 'content-length', ''),
  ...pairs('content-location', '', 'content-range', '', 'content-type', '', 'cookie', '', 'date', '', 'etag', ''),
  ...pairs('expect', '', 'expires', '', 'from', '', 'host', '', 'if-match', '', 'if-modified-since', ''),
  ...pairs('if-none-match', '', 'if-range', '', 'if-unmodified-since', '', 'last-modified', '', 'link', ''),
  ...pairs('location', '', 'max-forwards', '', 'proxy-authenticate', '', 'proxy-authorization', '', 'range', ''),
  ...pairs('referer', '', 'refresh', '', 'retry-after', '', 'server', '', 'set-cookie', ''),
  ...pairs('strict-transport-security', '', 'transfer-encoding', '', 'user-agent', '', 'vary', '', 'via', ''),
  ...pairs('www-authenticate', ''),
];

function pairs(...texts: string[]): [string, string][] {
  const list: [string, string][] = [];
  for (let i = 0; i < texts.length; i += 2) list.push([texts[i]!, texts[i + 1]!]);
  return list;
}

const INDEX_OF_NAME: ReadonlyMap<string, number> = new Map(STATIC.map(([name], i) => [name, i + 1] as const).reverse());

/** What a field takes in the table, and in the size of a list, beside its octets (RFC 7541 §4.1). */
const OVERHEAD = 32;

/** The largest table, octets: what is the rule unless settings say otherwise (RFC 9113 §6.5.2). */
const TABLE_OCTETS = 4096;

export interface BlockLimits {
  /** Octets of all fields, each with 32 more. */
  readonly listOctets: number;
  readonly fields: number;
}

/** Reads the blocks of one connection, in their order. */
export class BlockReader {
  private readonly table: (readonly [string, string])[] = [];
  private octets = 0;
  private mostOctets = TABLE_OCTETS;

  constructor(private readonly limits: BlockLimits) {}

  /** Undefined if there are more fields than the limits allow; the connection goes on. Throws an {@link HpackError}. */
  read(block: Buffer): string[] | undefined {
    const cursor = new Cursor(block);
    const list: string[] = [];
    let size = 0;
    let isTooLarge = false;
    let mayResize = true;
    while (!cursor.isDone) {
      const first = cursor.peek();
      if ((first & 0xe0) === 0x20) {
        if (!mayResize) throw new HpackError('the size of the table changes within a block');
        this.resize(cursor.integer(5));
        continue;
      }
      mayResize = false;
      const [name, value] = this.field(cursor, first);
      size += name.length + value.length + OVERHEAD;
      isTooLarge ||= size > this.limits.listOctets || list.length >= 2 * this.limits.fields;
      if (!isTooLarge) list.push(name, value);
    }
    return isTooLarge ? undefined : list;
  }

  private field(cursor: Cursor, first: number): readonly [string, string] {
    if (first & 0x80) return this.entry(cursor.integer(7));
    const isKept = (first & 0x40) !== 0;
    const index = cursor.integer(isKept ? 6 : 4);
    const name = index === 0 ? cursor.text() : this.entry(index)[0];
    const field = [name, cursor.text()] as const;
    if (isKept) this.keep(field);
    return field;
  }

  private entry(index: number): readonly [string, string] {
    const field = index <= STATIC.length ? STATIC[index - 1] : this.table[index - STATIC.length - 1];
    if (!field) throw new HpackError(`the table has no entry ${index}`);
    return field;
  }

  private keep(field: readonly [string, string]): void {
    this.table.unshift(field);
    this.octets += field[0].length + field[1].length + OVERHEAD;
    this.evict();
  }

  private resize(octets: number): void {
    if (octets > TABLE_OCTETS) throw new HpackError('the table is larger than allowed');
    this.mostOctets = octets;
    this.evict();
  }

  private evict(): void {
    while (this.octets > this.mostOctets) {
      const [name, value] = this.table.pop()!;
      this.octets -= name.length + value.length + OVERHEAD;
    }
  }
}

class Cursor {
  private at = 0;

  constructor(private readonly block: Buffer) {}

  get isDone(): boolean {
    return this.at >= this.block.length;
  }

  peek(): number {
    return this.block[this.at]!;
  }

  private next(): number {
    if (this.isDone) throw new HpackError('the block ends within a field');
    return this.block[this.at++]!;
  }

  /** RFC 7541 §5.1. No number that is needed has more than four octets. */
  integer(bits: number): number {
    const full = 2 ** bits - 1;
    let value = this.next() & full;
    if (value < full) return value;
    for (let shift = 0; shift <= 21; shift += 7) {
      const octet = this.next();
      value += (octet & 0x7f) * 2 ** shift;
      if (octet < 0x80) return value;
    }
    throw new HpackError('a number is too large');
  }

  text(): string {
    const isCoded = (this.peek() & 0x80) !== 0;
    const length = this.integer(7);
    if (length > this.block.length - this.at) throw new HpackError('the block ends within a string');
    const octets = this.block.subarray(this.at, this.at + length);
    this.at += length;
    const text = isCoded ? readHuffman(octets) : octets.toString('latin1');
    if (text === undefined) throw new HpackError('a string is not in its code');
    return text;
  }
}

/**
 * Writes a block that keeps nothing in tables, so that blocks of requests that were given up have no effect on others. The first
 * block of a connection says so.
 */
export function writeBlock(fields: HeaderList, isFirst: boolean): Buffer {
  let most = 1;
  for (const text of fields) most += text.length + LONGEST_NUMBER;
  const block = most <= SCRATCH.length ? SCRATCH : Buffer.allocUnsafe(most);
  let at = 0;
  if (isFirst) block[at++] = 0x20;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    const value = fields[i + 1]!;
    const index = INDEX_OF_NAME.get(name) ?? 0;
    const whole = index === 0 ? 0 : indexOf(index, name, value);
    if (whole > 0) {
      block[at++] = 0x80 | whole;
      continue;
    }
    at = writeName(block, at, name, index);
    at = writeText(block, at, value);
  }
  return Buffer.from(block.subarray(0, at));
}

/** Writes the beginning of a field: its value follows, of so many octets. Returns where. */
export function beginField(block: Buffer, at: number, name: string, octets: number): number {
  return writeInteger(block, writeName(block, at, name, INDEX_OF_NAME.get(name) ?? 0), octets, 7);
}

/** Octets of a field beside its name and its value, at most. */
export const MOST_ADDED_OCTETS = 16;

function writeName(block: Buffer, at: number, name: string, index: number): number {
  const from = writeInteger(block, at, index, 4);
  return index === 0 ? writeText(block, from, name) : from;
}

/** Octets of a number before each text, and of what precedes it. */
const LONGEST_NUMBER = 8;
const SCRATCH = Buffer.allocUnsafeSlow(16_384);

/** Where the field stands in the static table; 0 if it does not. `first`: where its name stands first. */
function indexOf(first: number, name: string, value: string): number {
  for (let i = first; STATIC[i - 1]?.[0] === name; i++) if (STATIC[i - 1]![1] === value) return i;
  return 0;
}

function writeText(block: Buffer, at: number, text: string): number {
  const from = writeInteger(block, at, text.length, 7);
  return from + block.write(text, from, 'latin1');
}

function writeInteger(block: Buffer, at: number, value: number, bits: number): number {
  const full = 2 ** bits - 1;
  if (value < full) {
    block[at] = value;
    return at + 1;
  }
  block[at++] = full;
  let rest = value - full;
  for (; rest >= 0x80; rest >>>= 7) block[at++] = (rest & 0x7f) | 0x80;
  block[at++] = rest;
  return at;
}
