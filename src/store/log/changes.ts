/**
 * The change log, which followers apply, transfers send and the history shows. A complete change lists every record
 * that it removes from and adds to what resolvers see. Applied to the zone as it was served, it gives the zone as it is
 * served afterwards.
 */

import { ByteReader, equalBytes } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import { allRows, oneRow, valueOrZero } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { entriesToPrune, type PrunedLog } from './prune.js';

/** What happened to the zone. */
export type ChangeKind = 'zone-added' | 'zone-removed' | 'zone-replaced' | 'rrs' | 'settings';

export interface ChangeRow {
  readonly seq: number;
  readonly at_us: number;
  /** Store number of the zone, which may be deleted. */
  readonly zone: number;
  readonly kind: ChangeKind;
  /** Null for new and deleted zones. */
  readonly serial_from: number | null;
  readonly serial_to: number | null;
  /** 1: its records and SOAs are the whole difference. 0: no records are listed, and followers read the whole zone. */
  readonly complete: number;
  /** Rdata and TTL (seconds) of the SOA before and after; null when it did not change or did not exist. */
  readonly soa_from: Uint8Array | null;
  readonly soa_to: Uint8Array | null;
  readonly soa_ttl_from: number | null;
  readonly soa_ttl_to: number | null;
  readonly actor: string;
  readonly request_id: string;
}

/** A record that was removed (`op` 0) or added (`op` 1), as resolvers see it. */
export interface ChangedRR {
  readonly op: 0 | 1;
  readonly owner_key: Uint8Array;
  readonly type: number;
  readonly ttl: number;
  readonly rdata: Uint8Array;
}

/** Rdata of the marks described below. */
export const NO_DATA: Uint8Array = new Uint8Array(0);
/** Type of the mark for a name that exists without any answered record; zero is not a type (RFC 6895 §3.1). */
export const NO_TYPE = 0;

/**
 * Whether an entry is a mark, which stands for no record. A mark tells followers about an owner whose addresses are not
 * known yet (answered with SERVFAIL) or that exists without data. Code that prints or sends records skips marks.
 */
export function isMark({ type, rdata }: ChangedRR): boolean {
  return rdata.length === 0 && (type === NO_TYPE || type === Type.a || type === Type.aaaa);
}

/** Changes with more records than this are not complete. */
export const MOST_CHANGED_RRS = 5000;
/** The same for signed zones: a new owner adds a record, its NSEC, two signatures, and changes the owner before it. */
export const MOST_CHANGED_SIGNED_RRS = 8 * MOST_CHANGED_RRS;
/** Changes whose records have more octets are not complete either, because a reader has all records of a change in memory. */
export const MOST_CHANGED_OCTETS = 16 << 20;

/**
 * Number of changes kept; older ones are removed in batches. A follower or secondary that is further behind loads the
 * whole zone. Followers are never further behind than the newest ones.
 */
const KEPT: PrunedLog = { table: 'changes', kept: 200_000, newest: 50_000 };
const PRUNE_EVERY = 1000;

/** The columns of a {@link ChangeRow}; the records of a change are read separately. */
const COLUMNS =
  'seq, at_us, zone, kind, serial_from, serial_to, complete, soa_from, soa_to, soa_ttl_from, soa_ttl_to, actor, request_id';

const statements = perStore((store) => ({
  insert: store.prepare<
    [
      atUs: number,
      zone: number,
      kind: ChangeKind,
      serialFrom: number | null,
      serialTo: number | null,
      complete: number,
      soaFrom: Uint8Array | null,
      soaTo: Uint8Array | null,
      soaTtlFrom: number | null,
      soaTtlTo: number | null,
      actor: string,
      requestId: string,
      rrs: Uint8Array | null,
    ]
  >(
    `INSERT INTO changes (at_us, zone, kind, serial_from, serial_to, complete, soa_from, soa_to, soa_ttl_from, soa_ttl_to,
       actor, request_id, rrs)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  rrs: store.prepareTuples<[change: number], [Uint8Array | null]>('SELECT rrs FROM changes WHERE seq = ?'),
  bySerial: store.prepareTuples<[zone: number, after: number, serial: number], [number | null]>(
    'SELECT max(seq) FROM changes WHERE zone = ? AND seq > ? AND serial_from = ?',
  ),
  ofZone: store.prepare<[zone: number, seq: number, limit: number], ChangeRow>(
    `SELECT ${COLUMNS} FROM changes WHERE zone = ? AND seq >= ? ORDER BY seq LIMIT ?`,
  ),
  prune: store.prepare<[seq: number]>('DELETE FROM changes WHERE seq = ?'),
}));

/** A SOA as it is served. */
export interface SoaRR {
  /** Seconds. */
  readonly ttl: number;
  readonly rdata: Uint8Array;
}

export interface NewChange {
  readonly atUs: number;
  readonly zone: number;
  readonly kind: ChangeKind;
  readonly serialFrom: number | null;
  readonly serialTo: number | null;
  readonly complete: boolean;
  /** The SOAs before and after, when they differ. */
  readonly soaFrom?: SoaRR | undefined;
  readonly soaTo?: SoaRR | undefined;
  readonly actor: string;
  readonly requestId: string;
  /** Removed records first, without SOAs; also packed already, in parts. */
  readonly rrs: readonly ChangedRR[] | PackedRRs;
}

/** Records of a change as they are stored ({@link packRRs}). */
export interface PackedRRs {
  readonly parts: readonly Uint8Array[];
}

/** Appends a change and returns its number. Only the commit function calls it, inside its transaction. */
export function appendChange(store: Store, change: NewChange): number {
  const { insert } = statements(store);
  const { soaFrom, soaTo } = change;
  const { lastInsertRowid: seq } = insert.run(
    change.atUs,
    change.zone,
    change.kind,
    change.serialFrom,
    change.serialTo,
    change.complete ? 1 : 0,
    soaFrom?.rdata ?? null,
    soaTo?.rdata ?? null,
    soaFrom?.ttl ?? null,
    soaTo?.ttl ?? null,
    change.actor,
    change.requestId,
    storedRRs(change.rrs),
  );
  if (seq % PRUNE_EVERY === 0 && seq > KEPT.kept) pruneChanges(store, KEPT, change.atUs);
  return seq;
}

/** Octets of a record besides its owner and its rdata: op, type, TTL, both lengths. */
const FIXED = 10;
/** Those before its owner. */
const OWNER_AT = 7;
/** Marks an owner key of at least this length; its length follows. Zero octets in names make keys long. */
const LONG = 0xff;

/** Octets of the records of a change, as they are stored. */
export function packedOctets(rrs: readonly ChangedRR[]): number {
  return rrs.reduce(
    (sum, { owner_key: owner, rdata }) => sum + FIXED + (owner.length < LONG ? 0 : 2) + owner.length + rdata.length,
    0,
  );
}

/** One value; null if there are none. A row for each would take most of the time of a write. */
function storedRRs(rrs: NewChange['rrs']): Uint8Array | null {
  const octets = 'parts' in rrs ? Buffer.concat(rrs.parts) : packRRs(rrs);
  return octets.length === 0 ? null : octets;
}

export function packRRs(rrs: readonly ChangedRR[]): Uint8Array {
  const octets = Buffer.allocUnsafe(packedOctets(rrs));
  let at = 0;
  for (const { op, owner_key: owner, type, ttl, rdata } of rrs) {
    at = octets.writeUInt8(op, at);
    at = octets.writeUInt16BE(type, at);
    at = octets.writeUInt32BE(ttl, at);
    at = octets.writeUInt8(Math.min(owner.length, LONG), at);
    if (owner.length >= LONG) at = octets.writeUInt16BE(owner.length, at);
    octets.set(owner, at);
    at = octets.writeUInt16BE(rdata.length, at + owner.length);
    octets.set(rdata, at);
    at += rdata.length;
  }
  return octets;
}

/** The records of a change, in their order; owners and rdata are views of the value. */
export function unpackRRs(octets: Uint8Array): ChangedRR[] {
  const rrs: ChangedRR[] = [];
  const reader = new ByteReader(octets);
  while (reader.remaining > 0) {
    const [op, type, ttl] = [reader.u8() === 1 ? 1 : 0, reader.u16(), reader.u32()] as const;
    const length = reader.u8();
    const owner_key = reader.octets(length < LONG ? length : reader.u16());
    rrs.push({ op, owner_key, type, ttl, rdata: reader.octets(reader.u16()) });
  }
  return rrs;
}

/** Removes changes beyond what is kept. */
export function pruneChanges(store: Store, kept: PrunedLog, nowUs: number): void {
  const { prune } = statements(store);
  for (const seq of entriesToPrune(store, kept, nowUs)) prune.run(seq);
}

export const findChange = oneRow<[seq: number], ChangeRow>(`SELECT ${COLUMNS} FROM changes WHERE seq = ?`);

/**
 * The records of a change in the order of an incremental transfer (RFC 1995 §4): old SOA, removed records, new SOA,
 * added records. For a change that is not complete, only the SOAs.
 */
export function rrsOfChange(store: Store, change: ChangeRow): ChangedRR[] {
  const rrs = listedRRs(store, change.seq);
  const of = (op: 0 | 1): ChangedRR[] => rrs.filter((rr) => rr.op === op);
  return [
    ...soaOfChange(0, change.soa_ttl_from, change.soa_from),
    ...of(0),
    ...soaOfChange(1, change.soa_ttl_to, change.soa_to),
    ...of(1),
  ];
}

function listedRRs(store: Store, change: number): ChangedRR[] {
  const [octets] = statements(store).rrs.get(change) ?? [];
  return octets ? unpackRRs(octets) : [];
}

function soaOfChange(op: 0 | 1, ttl: number | null, rdata: Uint8Array | null): ChangedRR[] {
  return ttl === null || rdata === null ? [] : [{ op, owner_key: new Uint8Array(0), type: Type.soa, ttl, rdata }];
}

/** Changes after a number, in order; no more than `limit`. */
export const changesAfter = allRows<[seq: number, limit: number], ChangeRow>(
  `SELECT ${COLUMNS} FROM changes WHERE seq > ? ORDER BY seq LIMIT ?`,
);

/** Most changes between two versions of a zone that are listed. */
const MOST_STEPS = 10_000;

/**
 * The changes of a zone since it had a serial, in order; none when no kept change after number `after` began there, or
 * when there are very many.
 */
export function changesSince(store: Store, zone: number, serial: number, after: number): ChangeRow[] {
  const { bySerial, ofZone } = statements(store);
  const first = bySerial.get(zone, after, serial)?.[0] ?? null;
  const changes = first === null ? [] : ofZone.all(zone, first, MOST_STEPS + 1);
  return changes.length > MOST_STEPS ? [] : changes;
}

/** Owner keys that one change touches, each once. */
export function touchedOwners(store: Store, change: number): Uint8Array[] {
  const owners = new Map<string, Uint8Array>();
  const [octets] = statements(store).rrs.get(change) ?? [];
  const reader = new ByteReader(octets ?? NO_DATA);
  let last: Uint8Array | undefined;
  while (reader.remaining > 0) {
    reader.skip(OWNER_AT);
    const length = reader.u8();
    const ownerKey = reader.octets(length < LONG ? length : reader.u16());
    reader.skip(reader.u16());
    // The records of an owner mostly stand together.
    if (last && equalBytes(last, ownerKey)) continue;
    last = ownerKey;
    owners.set(Buffer.from(ownerKey.buffer, ownerKey.byteOffset, ownerKey.length).toString('latin1'), ownerKey);
  }
  return [...owners.values()];
}

/** Number of the newest change; 0 when there is none. */
export const lastChange = valueOrZero<[]>('SELECT max(seq) FROM changes');

/** Number of the oldest kept change; 0 when there is none. */
export const firstChange = valueOrZero<[]>('SELECT min(seq) FROM changes');
