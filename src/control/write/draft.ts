/**
 * A write in progress. The use case edits records through the draft, which notes what is served at every touched owner
 * before the first edit there; the change log gets the difference to what is served afterwards. Edits without a difference
 * (a comment, the origin address of a proxied name) move no serial. The journal gets what undoes the edits.
 */
import { toHex } from '../../base/bytes.js';
import { invariant } from '../../base/errors.js';
import { typeMnemonic } from '../../dns/rr/registry.js';
import { nextSerial } from '../../dns/serial.js';
import { servedAtOwner } from '../../serving/owner.js';
import { diffServed, rrsOf, type ServedRR, soaOf } from '../../serving/served-rr.js';
import { type ServingZone, servingZone } from '../../serving/zone.js';
import { appendAudit } from '../../store/access/audit.js';
import { appendChange, type ChangedRR, type ChangeKind, MOST_CHANGED_RRS } from '../../store/log/changes.js';
import { appendEdit, type EditKind } from '../../store/log/edits.js';
import {
  insertRecord,
  type NewRecordRow,
  type RecordRow,
  removeRecord,
  updateRecord,
} from '../../store/records/records.js';
import { findZone, findZoneById, updateZone, type ZoneChange, type ZoneRow } from '../../store/zones/zones.js';
import { requireRecord } from '../access/access.js';
import { refreshTargetsSoon, reindexFlattened } from '../flatten/index.js';
import type { Context } from './context.js';
import { ownersOfSettings, type TouchedZone, touchZone } from './touched-zone.js';
import type { ZoneOutcome } from './zone-outcome.js';

export interface AuditEntry {
  /** What was done, such as `record.create`. */
  readonly action: string;
  readonly zone?: Uint8Array;
  /** Store number of the account, where no zone tells it. */
  readonly account?: number | undefined;
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
  /** Notes that the zone's records are replaced past the draft: what they were before is not kept. */
  forgetRecords(seq: number): void;
  setZone(seq: number, change: ZoneChange): void;
  /** Notes that what is known of the target of a flattened name is about to change. Nobody edits anything. */
  noteTarget(seq: number, ownerKey: Uint8Array): void;
  audit(entry: AuditEntry): void;
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
    return findZone(this.ctx.store, seq);
  }

  recordCount(zone: ZoneRow): number {
    return zone.record_count + (this.zones.get(zone.seq)?.records ?? 0);
  }

  insertRecord(row: NewRecordRow): void {
    this.requireRecord(row);
    const touched = this.touchOwner(row.zone, row.owner_key);
    touched.records++;
    touched.edited.push({ id: row.id, was: null });
    insertRecord(this.ctx.store, row);
  }

  updateRecord(before: RecordRow, after: RecordRow): void {
    this.requireRecord(before);
    this.requireRecord(after);
    this.touchOwner(before.zone, before.owner_key);
    this.touchOwner(after.zone, after.owner_key).edited.push({ id: before.id, was: before });
    updateRecord(this.ctx.store, after);
  }

  removeRecord(row: RecordRow): void {
    this.requireRecord(row);
    const touched = this.touchOwner(row.zone, row.owner_key);
    touched.records--;
    touched.edited.push({ id: row.id, was: row });
    removeRecord(this.ctx.store, row.seq);
  }

  noteZone(seq: number, kind: 'zone-added' | 'zone-removed' | 'zone-replaced' | 'settings'): void {
    const touched = this.touchForEdit(seq);
    // What concerns the whole zone covers its settings.
    if (touched.kind === undefined || touched.kind === 'settings') touched.kind = kind;
  }

  forgetRecords(seq: number): void {
    this.touchForEdit(seq).undoable = false;
  }

  setZone(seq: number, change: ZoneChange): void {
    const touched = this.touchForEdit(seq);
    const { owners, all } = ownersOfSettings(this.ctx.store, touched.before, Object.keys(change));
    if (!all) touched.told = false;
    for (const ownerKey of owners) this.noteServed(touched, ownerKey);
    updateZone(this.ctx.store, seq, { ...change, modified_at: this.now });
  }

  noteTarget(seq: number, ownerKey: Uint8Array): void {
    if (this.zone(seq)) this.noteServed(this.touch(seq), ownerKey);
  }

  audit(entry: AuditEntry): void {
    const account = entry.account ?? (entry.zone && findZoneById(this.ctx.store, entry.zone)?.account);
    this.entries.push({ ...entry, account });
  }

  private requireRecord({ name, type }: NewRecordRow): void {
    requireRecord(this.ctx.actor, name, typeMnemonic(type));
  }

  private touch(seq: number): TouchedZone {
    let touched = this.zones.get(seq);
    if (!touched) {
      const before = this.zone(seq);
      invariant(before, 'zones are edited while they exist');
      this.zones.set(seq, (touched = touchZone(before, this.ctx.settings)));
    }
    return touched;
  }

  private touchForEdit(seq: number): TouchedZone {
    const touched = this.touch(seq);
    touched.derived = false;
    return touched;
  }

  private touchOwner(seq: number, ownerKey: Uint8Array): TouchedZone {
    const touched = this.touchForEdit(seq);
    this.noteServed(touched, ownerKey).edited = true;
    return touched;
  }

  private noteServed(touched: TouchedZone, ownerKey: Uint8Array): { edited: boolean } {
    const key = Buffer.from(ownerKey).toString('latin1');
    let owner = touched.owners.get(key);
    if (!owner) {
      const before = this.servedAt(touched.serving, ownerKey);
      touched.owners.set(key, (owner = { ownerKey, before, edited: false }));
    }
    return owner;
  }

  private servedAt(zone: ServingZone, ownerKey: Uint8Array): ServedRR[] {
    return rrsOf(servedAtOwner(this.ctx.store, zone, ownerKey));
  }

  /** Serials, change log, journal, audit log; the last thing inside the transaction. */
  finish(): ZoneOutcome[] {
    const outcomes = [...this.zones.values()].map((touched) => this.finishZone(touched));
    for (const entry of this.entries) this.appendAudit(entry);
    return outcomes;
  }

  private finishZone(touched: TouchedZone): ZoneOutcome {
    const { before } = touched;
    const zone = this.zone(before.seq);
    if (!zone) return this.finishRemoved(before);
    const serving = servingZone(zone, this.ctx.settings);
    if (!touched.derived) reindexFlattened(this.ctx.store, zone, serving, touched);
    const whole = touched.kind === 'zone-added' || touched.kind === 'zone-replaced' || touched.kind === 'zone-removed';
    const rrs = whole ? [] : this.difference(serving, touched);
    const kind = touched.kind ?? (rrs.length > 0 ? 'rrs' : undefined);
    if (!touched.derived) refreshTargetsSoon(this.ctx.store, zone, kind, touched.owners);
    const moves = kind !== undefined && kind !== 'zone-added' && kind !== 'zone-replaced';
    const serial = moves ? nextSerial(zone.serial) : zone.serial;
    // Clients hold the version of what they edit; derived answers are not that.
    const version = touched.derived ? zone.version : zone.version + 1;
    updateZone(this.ctx.store, zone.seq, { record_count: zone.record_count + touched.records, version, serial });
    // Settings and records at once, or more records than a follower should read one by one: load the zone anew.
    const edited = kind === 'settings' && [...touched.owners.values()].some((owner) => owner.edited);
    const large = edited || rrs.length > MOST_CHANGED_RRS;
    const logged = kind && (large ? 'zone-replaced' : kind);
    const serialFrom = kind === 'zone-added' ? undefined : before.serial;
    const change =
      logged && this.appendChange(zone.seq, logged, moves ? before.serial : null, serial, large ? [] : rrs);
    const soaRRs = this.soaDifference(soaOf(touched.serving), soaOf(serving, serial), kind);
    if (!touched.derived) this.appendEdit(touched, { ...zone, version, serial }, change, serialFrom, soaRRs);
    return {
      zone: zone.seq,
      id: toHex(zone.id),
      apex: zone.apex,
      kind: logged,
      change,
      serialFrom,
      version,
      serial,
      rrs: [...soaRRs, ...rrs],
      complete: !whole && touched.told,
    };
  }

  private finishRemoved({ seq: zone, id, apex, serial: serialFrom }: ZoneRow): ZoneOutcome {
    refreshTargetsSoon(this.ctx.store, { apex }, 'zone-removed', new Map());
    const change = this.appendChange(zone, 'zone-removed', null, null, []);
    const gone = { version: undefined, serial: undefined, rrs: [], complete: false };
    return { zone, id: toHex(id), apex, kind: 'zone-removed', change, serialFrom, ...gone };
  }

  private difference(zone: ServingZone, touched: TouchedZone): ChangedRR[] {
    const removed: ChangedRR[] = [];
    const added: ChangedRR[] = [];
    for (const { ownerKey, before } of touched.owners.values()) {
      const diff = diffServed(before, this.servedAt(zone, ownerKey));
      for (const rr of diff.removed) removed.push({ op: 0, owner_key: ownerKey, ...rr });
      for (const rr of diff.added) added.push({ op: 1, owner_key: ownerKey, ...rr });
    }
    return [...removed, ...added];
  }

  private soaDifference(before: ServedRR, after: ServedRR, kind: ChangeKind | undefined): ChangedRR[] {
    if (kind === undefined || kind === 'zone-added') return [];
    const apex = new Uint8Array(0);
    const { removed, added } = diffServed([before], [after]);
    return [
      ...removed.map((rr) => ({ op: 0 as const, owner_key: apex, ...rr })),
      ...added.map((rr) => ({ op: 1 as const, owner_key: apex, ...rr })),
    ];
  }

  private appendChange(
    zone: number,
    kind: ChangeKind,
    serialFrom: number | null,
    serialTo: number | null,
    rrs: readonly ChangedRR[],
  ): number {
    const { actor, requestId, store } = this.ctx;
    const note = { atUs: this.now, actor: actor.email, requestId };
    return appendChange(store, { ...note, zone, kind, serialFrom, serialTo, rrs });
  }

  private appendEdit(
    touched: TouchedZone,
    { seq: zone, version, serial }: ZoneRow,
    change: number | undefined,
    serialFrom: number | undefined,
    soaRRs: readonly ChangedRR[],
  ): void {
    const { actor, requestId, source, store } = this.ctx;
    const [from, to] = [soaRRs.find(({ op }) => op === 0), soaRRs.find(({ op }) => op === 1)];
    const edit = {
      zone,
      version,
      at_us: this.now,
      kind: EDIT_KINDS[touched.kind ?? 'rrs'],
      complete: touched.undoable ? 1 : 0,
      change: change ?? null,
      serial_from: serialFrom ?? null,
      serial_to: serial,
      soa_from: from?.rdata ?? null,
      soa_to: to?.rdata ?? null,
      soa_ttl_from: from?.ttl ?? null,
      soa_ttl_to: to?.ttl ?? null,
      actor: actor.email,
      actor_kind: actor.kind,
      source,
      request_id: requestId,
    };
    appendEdit(store, edit, touched.undoable ? touched.edited : []);
  }

  private appendAudit(entry: AuditEntry): void {
    const { actor, requestId, source, store, address } = this.ctx;
    appendAudit(store, {
      at_us: this.now,
      actor: actor.email,
      actor_kind: actor.kind,
      actor_id: actor.userId === '' ? null : new Uint8Array(Buffer.from(actor.userId, 'hex')),
      address: address ?? null,
      source,
      action: entry.action,
      zone: entry.zone ?? null,
      account: entry.account ?? null,
      object: entry.object ?? null,
      request_id: requestId,
      before: entry.before === undefined ? null : JSON.stringify(entry.before),
      after: entry.after === undefined ? null : JSON.stringify(entry.after),
    });
  }
}

const EDIT_KINDS: Readonly<Record<ChangeKind, EditKind>> = {
  'zone-added': 'added',
  'zone-removed': 'replaced',
  'zone-replaced': 'replaced',
  settings: 'settings',
  derived: 'records',
  rrs: 'records',
};
