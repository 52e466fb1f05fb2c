/**
 * Zones that are signed elsewhere and served as they came (RFC 4035 §3: a server needs no keys). Their RRSIG, NSEC and NSEC3
 * records are stored where our own signatures are, so that everything below serves them in the same way.
 */

import { isDeepStrictEqual } from 'node:util';
import { compareBytes, equalBytes, fromBase32Hex } from '../../../base/bytes.js';
import { invariant } from '../../../base/errors.js';
import { makeId } from '../../../base/random.js';
import type { Issue } from '../../../base/result.js';
import { betweenWrites, finished, inSlices } from '../../../base/slices.js';
import { Type } from '../../../dns/codes.js';
import { keyTag } from '../../../dns/key-tag.js';
import { labelsOf, printName } from '../../../dns/name.js';
import { typeByCode, typeMnemonic } from '../../../dns/rr/registry.js';
import type { RRset } from '../../../dns/rr.js';
import {
  type SignedOwner as FileOwner,
  groupSignedZone,
  type PlacedRR,
  type SignedZone,
} from '../../../dnssec/signed-zone.js';
import { type ServedOwner, unsignedOwners } from '../../../serving/owner.js';
import { isSignedElsewhere } from '../../../serving/signing.js';
import { digestOf, type SignedOwner, type SignedSet, writeSignedOwner } from '../../../serving/stored-signatures.js';
import { type ServingZone, servingZone, signedZone, unsignedZone } from '../../../serving/zone.js';
import { putHashed } from '../../../store/dnssec/hashed.js';
import { insertDnssecKey, removeKeysOfZone } from '../../../store/dnssec/keys.js';
import { putSignatures } from '../../../store/dnssec/signatures.js';
import { findDnssecZone, insertDnssecZone, updateDnssecZone } from '../../../store/dnssec/zones.js';
import type { Store } from '../../../store/driver.js';
import { type Place, placeOfSet } from '../../../store/records/places.js';
import { dropRecordSet, stageRecordSet, touchRecordSet, useRecordSet } from '../../../store/records/record-sets.js';
import type { ZoneRow } from '../../../store/zones/zones.js';
import type { Draft } from '../../kernel/commit.js';
import type { Context } from '../../kernel/context.js';
import { planRemovalOfAbandoned } from '../../kernel/unused-records.js';
import { lookAtParentSoon } from '../../schedule/signing.js';
import { removeSigning } from '../enable.js';
import { dnssecFailure } from '../errors.js';
import { barrierOf } from '../signing/chain.js';
import { firstExpiry } from '../signing/signed-rows.js';
import { NEWLY_SIGNED } from '../signing/signing-zone.js';

/** Differences that are named. */
const MOST_NAMED = 20;
const OPT_OUT = 1;
const ENTRY_POINT = 1;

/**
 * Takes over the signatures of a zone whose other records have been stored in this commit. `records`: all records of the zone.
 * Returns what is served otherwise than it came; with such an error the commit has to be undone.
 */
export function takePresigned(ctx: Context, draft: Draft, zone: ZoneRow, records: readonly PlacedRR[]): Issue[] {
  const { store } = ctx;
  const { what, file } = finished(readPresigned(zone.apex, records));
  begin(ctx, draft, zone, what);
  const issues: Issue[] = [];
  const serving = servingZone(store, draft.zone(zone.seq)!, ctx.settings);
  for (const row of rowsOf(store, serving, file, issues)) if (row) put(store, zone.seq, row);
  return issues;
}

/** What the zone notes of its signatures, in the order of the file. */
interface PresignedZone {
  readonly denial: PresignedDenial;
  readonly dnskeys: readonly Uint8Array[];
  /** Seconds. */
  readonly largestTtl: number;
}

/** Signatures that were stored in a set of their own, before the commit that gives the zone the records for which they are. */
export interface StagedPresigned {
  readonly what: PresignedZone;
  /** Number of the set. */
  readonly set: number;
  /** What their owners were served with, besides the records. */
  readonly basis: unknown;
  /** What would be served otherwise than it came; with such an error the set is not to be used. */
  readonly issues: readonly Issue[];
}

/** Rows that are stored in a write. */
const ROWS_AT_ONCE = 300;

/**
 * Stores them, outside of a write. `row`: as the zone will be; `records`: all of its records. Whoever does not use the set drops it.
 */
export async function stagePresigned(
  ctx: Context,
  row: ZoneRow,
  records: readonly PlacedRR[],
): Promise<StagedPresigned> {
  const { store, clock } = ctx;
  const { what, file } = await inSlices(clock, readPresigned(row.apex, records));
  const set = await store.write(() => {
    planRemovalOfAbandoned(ctx);
    return stageRecordSet(store, clock.nowUs());
  });
  const issues: Issue[] = [];
  const rows = rowsOf(store, servedWith(ctx, row), file, issues);
  for (;;) {
    const part = await inSlices(clock, nextRows(rows));
    if (part.length === 0) return { what, set, basis: basisOf(ctx, row), issues };
    await store.write(() => {
      for (const staged of [set, row.record_set]) touchRecordSet(store, staged, clock.nowUs());
      for (const one of part) put(store, placeOfSet(set), one);
    });
    await betweenWrites();
  }
}

/** Whether they may be given to the zone, inside the commit that gives it the records. `row`: as the zone will be. */
export function isStagedFor(ctx: Context, row: ZoneRow, { basis }: StagedPresigned): boolean {
  return isDeepStrictEqual(basisOf(ctx, row), basis);
}

/** Gives them to the zone, inside that commit. */
export function giveStaged(ctx: Context, draft: Draft, zone: ZoneRow, { what, set }: StagedPresigned): void {
  const { store } = ctx;
  begin(ctx, draft, zone, what);
  invariant(useRecordSet(store, set), 'the staged signatures are there');
  const { signature_set: empty } = findDnssecZone(store, zone.seq)!;
  updateDnssecZone(store, zone.seq, { signature_set: set });
  dropRecordSet(store, empty);
}

/** The zone as it will be served, without its signatures. */
function servedWith({ settings }: Context, row: ZoneRow): ServingZone {
  const signed = { ...NEWLY_SIGNED, zone: row.seq, presigned: 1 };
  const how = { denial: { kind: 'nsec' }, apex: row.apex, row: signed, keys: [] } as const;
  const zone = signedZone(unsignedZone(row, settings), how);
  return { ...zone, staged: { records: placeOfSet(row.record_set), signatures: row.seq } };
}

function basisOf(ctx: Context, row: ZoneRow): unknown {
  const { facts, edge, hosts, hostAddresses } = servedWith(ctx, row);
  return { facts, edge, hosts, hostAddresses };
}

function* readPresigned(
  apex: Uint8Array,
  records: readonly PlacedRR[],
): Generator<undefined, { readonly what: PresignedZone; readonly file: SignedZone }> {
  const file = yield* groupSignedZone(apex, records);
  let largestTtl = 0;
  for (const { ttl } of records) {
    largestTtl = Math.max(largestTtl, ttl);
    yield;
  }
  const dnskeys = file.owners[0]?.rrsets.get(Type.dnskey)?.rdatas ?? [];
  return { file, what: { denial: yield* denialOf(file), dnskeys, largestTtl } };
}

function begin(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  { denial: { kind, ...parameters }, dnskeys, largestTtl }: PresignedZone,
): void {
  const { store } = ctx;
  const before = findDnssecZone(store, zone.seq);
  if (before && !isSignedElsewhere(before)) throw dnssecFailure('signedHere', { zone: zone.name });
  draft.noteSigning(zone.seq, { prepared: true });
  removeKeysOfZone(store, zone.seq);
  removeSigning(ctx, zone.seq);
  const known = isSignedElsewhere(before) ? before : undefined;
  const state = known?.state ?? 'pending';
  insertDnssecZone(store, { zone: zone.seq, state, phase: 'signed', denial: kind, modified_at: draft.now });
  const seen = { ds_seen_at: known?.ds_seen_at ?? null };
  updateDnssecZone(store, zone.seq, { presigned: 1, largest_ttl: largestTtl, ...parameters, ...seen });
  storeKeys(ctx, draft, zone, dnskeys);
  draft.setZone(zone.seq, { signed: 1 });
  lookAtParentSoon(ctx, zone);
  draft.event({ kind: 'dnssec.presigned', zone, after: { denial: kind } });
}

/** The zone is not presigned any more, nor signed; inside the commit that replaces its records. */
export function dropPresigned(ctx: Context, draft: Draft, zone: ZoneRow): void {
  draft.noteSigning(zone.seq, {});
  removeKeysOfZone(ctx.store, zone.seq);
  removeSigning(ctx, zone.seq);
  draft.setZone(zone.seq, { signed: 0 });
}

interface PresignedDenial {
  readonly kind: 'nsec' | 'nsec3';
  readonly iterations?: number;
  readonly salt?: Uint8Array;
  readonly opt_out?: number;
}

function* denialOf({ hashedOwners }: SignedZone): Generator<undefined, PresignedDenial> {
  const first = hashedOwners[0]?.rrsets.get(Type.nsec3)?.rdatas[0];
  if (!first) return { kind: 'nsec' };
  let optOut = false;
  for (const { rrsets } of hashedOwners) {
    optOut ||= (rrsets.get(Type.nsec3)!.rdatas[0]![1]! & OPT_OUT) !== 0;
    yield;
  }
  // Hash algorithm, flags, iterations, length of the salt, salt (RFC 5155 §3.2).
  const salt = first.slice(5, 5 + first[4]!);
  return { kind: 'nsec3', iterations: (first[2]! << 8) | first[3]!, salt, opt_out: Number(optOut) };
}

/** The public keys, so that the DS records of the parent can be judged. */
function storeKeys(ctx: Context, draft: Draft, zone: ZoneRow, dnskeys: readonly Uint8Array[]): void {
  const isSplit = dnskeys.some((dnskey) => (dnskey[1]! & ENTRY_POINT) === 0);
  for (const dnskey of dnskeys) {
    const isEntry = (dnskey[1]! & ENTRY_POINT) !== 0;
    insertDnssecKey(ctx.store, {
      id: makeId(ctx.clock.nowUs(), ctx.random),
      zone: zone.seq,
      role: !isEntry ? 'zsk' : isSplit ? 'ksk' : 'csk',
      algorithm: dnskey[3]!,
      tag: keyTag(dnskey),
      public: dnskey,
      sealed: null,
      published: 1,
      signs: 0,
      in_cds: 0,
      state: 'external',
      state_at: draft.now,
      until: null,
      created_at: draft.now,
    });
  }
}

/** A row of signatures, or of the NSEC3 chain. */
interface SignedRow {
  readonly place: { readonly ownerKey: Uint8Array } | { readonly hash: Uint8Array };
  readonly expiry: number | null;
  readonly octets: Uint8Array;
}

/** The rows of every owner beside what is served there, and undefined where there is none. */
function* rowsOf(
  store: Store,
  zone: ServingZone,
  { owners, hashedOwners }: SignedZone,
  issues: Issue[],
): Generator<SignedRow | undefined, void> {
  const say = (code: string, message: string): void => {
    if (issues.length < MOST_NAMED) issues.push({ severity: 'error', code, message });
  };
  let at = 0;
  const skipUpTo = function* (key: Uint8Array | undefined): Generator<undefined, void> {
    for (; at < owners.length && (!key || compareBytes(owners[at]!.key, key) < 0); at++) {
      const name = printName(owners[at]!.name);
      say('name-without-records', `${name} has an NSEC record or signatures, and no other records`);
      yield;
    }
  };
  for (const served of unsignedOwners(store, zone)) {
    yield* skipUpTo(served.ownerKey);
    const owner = owners[at];
    if (!owner || !equalBytes(owner.key, served.ownerKey)) {
      yield undefined;
      continue;
    }
    at++;
    const signed = signedOwner(owner, served, say);
    yield { place: { ownerKey: owner.key }, expiry: firstExpiry(signed.sets), octets: writeSignedOwner(signed) };
  }
  yield* skipUpTo(undefined);
  for (const owner of hashedOwners) yield hashedRow(owner);
}

function hashedRow(owner: FileOwner): SignedRow | undefined {
  const hash = fromBase32Hex(Buffer.from(labelsOf(owner.name)[0]!).toString('latin1'));
  if (!hash) return undefined;
  const set = denialSet(owner, Type.nsec3);
  const octets = writeSignedOwner({ standing: 'authority', redirects: false, sets: [set] });
  return { place: { hash }, expiry: firstExpiry([set]), octets };
}

function put(store: Store, zone: Place, { place, expiry, octets }: SignedRow): void {
  if ('ownerKey' in place) putSignatures(store, zone, place.ownerKey, expiry, octets);
  // The hashed name is not known, and nothing asks for it.
  else putHashed(store, zone, { hash: place.hash, owner_key: new Uint8Array(0), octets }, expiry);
}

/** The next rows; none when all have come. */
function* nextRows(rows: Generator<SignedRow | undefined, void>): Generator<undefined, readonly SignedRow[]> {
  const part: SignedRow[] = [];
  while (part.length < ROWS_AT_ONCE) {
    const next = rows.next();
    if (next.done) return part;
    if (next.value) part.push(next.value);
    yield;
  }
  return part;
}

function signedOwner(
  owner: FileOwner,
  { ownerKey, rrsets }: ServedOwner,
  say: (code: string, message: string) => void,
): SignedOwner {
  const sets: SignedSet[] = [];
  for (const rrset of rrsets) {
    if (rrset.type > 0xffff || owner.standing === 'occluded') continue;
    const came = owner.rrsets.get(rrset.type);
    if (!came || came.ttl !== rrset.ttl || !isSameData(rrset, came.rdatas)) {
      say(
        'served-otherwise',
        `${printName(owner.name)} ${typeMnemonic(rrset.type)} would not be served as the file has it`,
      );
    } else if (owner.standing === 'authority' || rrset.type === Type.ds) {
      sets.push({ type: rrset.type, digest: digestOf(rrset), signatures: signaturesOf(owner, rrset.type) });
    }
  }
  const nsec = owner.rrsets.get(Type.nsec);
  if (nsec && owner.standing !== 'occluded') sets.push(denialSet(owner, Type.nsec));
  const { redirects } = barrierOf(ownerKey, rrsets);
  return { standing: owner.standing, redirects, sets: sets.sort((a, b) => a.type - b.type) };
}

function signaturesOf({ signatures }: FileOwner, type: number): Uint8Array[] {
  return (signatures.get(type) ?? []).map(({ rdata }) => rdata);
}

function denialSet(owner: FileOwner, type: number): SignedSet {
  const { ttl, rdatas } = owner.rrsets.get(type)!;
  const denial = { ttl, rdata: rdatas[0]! };
  return {
    type,
    digest: digestOf({ type, ttl, rdatas: [denial.rdata] }),
    denial,
    signatures: signaturesOf(owner, type),
  };
}

/** Compared as signatures cover it: in canonical form, each record once (RFC 4034 §6.3). */
function isSameData({ type, rdatas }: RRset, came: readonly Uint8Array[]): boolean {
  const { canonical } = typeByCode(type);
  const texts = (all: readonly Uint8Array[]): Set<string> =>
    new Set(all.map((rdata) => Buffer.from(canonical(rdata)).toString('latin1')));
  const [own, other] = [texts(rdatas), texts(came)];
  return own.size === other.size && [...own].every((text) => other.has(text));
}
