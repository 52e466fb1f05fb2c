/** The change log: what followers apply, what IXFR and history read. Within a change removed records come first. */
import { Type } from '../../dns/codes.js';
import { perStore, type Store } from '../driver.js';

export type ChangeKind = 'zone-added' | 'zone-removed' | 'zone-replaced' | 'rrs' | 'settings' | 'derived';

export interface ChangeRow {
  readonly seq: number;
  readonly at_us: number;
  /** Store number of the zone, which may be gone. */
  readonly zone: number;
  readonly kind: ChangeKind;
  readonly serial_from: number | null;
  readonly serial_to: number | null;
  readonly actor: string;
  readonly request_id: string;
}

/** A record taken away (`op` 0) or added (`op` 1), as resolvers saw or see it. */
export interface ChangedRR {
  readonly op: 0 | 1;
  readonly owner_key: Uint8Array;
  readonly type: number;
  readonly ttl: number;
  readonly rdata: Uint8Array;
}

/**
 * Rdata that stands for addresses nobody knows yet, answered with SERVFAIL: so that followers hear of the owner. No address has
 * zero octets; what prints records leaves it out.
 */
export const UNKNOWN_DATA: Uint8Array = new Uint8Array(0);

export function isUnknownData({ type, rdata }: ChangedRR): boolean {
  return rdata.length === 0 && (type === Type.a || type === Type.aaaa);
}

/** Changes of more records than this are written as 'zone-replaced' without their records. */
export const MOST_CHANGED_RRS = 5000;

/** Changes kept; older ones are removed in slices. A follower or secondary that is further behind loads the whole zone. */
const KEPT_CHANGES = 200_000;
const PRUNE_EVERY = 1000;

const statements = perStore((store) => ({
  insert: store.prepare<
    [
      atUs: number,
      zone: number,
      kind: ChangeKind,
      serialFrom: number | null,
      serialTo: number | null,
      actor: string,
      requestId: string,
    ]
  >(`INSERT INTO changes (at_us, zone, kind, serial_from, serial_to, actor, request_id) VALUES (?, ?, ?, ?, ?, ?, ?)`),
  insertRR: store.prepare<
    [change: number, ord: number, op: number, ownerKey: Uint8Array, type: number, ttl: number, rdata: Uint8Array]
  >('INSERT INTO change_rrs (change, ord, op, owner_key, type, ttl, rdata) VALUES (?, ?, ?, ?, ?, ?, ?)'),
  after: store.prepare<[seq: number, limit: number], ChangeRow>(
    'SELECT * FROM changes WHERE seq > ? ORDER BY seq LIMIT ?',
  ),
  rrs: store.prepare<[change: number], ChangedRR>(
    'SELECT op, owner_key, type, ttl, rdata FROM change_rrs WHERE change = ? ORDER BY ord',
  ),
  owners: store.prepareTuples<[change: number], [Uint8Array]>(
    'SELECT DISTINCT owner_key FROM change_rrs WHERE change = ?',
  ),
  bySeq: store.prepare<[seq: number], ChangeRow>('SELECT * FROM changes WHERE seq = ?'),
  last: store.prepareTuples<[], [number | null]>('SELECT max(seq) FROM changes'),
  first: store.prepareTuples<[], [number | null]>('SELECT min(seq) FROM changes'),
  pruneRRs: store.prepare<[seq: number]>('DELETE FROM change_rrs WHERE change <= ?'),
  prune: store.prepare<[seq: number]>('DELETE FROM changes WHERE seq <= ?'),
}));

export interface NewChange {
  readonly atUs: number;
  readonly zone: number;
  readonly kind: ChangeKind;
  readonly serialFrom: number | null;
  readonly serialTo: number | null;
  readonly actor: string;
  readonly requestId: string;
  /** Removed ones first. */
  readonly rrs: readonly ChangedRR[];
}

/** Appends a change and returns its number. Called from the one commit function only, inside its transaction. */
export function appendChange(store: Store, change: NewChange): number {
  const { insert, insertRR, pruneRRs, prune } = statements(store);
  const { atUs, zone, kind, serialFrom, serialTo, actor, requestId, rrs } = change;
  const seq = insert.run(atUs, zone, kind, serialFrom, serialTo, actor, requestId).lastInsertRowid;
  rrs.forEach((rr, ord) => {
    insertRR.run(seq, ord, rr.op, rr.owner_key, rr.type, rr.ttl, rr.rdata);
  });
  if (seq % PRUNE_EVERY === 0 && seq > KEPT_CHANGES) {
    pruneRRs.run(seq - KEPT_CHANGES);
    prune.run(seq - KEPT_CHANGES);
  }
  return seq;
}

export function findChange(store: Store, seq: number): ChangeRow | undefined {
  return statements(store).bySeq.get(seq);
}

/** The records of a change, removed ones first. */
export function rrsOfChange(store: Store, change: number): ChangedRR[] {
  return statements(store).rrs.all(change);
}

/** Changes after a number, in order, at most `limit`. */
export function changesAfter(store: Store, seq: number, limit: number): ChangeRow[] {
  return statements(store).after.all(seq, limit);
}

/** Owner keys touched by one change, each once. */
export function touchedOwners(store: Store, change: number): Uint8Array[] {
  return statements(store)
    .owners.all(change)
    .map(([ownerKey]) => ownerKey);
}

/** Number of the newest change; 0 when there is none. */
export function lastChange(store: Store): number {
  return statements(store).last.get()?.[0] ?? 0;
}

/** Number of the oldest change still kept; 0 when there is none. */
export function firstChange(store: Store): number {
  return statements(store).first.get()?.[0] ?? 0;
}
