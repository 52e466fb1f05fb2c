/**
 * A file of places by address in the format of MaxMind (City or Country). `mmdb-lib` reads its metadata and records; the tree is
 * walked here, because an answer must not allocate. Each record is read once and kept.
 */
import { type CityResponse, Reader } from 'mmdb-lib';
import { printIP } from '../base/ip.js';
import { unitVector } from '../steering/compile.js';
import { codeOf } from '../steering/layout.js';
import type { Place } from './place.js';

/** The region of a country, and of a part of it where that decides. */
export type RegionOf = (country: string, subdivision: string | undefined) => string | undefined;

const IPV4_BITS = 32;
const IPV6_BITS = 128;
/** An IPv4 address is in the tree of IPv6 addresses behind so many zeros. */
const BEFORE_IPV4 = 96;
/** Records that are kept: a database of the whole world has some hundred thousand places. */
const MOST_RECORDS = 1 << 20;

interface KnownRecord {
  readonly country: number;
  readonly region: number;
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

const NOWHERE: KnownRecord = { country: 0, region: 0, x: 0, y: 0, z: 0 };

export class PlaceDatabase {
  private readonly reader: Reader<CityResponse>;
  private readonly records = new Map<number, KnownRecord>();
  private readonly nodes: number;
  private readonly recordSize: number;
  private readonly isIPv6: boolean;
  private readonly ipv4Start: number;

  /** Throws when the file is damaged. */
  constructor(
    private readonly bytes: Buffer,
    private readonly regionOf: RegionOf,
  ) {
    this.reader = new Reader<CityResponse>(bytes);
    const { nodeCount, recordSize, ipVersion, searchTreeSize } = this.reader.metadata;
    if (searchTreeSize + 16 > bytes.length) throw new RangeError('the file is too short for its tree');
    if (nodeCount < 1) throw new RangeError('the file has no tree');
    this.nodes = nodeCount;
    this.recordSize = recordSize;
    this.isIPv6 = ipVersion === 6;
    let start = 0;
    for (let bit = 0; this.isIPv6 && bit < BEFORE_IPV4 && start < nodeCount; bit++) start = this.child(start, 0);
    this.ipv4Start = start;
  }

  /**
   * Fills `place` with that of an address: `length` octets at `at`, 4 or 16. False when it is not known; then only the prefix is
   * filled.
   */
  find(address: Uint8Array, at: number, length: number, place: Place): boolean {
    const isIPv4 = length === 4;
    const bits = isIPv4 ? IPV4_BITS : IPV6_BITS;
    place.prefix = 0;
    if (!isIPv4 && !this.isIPv6) return false;
    let node = isIPv4 ? this.ipv4Start : 0;
    let depth = 0;
    while (depth < bits && node < this.nodes) {
      node = this.child(node, (address[at + (depth >> 3)]! >>> (7 - (depth & 7))) & 1);
      depth++;
    }
    place.prefix = depth;
    if (node <= this.nodes) return false;
    const record = this.records.get(node) ?? this.read(node, address.subarray(at, at + length));
    if (record === NOWHERE) return false;
    place.country = record.country;
    place.region = record.region;
    place.x = record.x;
    place.y = record.y;
    place.z = record.z;
    return true;
  }

  /** The record of a node on one side; a number beyond the nodes leads to data. */
  private child(node: number, side: number): number {
    const { bytes } = this;
    if (this.recordSize === 24) {
      const at = node * 6 + side * 3;
      return (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
    }
    if (this.recordSize === 28) {
      const at = node * 7;
      const middle = bytes[at + 3]!;
      const from = side === 0 ? at : at + 4;
      const high = side === 0 ? middle >>> 4 : middle & 15;
      return (high << 24) | (bytes[from]! << 16) | (bytes[from + 1]! << 8) | bytes[from + 2]!;
    }
    const at = node * 8 + side * 4;
    return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0;
  }

  /** Reads the record that an address leads to, for the first time. Damaged ones are nowhere. */
  private read(node: number, address: Uint8Array): KnownRecord {
    let record = NOWHERE;
    try {
      record = knownRecord(this.reader.get(printIP(address)), this.regionOf);
    } catch {
      // The tree leads outside of the data; other addresses are still found.
    }
    if (this.records.size < MOST_RECORDS) this.records.set(node, record);
    return record;
  }
}

/** When a database was built, in milliseconds since 1970. Throws if it is damaged. */
export function buildTimeOf(bytes: Buffer): number {
  return new Reader<CityResponse>(bytes).metadata.buildEpoch.getTime();
}

function knownRecord(data: CityResponse | null, regionOf: RegionOf): KnownRecord {
  const country = data?.country?.iso_code ?? data?.registered_country?.iso_code;
  const subdivision = data?.subdivisions?.[0]?.iso_code;
  const { latitude, longitude } = data?.location ?? {};
  const isPlaced = typeof latitude === 'number' && typeof longitude === 'number';
  if (typeof country !== 'string' && !isPlaced) return NOWHERE;
  const region = typeof country === 'string' ? regionOf(country, subdivision) : undefined;
  const [x, y, z] = isPlaced ? unitVector(latitude, longitude) : [0, 0, 0];
  return { country: codeOf(country ?? ''), region: codeOf(region ?? ''), x, y, z };
}
