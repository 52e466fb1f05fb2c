/**
 * Is this a zone that can be served? Mistakes that span records: aliases beside other data, two SOAs, names outside, occluded
 * data, name servers without addresses. Records are added one by one in any order; the verdict comes at the end.
 *
 * Errors are what NSD, Knot and BIND refuse alike; where they differ the lighter word is a warning.
 */
import type { Issue, Severity } from '../base/result.js';
import { Type } from '../dns/codes.js';
import { isAtOrBelow, isWildcard, lowerName, nameLength, nameOfOwnerKey, ownerKeyOf, printName } from '../dns/name.js';

/** What of a record the checker looks at. */
export interface CheckedRecord {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly ttl: number | undefined;
  readonly rdata: Uint8Array;
  readonly file?: string | undefined;
  /** 1-based. */
  readonly line?: number | undefined;
}

export interface ZoneChecker {
  /** Returns false when the record lies outside the zone and is to be left out. */
  add(record: CheckedRecord): boolean;
  /** All findings, errors first, in the order of lines. Records may not be added afterwards. */
  finish(): Issue[];
}

export interface CheckOptions {
  /** The zone has an SOA and apex NS of its own, as a zone file must; otherwise the service provides them. */
  readonly selfContained: boolean;
}

const MAX_ISSUES = 1000;
const MAX_TARGETS = 200_000;

/** What stands at an owner. */
const Has = { cname: 1, other: 2, ns: 4, dname: 8, ds: 16, address: 32 } as const;

/** Types that may stand beside a CNAME (RFC 4034 §2.5, §3). */
const BESIDE_CNAME: ReadonlySet<number> = new Set([Type.rrsig, Type.nsec, Type.nsec3]);

interface Place {
  readonly file: string | undefined;
  readonly line: number | undefined;
}

interface Single extends Place {
  readonly key: string;
  readonly rdata: Uint8Array;
}

interface Target extends Place {
  readonly owner: string;
  readonly type: number;
  readonly name: string;
}

export function createZoneChecker(apex: Uint8Array, options: CheckOptions): ZoneChecker {
  return new Checker(lowerName(apex), options);
}

class Checker implements ZoneChecker {
  private readonly issues: Issue[] = [];
  /** Owner key as latin1 text → what stands there. */
  private readonly owners = new Map<string, number>();
  private readonly cnames = new Map<string, Single>();
  private readonly dnames = new Map<string, Single>();
  private readonly targets: Target[] = [];
  private soa: Single | undefined;
  private hasWildcard = false;
  private lastOwner: Uint8Array | undefined;
  private lastKey = '';
  private readonly lastTtls = new Map<number, number>();

  constructor(
    private readonly apex: Uint8Array,
    private readonly options: CheckOptions,
  ) {}

  add(record: CheckedRecord): boolean {
    const { owner, type } = record;
    if (owner !== this.lastOwner) {
      if (!isAtOrBelow(owner, this.apex)) {
        this.report('warning', 'outside-zone', `${printName(owner)} is outside the zone and was left out`, record);
        return false;
      }
      this.lastOwner = owner;
      this.lastKey = keyText(ownerKeyOf(owner, this.apex));
      this.lastTtls.clear();
      if (isWildcard(owner)) this.hasWildcard = true;
    }
    const key = this.lastKey;
    this.checkTtl(record);
    this.owners.set(key, (this.owners.get(key) ?? 0) | whatIs(type));
    if (type === Type.cname) this.checkSingle(this.cnames, key, record, 'two-cnames', 'second CNAME');
    else if (type === Type.dname) this.checkSingle(this.dnames, key, record, 'two-dnames', 'second DNAME');
    else if (type === Type.soa) this.checkSoa(key, record);
    else if (type === Type.ns) this.checkNameServer(key, record);
    else if (type === Type.mx || type === Type.srv) this.noteTarget(key, record, type === Type.mx ? 2 : 6);
    return true;
  }

  finish(): Issue[] {
    this.checkApex();
    const cuts = new Set<string>();
    for (const [key, has] of this.owners) {
      if (key !== '' && has & Has.ns) cuts.add(key);
      this.checkOwner(key, has);
    }
    if (cuts.size > 0 || this.dnames.size > 0) for (const key of this.owners.keys()) this.checkAncestors(key, cuts);
    for (const target of this.targets) this.checkTarget(target, cuts);
    return this.issues.sort((a, b) => severityRank(a) - severityRank(b) || (a.line ?? 0) - (b.line ?? 0));
  }

  /** One TTL an RRset (RFC 2181 §5.2). Seen only where an owner's records stand together, as they nearly always do. */
  private checkTtl(record: CheckedRecord): void {
    const { type, ttl } = record;
    if (ttl === undefined) return;
    const known = this.lastTtls.get(type);
    if (known === undefined) this.lastTtls.set(type, ttl);
    else if (known !== ttl) {
      this.report(
        'warning',
        'uneven-ttl',
        `different TTLs in one RRset of ${printName(record.owner)}; the lowest is used`,
        record,
      );
      this.lastTtls.set(type, ttl);
    }
  }

  private checkSingle(
    known: Map<string, Single>,
    key: string,
    record: CheckedRecord,
    code: string,
    what: string,
  ): void {
    const first = known.get(key);
    if (!first) known.set(key, singleOf(key, record));
    else if (!sameNames(first.rdata, record.rdata))
      this.report('error', code, `${what} at ${printName(record.owner)}`, record);
  }

  private checkSoa(key: string, record: CheckedRecord): void {
    if (key !== '')
      this.report('error', 'soa-below-apex', `SOA at ${printName(record.owner)}, which is not the apex`, record);
    else if (!this.soa) this.soa = singleOf(key, record);
    else if (Buffer.compare(this.soa.rdata, record.rdata) !== 0) this.report('error', 'two-soas', 'second SOA', record);
  }

  private checkNameServer(key: string, record: CheckedRecord): void {
    if (isWildcard(record.owner)) {
      this.report('error', 'wildcard-ns', `NS at the wildcard ${printName(record.owner)} (RFC 4592 §4.2)`, record);
    }
    this.noteTarget(key, record, 0);
  }

  private noteTarget(owner: string, record: CheckedRecord, at: number): void {
    if (this.targets.length >= MAX_TARGETS) return;
    const name = record.rdata.subarray(at, at + nameLength(record.rdata, at));
    if (!isAtOrBelow(name, this.apex)) return;
    const { type, file, line } = record;
    this.targets.push({ owner, type, name: keyText(ownerKeyOf(name, this.apex)), file, line });
  }

  private checkApex(): void {
    if (!this.options.selfContained) return;
    if (!this.soa) this.report('error', 'no-soa', `no SOA at ${printName(this.apex)}`, {});
    if (!((this.owners.get('') ?? 0) & Has.ns))
      this.report('warning', 'no-apex-ns', `no NS at ${printName(this.apex)}`, {});
  }

  private checkOwner(key: string, has: number): void {
    if (has & Has.cname) {
      const cname = this.cnames.get(key)!;
      if (key === '' && this.options.selfContained) {
        this.report('error', 'cname-at-apex', `CNAME at the apex ${this.printKey(key)}`, cname);
      } else if (has & ~Has.cname) {
        this.report(
          'error',
          'cname-with-other-data',
          `CNAME beside other records at ${this.printKey(key)} (RFC 1034 §3.6.2)`,
          cname,
        );
      }
    }
    if (has & Has.dname && has & Has.ns && key !== '') {
      this.report(
        'error',
        'dname-with-ns',
        `DNAME beside NS at ${this.printKey(key)} (RFC 6672 §2.3)`,
        this.dnames.get(key)!,
      );
    }
    if (has & Has.ds && !(has & Has.ns)) {
      this.report('warning', 'ds-without-ns', `DS without NS at ${this.printKey(key)}`, {});
    }
  }

  /** Data below a DNAME is refused, below a cut it is only never answered. */
  private checkAncestors(key: string, cuts: ReadonlySet<string>): void {
    for (let end = key.indexOf('\0'); end >= 0 && end < key.length - 1; end = key.indexOf('\0', end + 1)) {
      const ancestor = key.slice(0, end + 1);
      if (this.dnames.has(ancestor)) {
        this.reportBelowDname(key, ancestor);
        return;
      }
      if (cuts.has(ancestor)) {
        if (!((this.owners.get(key) ?? 0) & ~Has.address)) return;
        this.report(
          'warning',
          'occluded',
          `${this.printKey(key)} is below the delegation ${this.printKey(ancestor)} and not answered`,
          {},
        );
        return;
      }
    }
    if (key !== '' && this.dnames.has('')) this.reportBelowDname(key, '');
  }

  private reportBelowDname(key: string, dname: string): void {
    const place = this.dnames.get(dname)!;
    this.report(
      'error',
      'below-dname',
      `${this.printKey(key)} is below the DNAME at ${this.printKey(dname)} (RFC 6672 §2.4)`,
      place,
    );
  }

  private checkTarget(target: Target, cuts: ReadonlySet<string>): void {
    const has = this.owners.get(target.name);
    const what = target.type === Type.ns ? 'name server' : target.type === Type.mx ? 'mail exchange' : 'SRV target';
    if (has !== undefined && has & Has.cname) {
      this.report(
        'warning',
        'target-is-alias',
        `${what} ${this.printKey(target.name)} is a CNAME (RFC 2181 §10.3)`,
        target,
      );
    } else if ((has === undefined || !(has & Has.address)) && !this.hasWildcard && !isBelowOther(target, cuts)) {
      this.report('warning', 'target-without-address', `${what} ${this.printKey(target.name)} has no address`, target);
    }
  }

  private printKey(key: string): string {
    return printName(nameOfOwnerKey(Buffer.from(key, 'latin1'), this.apex));
  }

  private report(severity: Severity, code: string, message: string, place: Partial<Place>): void {
    if (this.issues.length >= MAX_ISSUES) return;
    const { file, line } = place;
    this.issues.push({
      severity,
      code,
      message,
      ...(file === undefined ? {} : { file }),
      ...(line === undefined ? {} : { line }),
    });
  }
}

function whatIs(type: number): number {
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
    default:
      return BESIDE_CNAME.has(type) ? 0 : Has.other;
  }
}

function singleOf(key: string, { rdata, file, line }: CheckedRecord): Single {
  return { key, rdata, file, line };
}

function sameNames(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(lowerName(a), lowerName(b)) === 0;
}

/** Whether the target lies below a delegation that the record itself is not part of: its address is elsewhere. */
function isBelowOther({ owner, name }: Target, cuts: ReadonlySet<string>): boolean {
  if (cuts.size === 0) return false;
  for (let end = name.indexOf('\0'); end >= 0; end = name.indexOf('\0', end + 1)) {
    const ancestor = name.slice(0, end + 1);
    if (ancestor !== owner && cuts.has(ancestor)) return true;
  }
  return false;
}

function keyText(key: Uint8Array): string {
  return Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1');
}

function severityRank({ severity }: Issue): number {
  return severity === 'error' ? 0 : 1;
}
