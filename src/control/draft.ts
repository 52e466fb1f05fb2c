/**
 * A write in progress. The use case edits records through the draft, which notes what is served at every touched owner
 * before the first edit there; the change log gets the difference to what is served afterwards. Edits without a difference
 * (a comment, the origin address of a proxied name) move no serial.
 */
import { invariant } from '../base/errors.js';
import { nextSerial } from '../dns/serial.js';
import { appendAudit } from '../store/audit.js';
import { appendChange, type ChangedRR, type ChangeKind, MOST_CHANGED_RRS } from '../store/changes.js';
import { insertRecord, type NewRecordRow, type RecordRow, recordStatements, updateRecord } from '../store/records.js';
import { updateZone, type ZoneChange, type ZoneRow, zoneStatements } from '../store/zones.js';
import type { Context } from './context.js';
import { diffServed, type ServedRR, servedAt } from './served.js';

export interface AuditEntry {
  /** What was done, such as `record.create`. */
  readonly action: string;
  readonly zone?: Uint8Array;
  /** Identifier of the thing changed. */
  readonly object?: Uint8Array;
  /** Plain values without secrets. */
  readonly before?: unknown;
  readonly after?: unknown;
}

/** A write in progress. Valid only while the function given to {@link commit} runs. */
export interface Draft {
  /** Microseconds since 1970, the same for everything in this commit. */
  readonly now: number;
  /** The zone's row as it is at this point of the transaction; undefined when it is gone. */
  zone(seq: number): ZoneRow | undefined;
  /** Records of the zone with the edits so far. */
  recordCount(zone: ZoneRow): number;
  insertRecord(row: NewRecordRow): void;
  updateRecord(before: RecordRow, after: RecordRow): void;
  removeRecord(row: RecordRow): void;
  /** Notes a change of a whole zone; the use case itself writes the rows. */
  noteZone(seq: number, kind: 'zone-added' | 'zone-removed' | 'zone-replaced' | 'settings'): void;
  setZone(seq: number, change: ZoneChange): void;
  audit(entry: AuditEntry): void;
}

export interface CommittedChange {
  readonly zone: number;
  readonly changeSeq: number;
  /** The serial after the change; undefined when the zone is gone. */
  readonly serial: number | undefined;
}

interface TouchedOwner {
  readonly ownerKey: Uint8Array;
  readonly before: readonly ServedRR[];
}

interface TouchedZone {
  readonly seq: number;
  kind: ChangeKind | undefined;
  records: number;
  readonly owners: Map<string, TouchedOwner>;
}

/** The draft behind the interface; made and finished by commit.ts only. */
export class OpenDraft implements Draft {
  readonly now: number;
  private readonly zones = new Map<number, TouchedZone>();
  private readonly entries: AuditEntry[] = [];

  constructor(private readonly ctx: Context) {
    this.now = ctx.clock.nowUs();
  }

  zone(seq: number): ZoneRow | undefined {
    return zoneStatements(this.ctx.store).bySeq.get(seq);
  }

  recordCount(zone: ZoneRow): number {
    return zone.record_count + (this.zones.get(zone.seq)?.records ?? 0);
  }

  insertRecord(row: NewRecordRow): void {
    this.touch(row.zone, row.owner_key).records++;
    insertRecord(this.ctx.store, row);
  }

  updateRecord(before: RecordRow, after: RecordRow): void {
    this.touch(before.zone, before.owner_key);
    this.touch(after.zone, after.owner_key);
    updateRecord(this.ctx.store, after);
  }

  removeRecord(row: RecordRow): void {
    this.touch(row.zone, row.owner_key).records--;
    recordStatements(this.ctx.store).remove.run(row.seq);
  }

  noteZone(seq: number, kind: 'zone-added' | 'zone-removed' | 'zone-replaced' | 'settings'): void {
    const touched = this.touchedZone(seq);
    // What concerns the whole zone covers its settings.
    if (touched.kind === undefined || touched.kind === 'settings') touched.kind = kind;
  }

  setZone(seq: number, change: ZoneChange): void {
    updateZone(this.ctx.store, seq, { ...change, modified_at: this.now });
  }

  audit(entry: AuditEntry): void {
    this.entries.push(entry);
  }

  private touchedZone(seq: number): TouchedZone {
    let touched = this.zones.get(seq);
    if (!touched) this.zones.set(seq, (touched = { seq, kind: undefined, records: 0, owners: new Map() }));
    return touched;
  }

  private touch(seq: number, ownerKey: Uint8Array): TouchedZone {
    const touched = this.touchedZone(seq);
    const key = Buffer.from(ownerKey).toString('latin1');
    if (!touched.owners.has(key)) {
      const zone = this.zone(seq);
      invariant(zone, 'records are edited in zones that exist');
      touched.owners.set(key, { ownerKey, before: servedAt(this.ctx.store, zone, ownerKey, this.ctx.settings) });
    }
    return touched;
  }

  /** Serials, change log, audit log; the last thing inside the transaction. */
  finish(): CommittedChange[] {
    const changes = [...this.zones.values()].flatMap((touched) => this.finishZone(touched) ?? []);
    for (const entry of this.entries) this.appendAudit(entry);
    return changes;
  }

  private finishZone(touched: TouchedZone): CommittedChange | undefined {
    const zone = this.zone(touched.seq);
    if (!zone) return this.append(touched.seq, 'zone-removed', null, null, []);
    const count = { record_count: zone.record_count + touched.records, version: zone.version + 1 };
    const rrs = touched.kind === undefined || touched.kind === 'settings' ? this.difference(zone, touched) : [];
    const kind = touched.kind ?? (rrs.length > 0 ? 'rrs' : undefined);
    if (kind === undefined || kind === 'zone-added') {
      updateZone(this.ctx.store, zone.seq, count);
      return kind && this.append(zone.seq, kind, null, zone.serial, []);
    }
    const serial = kind === 'zone-replaced' ? zone.serial : nextSerial(zone.serial);
    updateZone(this.ctx.store, zone.seq, { ...count, serial });
    // Settings and records at once, or more records than a follower should read one by one: load the zone anew.
    const whole = (kind === 'settings' && rrs.length > 0) || rrs.length > MOST_CHANGED_RRS;
    const serialFrom = kind === 'zone-replaced' ? null : zone.serial;
    return this.append(zone.seq, whole ? 'zone-replaced' : kind, serialFrom, serial, whole ? [] : rrs);
  }

  private difference(zone: ZoneRow, touched: TouchedZone): ChangedRR[] {
    const removed: ChangedRR[] = [];
    const added: ChangedRR[] = [];
    for (const { ownerKey, before } of touched.owners.values()) {
      const diff = diffServed(before, servedAt(this.ctx.store, zone, ownerKey, this.ctx.settings));
      for (const rr of diff.removed) removed.push({ op: 0, owner_key: ownerKey, ...rr });
      for (const rr of diff.added) added.push({ op: 1, owner_key: ownerKey, ...rr });
    }
    return [...removed, ...added];
  }

  private append(
    zone: number,
    kind: ChangeKind,
    serialFrom: number | null,
    serialTo: number | null,
    rrs: readonly ChangedRR[],
  ): CommittedChange {
    const { actor, requestId, store } = this.ctx;
    const atUs = this.now;
    const changeSeq = appendChange(store, {
      atUs,
      zone,
      kind,
      serialFrom,
      serialTo,
      actor: actor.email,
      requestId,
      rrs,
    });
    return { zone, changeSeq, serial: serialTo ?? undefined };
  }

  private appendAudit(entry: AuditEntry): void {
    const { actor, requestId, source, store } = this.ctx;
    appendAudit(store, {
      at_us: this.now,
      actor: actor.email,
      actor_kind: actor.kind,
      source,
      action: entry.action,
      zone: entry.zone ?? null,
      object: entry.object ?? null,
      request_id: requestId,
      before: entry.before === undefined ? null : JSON.stringify(entry.before),
      after: entry.after === undefined ? null : JSON.stringify(entry.after),
    });
  }
}
