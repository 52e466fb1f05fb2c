/** The zone checker's facts about each owner and each target: columns of numbers next to a name table. */
import { Type } from '../dns/codes.js';
import { isAtOrBelow, nameLength } from '../dns/name.js';
import { doubled, NameTable } from './name-table.js';

/** The data of an owner, as bits. A name that is only a target has no bits. */
export const Has = {
  cname: 1,
  ns: 2,
  dname: 4,
  ds: 8,
  address: 16,
  mx: 32,
  other: 128,
  /** Any record, including those that may accompany a CNAME (RFC 4034 §2.5, §3). */
  any: 256,
  /** An owner below it exists, so it exists even without records (RFC 4592 §2.2.2). */
  below: 512,
  /** Its CNAME is replaced by the addresses of the target, so other data may stand beside it. */
  flattened: 1024,
} as const;

/** The bits that stand for data. */
export const DATA = Has.any - 1;

export function whatIs(type: number): number {
  switch (type) {
    case Type.cname:
      return Has.cname;
    case Type.ns:
      return Has.ns;
    case Type.dname:
      return Has.dname;
    case Type.ds:
      return Has.ds;
    case Type.a:
    case Type.aaaa:
      return Has.address;
    case Type.mx:
      return Has.mx;
    case Type.rrsig:
    case Type.nsec:
    case Type.nsec3:
      return 0;
    default:
      return Has.other;
  }
}

/** The names of a zone with their facts, by number. */
export class OwnerColumns {
  readonly names = new NameTable();
  /** {@link Has} bits. */
  has = new Uint16Array(1024);
  /** Place of the first record, as a packed number. */
  places = new Float64Array(1024);
  /** Target of the first CNAME, as {@link targetOf} returns it; 0 when there is none. */
  aliases = new Int32Array(1024);
  aliasPlaces = new Float64Array(1024);
  /** How many MX records it has; more than 255 are not counted. */
  mx = new Uint8Array(1024);
  private readonly outside = new NameTable();
  private readonly found: number[] = [];
  private readonly wildcard = Uint8Array.of(1, 42, ...new Uint8Array(254));

  get count(): number {
    return this.names.count;
  }

  /** Number of the name that is the part of `wire` before the apex; the apex begins at `end`. */
  add(wire: Uint8Array, end: number): number {
    const number = this.names.add(wire, 0, end);
    if (number === this.has.length) {
      this.has = doubled(this.has);
      this.places = doubled(this.places);
      this.aliases = doubled(this.aliases);
      this.aliasPlaces = doubled(this.aliasPlaces);
      this.mx = doubled(this.mx);
    }
    return number;
  }

  /**
   * A name in rdata: its number + 1 when it is in the zone, otherwise a negative number that distinguishes it from
   * other names.
   */
  targetOf(rdata: Uint8Array, at: number, apex: Uint8Array): number {
    const name = rdata.subarray(at, at + nameLength(rdata, at));
    if (isAtOrBelow(name, apex)) return this.add(name, name.length - apex.length) + 1;
    return -this.outside.add(name, 0, name.length) - 1;
  }

  /**
   * Numbers of the ancestors of a name, nearest first; names that no record mentions are omitted. Valid until the next
   * call.
   */
  ancestorsOf(number: number): readonly number[] {
    const { found, names } = this;
    const { octets, starts } = names;
    found.length = 0;
    const end = starts[number + 1]!;
    for (let at = starts[number]!; at < end; ) {
      at += 1 + octets[at]!;
      const ancestor = names.find(octets, at, end);
      if (ancestor >= 0) found.push(ancestor);
    }
    return found;
  }

  /**
   * Whether something above a name answers for it: a zone cut other than `ownCut` (one at the name also counts), a
   * DNAME, or the wildcard of its closest encloser.
   */
  isCovered(number: number, ownCut: number): boolean {
    const { names, has } = this;
    const { octets, starts } = names;
    const start = starts[number]!;
    const end = starts[number + 1]!;
    const exists = Has.any | Has.below;
    let matchesWildcards = (has[number]! & exists) === 0;
    for (let at = start; ; at += 1 + octets[at]!) {
      const above = names.find(octets, at, end);
      const there = above < 0 ? 0 : has[above]!;
      if (at < end && above !== ownCut && there & Has.ns) return true;
      if (at > start) {
        if (there & Has.dname || (matchesWildcards && this.hasWildcardBelow(at, end))) return true;
        if (there & exists) matchesWildcards = false;
      }
      if (at === end) return false;
    }
  }

  private hasWildcardBelow(at: number, end: number): boolean {
    const { names, wildcard } = this;
    wildcard.set(names.octets.subarray(at, end), 2);
    const number = names.find(wildcard, 0, end - at + 2);
    return number >= 0 && (this.has[number]! & Has.any) !== 0;
  }
}

/** Names inside the zone that are targets of records. */
export class TargetColumns {
  count = 0;
  owners = new Int32Array(256);
  targets = new Int32Array(256);
  types = new Uint16Array(256);
  places = new Float64Array(256);

  add(owner: number, target: number, type: number, place: number): void {
    const index = this.count++;
    if (index === this.owners.length) {
      this.owners = doubled(this.owners);
      this.targets = doubled(this.targets);
      this.types = doubled(this.types);
      this.places = doubled(this.places);
    }
    this.owners[index] = owner;
    this.targets[index] = target;
    this.types[index] = type;
    this.places[index] = place;
  }
}

export interface Place {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
}

const FILE_STEP = 2 ** 32;

/** File and line as one number. */
export class PlaceCodes {
  private readonly files: (string | undefined)[] = [undefined];
  private lastFile: string | undefined;
  private lastBase = 0;

  pack({ file, line = 0 }: Place): number {
    if (file !== this.lastFile) {
      let index = this.files.indexOf(file);
      if (index < 0) index = this.files.push(file) - 1;
      this.lastFile = file;
      this.lastBase = index * FILE_STEP;
    }
    return this.lastBase + line;
  }

  unpack(code: number): Place {
    const line = code % FILE_STEP;
    return { file: this.files[Math.floor(code / FILE_STEP)], line: line === 0 ? undefined : line };
  }
}
