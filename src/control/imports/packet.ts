/** Rows of an import for the transfer between threads: few large values instead of many small ones. */
import type { ImportedRow } from '../../store/records/import.js';
import type { ImportBatch } from './reader.js';

/**
 * Numbers of a row: length of the owner key (-1: the same as in the previous row), length of rdata, length of its key
 * or -1, type, TTL, proxied.
 */
const MEMBERS = 6;
const SAME = -1;

export interface ImportPacket {
  readonly parsed: number;
  readonly octetsRead: number;
  /** {@link MEMBERS} for each row. */
  readonly numbers: Float64Array;
  /** Owner keys, rdata and duplicate keys, concatenated. */
  readonly octets: Uint8Array;
  /** One for each new owner. */
  readonly names: readonly string[];
  readonly contents: readonly string[];
  /** For the few rows that have any. */
  readonly extras: readonly (readonly [
    row: number,
    settings: string | null,
    comment: string | null,
    tags: string | null,
  ])[];
}

export function packRows({ rows, parsed, octetsRead }: ImportBatch): ImportPacket {
  const numbers = new Float64Array(rows.length * MEMBERS);
  const octets = new Uint8Array(sizeOf(rows));
  const names: string[] = [];
  const contents: string[] = [];
  const extras: [number, string | null, string | null, string | null][] = [];
  let ownerKey: Uint8Array | undefined;
  let at = 0;
  let to = 0;
  const put = (bytes: Uint8Array): number => {
    octets.set(bytes, at);
    at += bytes.length;
    return bytes.length;
  };
  rows.forEach((row, index) => {
    const isNew = row.owner_key !== ownerKey;
    ownerKey = row.owner_key;
    if (isNew) names.push(row.name);
    contents.push(row.content);
    numbers[to++] = isNew ? put(row.owner_key) : SAME;
    numbers[to++] = put(row.rdata);
    numbers[to++] = row.rdata_key === row.rdata ? SAME : put(row.rdata_key);
    numbers[to++] = row.type;
    numbers[to++] = row.ttl;
    numbers[to++] = row.proxied;
    const { settings, comment, tags } = row;
    if (settings !== null || comment !== null || tags !== null) extras.push([index, settings, comment, tags]);
  });
  return { parsed, octetsRead, numbers, octets, names, contents, extras };
}

function sizeOf(rows: readonly ImportedRow[]): number {
  let size = 0;
  for (const { owner_key, rdata, rdata_key } of rows) size += owner_key.length + rdata.length + rdata_key.length;
  return size;
}

export function unpackRows({
  parsed,
  octetsRead,
  numbers,
  octets,
  names,
  contents,
  extras,
}: ImportPacket): ImportBatch {
  const rows: ImportedRow[] = [];
  let at = 0;
  let name = -1;
  let extra = 0;
  let ownerKey: Uint8Array = octets;
  const take = (length: number): Uint8Array => {
    at += length;
    return octets.subarray(at - length, at);
  };
  for (let from = 0, index = 0; from < numbers.length; from += MEMBERS, index++) {
    if (numbers[from] !== SAME) {
      ownerKey = take(numbers[from]!);
      name++;
    }
    const rdata = take(numbers[from + 1]!);
    const rdataKey = numbers[from + 2] === SAME ? rdata : take(numbers[from + 2]!);
    const [, settings, comment, tags] = extras[extra]?.[0] === index ? extras[extra++]! : NOTHING;
    rows.push({
      owner_key: ownerKey,
      name: names[name]!,
      type: numbers[from + 3]!,
      content: contents[index]!,
      rdata,
      rdata_key: rdataKey,
      ttl: numbers[from + 4]!,
      proxied: numbers[from + 5]!,
      settings,
      comment,
      tags,
    });
  }
  return { rows, parsed, octetsRead };
}

const NOTHING = [-1, null, null, null] as const;
