/**
 * Checks whether a zone can be served. It finds errors that involve several records: aliases with other data, two SOAs,
 * names outside the zone, occluded data, name servers without addresses. Records are added one by one in any order; the
 * findings come at the end.
 *
 * A problem is an error when NSD, Knot and BIND all refuse it, or when they differ and the RFC forbids it; otherwise it
 * is a warning. A zone may have a million owners, so each is described by a few numbers in typed arrays
 * (owner-columns.ts).
 */
import { equalBytes } from '../base/bytes.js';
import type { Issue, Severity } from '../base/result.js';
import { Type } from '../dns/codes.js';
import { isAtOrBelow, isWildcard, lowerName, nameLength, printName } from '../dns/name.js';
import { typeByCode, typeMnemonic } from '../dns/rr/registry.js';
import { DATA, Has, OwnerColumns, type Place, PlaceCodes, TargetColumns, whatIs } from './owner-columns.js';

/** The parts of a record that the checker needs. */
export interface CheckedRecord {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly ttl: number | undefined;
  readonly rdata: Uint8Array;
  /** Whether a CNAME is replaced by the addresses of its target. */
  readonly flattened?: boolean;
  readonly file?: string | undefined;
  /** 1-based. */
  readonly line?: number | undefined;
}

export interface ZoneChecker {
  /** Returns false when the record is outside the zone and must be omitted. */
  add(record: CheckedRecord): boolean;
  /** All findings, errors first, ordered by line. No records may be added afterwards. */
  finish(): Issue[];
  readonly sets: AddedSets;
  /** What was added at a name (lower case, wire form); undefined: others decide what is there. */
  lookUp(name: Uint8Array): FoundOwner | undefined;
}

export interface AddedSets {
  /** The most records of an RRset that were added one after the other. */
  readonly largest: number;
  /** Whether the records of some RRset were not. */
  readonly isScattered: boolean;
}

export interface FoundOwner {
  readonly isAlias: boolean;
  readonly hasAddress: boolean;
  /** MX records; 255 stands for all larger numbers. */
  readonly mx: number;
  /** Whether it has data of other types than these, NS, DS and DNAME. */
  readonly hasOther: boolean;
}

export interface CheckOptions {
  /** Whether the zone has its own SOA and apex NS, as a zone file must; otherwise the service provides them. */
  readonly selfContained: boolean;
  /** Whether every CNAME beside other data, or at the apex, is flattened, as in an export of a service that flattens. */
  readonly flattens: boolean;
}

/** The largest number of findings kept for each severity. */
const MAX_ISSUES = 1000;
/** The largest number of checked targets; they lead only to warnings. */
const MAX_TARGETS = 1_000_000;
/** The largest number of an owner's records that are compared to find duplicates. */
const MAX_COMPARED = 64;

/** Number of the apex among the owners. */
const APEX = 0;

export function createZoneChecker(apex: Uint8Array, options: CheckOptions): ZoneChecker {
  return new Checker(lowerName(apex), options);
}

/** What a CNAME cannot stand beside. A flattened one answers addresses, and names without data of their own (v4: §5.9). */
function barredByCname(isApex: boolean, flattened: boolean): number {
  if (isApex) return Has.address;
  return flattened ? Has.address | Has.ns : DATA & ~Has.cname;
}

class Checker implements ZoneChecker {
  readonly sets = { largest: 0, isScattered: false };
  private readonly issues: Record<Severity, Issue[]> = { error: [], warning: [] };
  private readonly dropped: Record<Severity, number> = { error: 0, warning: 0 };
  private readonly owners = new OwnerColumns();
  private readonly places = new PlaceCodes();
  private readonly targets = new TargetColumns();
  private readonly dnames = new Map<number, { readonly rdata: Uint8Array; readonly place: number }>();
  private soa: Uint8Array | undefined;
  private hasCuts = false;
  private hasAliases = false;
  private hasOutside = false;
  private lastOwner: Uint8Array | undefined;
  private current = APEX;
  /** The consecutive records of one owner: TTL by type, the first few records, and how many of one type came last. */
  private runTypes: number[] = [];
  private runTtls: (number | undefined)[] = [];
  private run: CheckedRecord[] = [];
  private lastType = -1;
  private ofLastType = 0;

  constructor(
    private readonly apex: Uint8Array,
    private readonly options: CheckOptions,
  ) {
    this.owners.add(apex, 0);
  }

  add(record: CheckedRecord): boolean {
    if (record.owner !== this.lastOwner && !this.enterOwner(record)) return false;
    const { type } = record;
    const { current, owners } = this;
    const has = owners.has[current]!;
    owners.has[current] = has | Has.any | whatIs(type);
    const place = this.places.pack(record);
    if (has === 0) owners.places[current] = place;
    this.checkRun(record);
    if (type === Type.cname) this.checkAlias(current, record, place);
    else if (type === Type.dname) this.checkDname(current, record, place);
    else if (type === Type.soa) this.checkSoa(record);
    else if (type === Type.ns) this.checkNameServer(current, record, place);
    else if (type === Type.mx) {
      if (owners.mx[current]! < 255) owners.mx[current]!++;
      this.noteTarget(current, record, place, 2);
    } else if (type === Type.srv) this.noteTarget(current, record, place, 6);
    else if (type === Type.naptr) this.checkSemantics(record);
    return true;
  }

  finish(): Issue[] {
    this.checkApex();
    const { owners } = this;
    const walks = this.hasCuts || this.hasAliases || this.dnames.size > 0;
    for (let owner = 0; owner < owners.count; owner++) {
      const has = owners.has[owner]!;
      if (!(has & Has.any)) continue;
      this.checkOwner(owner, has);
      if (walks) this.checkAncestors(owner, has);
    }
    for (let index = 0; index < this.targets.count; index++) this.checkTarget(index);
    if (this.hasAliases) for (let owner = 0; owner < owners.count; owner++) this.checkAliasTarget(owner);
    return [...this.sorted('error'), ...this.sorted('warning')];
  }

  lookUp(name: Uint8Array): FoundOwner | undefined {
    const { apex, owners } = this;
    if (!isAtOrBelow(name, apex)) return undefined;
    const owner = owners.add(name, name.length - apex.length);
    // A wildcard, a delegation or a DNAME may be above it.
    if (owners.isCovered(owner, -1)) return undefined;
    const has = owners.has[owner]!;
    return {
      isAlias: (has & Has.cname) !== 0,
      hasAddress: (has & Has.address) !== 0,
      mx: owners.mx[owner]!,
      hasOther: (has & Has.other) !== 0,
    };
  }

  /** Makes the record's owner the current one; false when it is outside the zone. */
  private enterOwner(record: CheckedRecord): boolean {
    const { owner } = record;
    const outside = owner.length - this.apex.length;
    if (!isAtOrBelow(owner, this.apex)) {
      this.hasOutside = true;
      this.report('warning', 'outside-zone', `${printName(owner)} is outside the zone and was left out`, record);
      return false;
    }
    this.lastOwner = owner;
    const number = this.owners.add(owner, outside);
    if (number === this.current) return true;
    this.current = number;
    if (this.owners.has[number]! & Has.any) this.sets.isScattered = true;
    this.lastType = -1;
    this.runTypes = [];
    this.runTtls = [];
    this.run = [];
    return true;
  }

  /** Checks TTLs and duplicates among consecutive records, which nearly always include all records of an owner. */
  private checkRun(record: CheckedRecord): void {
    const { type, ttl, owner, rdata } = record;
    const at = this.runTypes.indexOf(type);
    const isNext = type === this.lastType;
    this.ofLastType = isNext ? this.ofLastType + 1 : 1;
    this.lastType = type;
    if (this.ofLastType > this.sets.largest) this.sets.largest = this.ofLastType;
    if (at >= 0 && !isNext) this.sets.isScattered = true;
    if (at < 0) {
      this.runTypes.push(type);
      this.runTtls.push(ttl);
    } else {
      // An RRset has one TTL (RFC 2181 §5.2); signatures form sets by the type they cover (RFC 4034 §3).
      if (this.runTtls[at] !== ttl && type !== Type.rrsig) {
        const message = `different TTLs in one RRset of ${printName(owner)}; the lowest is used`;
        this.report('warning', 'uneven-ttl', message, record);
        this.runTtls[at] = ttl;
      }
      if (this.run.some((other) => other.type === type && isSameRdata(type, other.rdata, rdata))) {
        const message = `${typeMnemonic(type)} of ${printName(owner)} written twice; it is kept once`;
        this.report('warning', 'duplicate-record', message, record);
      }
    }
    if (this.run.length < MAX_COMPARED) this.run.push(record);
  }

  private checkAlias(owner: number, record: CheckedRecord, place: number): void {
    this.hasAliases = true;
    if (record.flattened || this.options.flattens) this.owners.has[owner]! |= Has.flattened;
    const target = this.owners.targetOf(record.rdata, 0, this.apex);
    if (this.owners.aliases[owner] === 0) {
      this.owners.aliases[owner] = target;
      this.owners.aliasPlaces[owner] = place;
    } else if (this.owners.aliases[owner] !== target) {
      this.report('error', 'two-cnames', `second CNAME at ${printName(record.owner)}`, record);
    }
  }

  private checkDname(owner: number, record: CheckedRecord, place: number): void {
    const first = this.dnames.get(owner);
    if (!first) this.dnames.set(owner, { rdata: record.rdata, place });
    else if (!isSameRdata(Type.dname, first.rdata, record.rdata))
      this.report('error', 'two-dnames', `second DNAME at ${printName(record.owner)} (RFC 6672 §2.4)`, record);
  }

  private checkSemantics(record: CheckedRecord): void {
    const wrong = typeByCode(record.type).semanticFault(record.rdata);
    if (!wrong) return;
    const what = `${typeMnemonic(record.type)} of ${printName(record.owner)}`;
    this.report('error', 'bad-data', `${what}: ${wrong.member}: ${wrong.reason}`, record);
  }

  private checkSoa(record: CheckedRecord): void {
    if (this.current !== APEX)
      this.report('error', 'soa-below-apex', `SOA at ${printName(record.owner)}, which is not the apex`, record);
    else if (!this.soa) this.soa = record.rdata;
    else if (!isSameRdata(Type.soa, this.soa, record.rdata)) this.report('error', 'two-soas', 'second SOA', record);
  }

  private checkNameServer(owner: number, record: CheckedRecord, place: number): void {
    if (owner !== APEX && isWildcard(record.owner)) {
      const what = `NS at the wildcard ${printName(record.owner)} delegates only the names that end in it`;
      const message = `${what}; names that it matches answer NS like other types, and cannot be validated in a signed zone (RFC 4592 §4.2)`;
      this.report('warning', 'wildcard-ns', message, record);
    }
    if (owner !== APEX) this.hasCuts = true;
    this.noteTarget(owner, record, place, 0);
  }

  /**
   * Notes a name inside the zone that should have an address. The root means that there is no service (RFC 7505 §3).
   */
  private noteTarget(owner: number, { type, rdata }: CheckedRecord, place: number, at: number): void {
    if (this.targets.count >= MAX_TARGETS || nameLength(rdata, at) === 1) return;
    const target = this.owners.targetOf(rdata, at, this.apex);
    if (target > 0) this.targets.add(owner, target - 1, type, place);
  }

  private checkApex(): void {
    if (!this.options.selfContained) {
      // The file of another zone must not replace this one with nothing.
      const message = `nothing in the file is in ${printName(this.apex)}`;
      if (this.hasOutside && this.lastOwner === undefined) this.report('error', 'nothing-in-zone', message, {});
      return;
    }
    if (!this.soa) this.report('error', 'no-soa', `no SOA at ${printName(this.apex)}`, {});
    if (!(this.owners.has[APEX]! & Has.ns))
      this.report('warning', 'no-apex-ns', `no NS at ${printName(this.apex)}`, {});
  }

  private checkOwner(owner: number, has: number): void {
    const { owners } = this;
    const { selfContained } = this.options;
    if (has & Has.cname) {
      const place = owners.aliasPlaces[owner]!;
      const flattened = has & Has.flattened;
      if (owner === APEX && selfContained && !flattened) {
        this.reportAt('error', 'cname-at-apex', `CNAME at the apex ${this.print(owner)} (RFC 1912 §2.4)`, place);
      } else if (has & barredByCname(owner === APEX, flattened !== 0)) {
        const message = `CNAME beside other records at ${this.print(owner)} (RFC 1034 §3.6.2)`;
        this.reportAt('error', 'cname-with-other-data', message, place);
      }
    }
    if (owner !== APEX && has & Has.ns) {
      if (has & Has.dname) {
        const message = `DNAME beside NS at ${this.print(owner)} (RFC 6672 §2.3)`;
        this.reportAt('error', 'dname-with-ns', message, this.dnames.get(owner)!.place);
      } else if (has & (Has.other | Has.mx) && !this.print(owner).startsWith('*.')) {
        const message = `records other than NS, DS and addresses at the delegation ${this.print(owner)} are not answered`;
        this.reportAt('warning', 'occluded', message, owners.places[owner]!);
      }
    }
    if (has & Has.ds && !(has & Has.ns)) {
      this.reportAt('warning', 'ds-without-ns', `DS without NS at ${this.print(owner)}`, owners.places[owner]!);
    }
  }

  /**
   * Data below a DNAME is refused; data below a zone cut is accepted but never answered. The topmost of them decides.
   */
  private checkAncestors(owner: number, has: number): void {
    const { owners } = this;
    let top = -1;
    for (const ancestor of owners.ancestorsOf(owner)) {
      owners.has[ancestor]! |= Has.below;
      if (owners.has[ancestor]! & (ancestor === APEX ? Has.dname : Has.dname | Has.ns)) top = ancestor;
    }
    if (top < 0) return;
    const place = owners.places[owner]!;
    if (owners.has[top]! & Has.dname) {
      const message = `${this.print(owner)} is below the DNAME at ${this.print(top)} (RFC 6672 §2.4)`;
      this.reportAt('error', 'below-dname', message, place);
    } else if (has & DATA & ~Has.address) {
      const message = `${this.print(owner)} is below the delegation ${this.print(top)} and not answered`;
      this.reportAt('warning', 'occluded', message, place);
    }
  }

  private checkTarget(index: number): void {
    const { owners, targets } = this;
    const target = targets.targets[index]!;
    const has = owners.has[target]!;
    const what = nounOf(targets.types[index]!);
    if (has & Has.flattened) return;
    if (has & Has.cname) {
      const message = `${what} ${this.print(target)} is a CNAME (RFC 2181 §10.3)`;
      this.reportAt('warning', 'target-is-alias', message, targets.places[index]!);
    } else if (!(has & Has.address) && !owners.isCovered(target, targets.owners[index]!)) {
      const message = `${what} ${this.print(target)} has no address`;
      this.reportAt('warning', 'target-without-address', message, targets.places[index]!);
    }
  }

  private checkAliasTarget(owner: number): void {
    const { owners } = this;
    const target = owners.aliases[owner]! - 1;
    if (target < 0 || owners.has[target]! & (Has.any | Has.below) || owners.isCovered(target, -1)) return;
    const message = `${this.print(owner)} is a CNAME of ${this.print(target)}, which does not exist`;
    this.reportAt('warning', 'alias-target-missing', message, owners.aliasPlaces[owner]!);
  }

  private print(owner: number): string {
    return printName(this.owners.names.nameOf(owner, this.apex));
  }

  private reportAt(severity: Severity, code: string, message: string, place: number): void {
    this.report(severity, code, message, this.places.unpack(place));
  }

  private report(severity: Severity, code: string, message: string, { file, line }: Place): void {
    if (this.issues[severity].length >= MAX_ISSUES) {
      this.dropped[severity]++;
      return;
    }
    this.issues[severity].push({
      severity,
      code,
      message,
      ...(file === undefined ? {} : { file }),
      ...(line === undefined ? {} : { line }),
    });
  }

  private sorted(severity: Severity): Issue[] {
    const issues = this.issues[severity].sort((a, b) => (a.line ?? 0) - (b.line ?? 0));
    const more = this.dropped[severity];
    if (more > 0) issues.push({ severity, code: 'more-findings', message: `${more} more of these are not shown` });
    return issues;
  }
}

function nounOf(type: number): string {
  switch (type) {
    case Type.ns:
      return 'name server';
    case Type.mx:
      return 'mail exchange';
    default:
      return 'SRV target';
  }
}

/** Whether two rdata are equal; ignores letter case in names where case does not matter. */
function isSameRdata(type: number, a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  if (equalBytes(a, b)) return true;
  const { canonical } = typeByCode(type);
  return equalBytes(canonical(a), canonical(b));
}
