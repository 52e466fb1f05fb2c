/**
 * The messages of transfers: whole zones (AXFR, RFC 5936) and differences (IXFR, RFC 1995). What is sent is what the
 * zone serves, record by record. Messages have ID 0; what depends on the client is filled in when they are sent.
 */
import { Class, Type } from '../../dns/codes.js';
import { MessageWriter } from '../../dns/message-writer.js';
import { nameOfOwnerKey } from '../../dns/name.js';
import type { RRset } from '../../dns/rr.js';
import { serialIsAfter } from '../../dns/serial.js';
import { soaOf } from '../../serving/difference.js';
import { hashedOwnerKey, servedHashedOwners } from '../../serving/hashed.js';
import { servedOwners } from '../../serving/owner.js';
import type { ServingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { type ChangeRow, changesSince, isMark, rrsOfChange } from '../../store/log/changes.js';
import { findOutgoing } from '../../store/secondary/outgoing.js';
import { findZone } from '../../store/zones/zones.js';

/** QR and AA. */
const ANSWER_FLAGS = 0x8400;
/** Octets of a usual message: pointers reach no further. */
const USUAL = 16_384;
/** Octets of a usual message that are left for OPT and TSIG. A single large record may leave no room for them. */
const RESERVE = 400;
/** A difference with more records than this part of the zone is not sent: the zone itself is shorter. */
const LARGEST_PART = 0.5;
/** Differences up to this many records are always sent. */
const SMALL = 100;

interface Record {
  readonly owner: Uint8Array;
  readonly type: number;
  readonly ttl: number;
  readonly rdata: Uint8Array;
}

/** A record that fits into no message. */
class RecordTooLong extends Error {}

/** The whole zone. Read it inside one `snapshot`. */
export function* wholeZone(store: Store, zone: ServingZone): Generator<Uint8Array> {
  const { apex } = zone.facts;
  const messages = new Messages(apex);
  const soa = soaRecord(zone);
  messages.add(soa.owner, soa.type, soa.ttl, soa.rdata);
  for (const { ownerKey, rrsets } of servedOwners(store, zone)) {
    if (rrsets.length === 0) continue;
    const owner = nameOfOwnerKey(ownerKey, apex);
    for (const rrset of rrsets) {
      // Above the types is the SOA's form for negative answers; the SOA itself comes first and last.
      if (rrset.type <= 0xffff) messages.addSet(owner, rrset, rrset.type !== Type.soa);
    }
    if (messages.hasWhole) yield* messages.take();
  }
  for (const { hash, rrset } of servedHashedOwners(store, zone)) {
    messages.addSet(nameOfOwnerKey(hashedOwnerKey(hash), apex), rrset, true);
    if (messages.hasWhole) yield* messages.take();
  }
  messages.add(soa.owner, soa.type, soa.ttl, soa.rdata);
  yield* messages.takeAll();
}

/** Only the SOA: the client has this version, or a newer one (RFC 1995 §2). */
export function onlySoa(zone: ServingZone): Generator<Uint8Array> {
  return messagesOf(zone, [soaRecord(zone)]);
}

/**
 * The differences from the version of a serial to this one (RFC 1995 §4); undefined when the log does not have them all,
 * or when the zone itself is shorter. Call it inside one `snapshot`.
 */
export function differences(store: Store, zone: ServingZone, from: number): Generator<Uint8Array> | undefined {
  const steps = stepsSince(store, zone, from);
  if (!steps) return undefined;
  const current = soaRecord(zone);
  const records: Record[] = [current];
  const owners = new Map<string, Uint8Array>();
  const ownerOf = (key: Uint8Array): Uint8Array => {
    const text = Buffer.from(key).toString('latin1');
    const known = owners.get(text) ?? nameOfOwnerKey(key, zone.facts.apex);
    owners.set(text, known);
    return known;
  };
  for (const step of steps) {
    for (const rr of rrsOfChange(store, step)) {
      if (!isMark(rr)) records.push({ owner: ownerOf(rr.owner_key), type: rr.type, ttl: rr.ttl, rdata: rr.rdata });
    }
    if (records.length > SMALL && records.length > LARGEST_PART * countRecords(store, zone)) return undefined;
  }
  records.push(current);
  return messagesOf(zone, records);
}

/** The changes from the version of a serial to the current one, each complete and each going on where the last ended. */
function stepsSince(store: Store, { seq, facts }: ServingZone, from: number): ChangeRow[] | undefined {
  const since = changesSince(store, seq, from, findOutgoing(store, seq)?.history_after ?? 0);
  // What load balancers choose from changes without a record, and then the serial stays.
  const changes = since.filter(
    ({ complete, serial_from: before, serial_to: after }) => complete !== 1 || before !== after,
  );
  let serial = from;
  for (const { complete, serial_from: before, serial_to: after, soa_from: soaFrom, soa_to: soaTo } of changes) {
    if (complete !== 1 || before !== serial || after === null || soaFrom === null || soaTo === null) return undefined;
    if (!serialIsAfter(after, serial)) return undefined;
    serial = after;
  }
  return changes.length > 0 && serial === facts.soa.serial ? changes : undefined;
}

function countRecords(store: Store, { seq }: ServingZone): number {
  return findZone(store, seq)?.record_count ?? 0;
}

function soaRecord(zone: ServingZone): Record {
  return { owner: zone.facts.apex, type: Type.soa, ...soaOf(zone) };
}

function* messagesOf({ facts: { apex } }: ServingZone, records: Iterable<Record>): Generator<Uint8Array> {
  const messages = new Messages(apex);
  for (const { owner, type, ttl, rdata } of records) {
    messages.add(owner, type, ttl, rdata);
    if (messages.hasWhole) yield* messages.take();
  }
  yield* messages.takeAll();
}

/** Fills messages one after the other. */
class Messages {
  private readonly writer = new MessageWriter(USUAL - RESERVE);
  private whole: Uint8Array[] = [];

  /** The question is only in the first message (RFC 5936 §2.2.1). */
  constructor(apex: Uint8Array) {
    this.writer.begin(0, ANSWER_FLAGS, { name: apex, type: Type.axfr, class: Class.in });
  }

  /** An RRset, if its data is wanted, and its signatures. */
  addSet(owner: Uint8Array, { type, ttl, rdatas, signatures }: RRset, withData: boolean): void {
    if (withData) for (const rdata of rdatas) this.add(owner, type, ttl, rdata);
    if (signatures) for (const rdata of signatures) this.add(owner, Type.rrsig, ttl, rdata);
  }

  add(owner: Uint8Array, type: number, ttl: number, rdata: Uint8Array): void {
    const { writer } = this;
    if (writer.add('answer', owner, type, ttl, rdata)) return;
    if (!writer.isEmpty) {
      this.whole.push(writer.finish());
      writer.begin(0, ANSWER_FLAGS);
      if (writer.add('answer', owner, type, ttl, rdata)) return;
    }
    throw new RecordTooLong(`a record of type ${type} with ${rdata.length} octets fits into no message`);
  }

  /** Whether messages are whole that were not taken yet. */
  get hasWhole(): boolean {
    return this.whole.length > 0;
  }

  /** The whole messages, in their order. */
  take(): Uint8Array[] {
    const { whole } = this;
    this.whole = [];
    return whole;
  }

  /** The same and the last one. */
  takeAll(): Uint8Array[] {
    return [...this.take(), this.writer.finish()];
  }
}
