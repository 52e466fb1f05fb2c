/**
 * Zones that are signed elsewhere and served as they came (RFC 4035 §3: a server needs no keys). Their RRSIG, NSEC and NSEC3
 * records are stored where our own signatures are, so that everything below serves them in the same way.
 */

import { compareBytes, equalBytes, fromBase32Hex } from '../../../base/bytes.js';
import { makeId } from '../../../base/random.js';
import type { Issue } from '../../../base/result.js';
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
import { servingZone } from '../../../serving/zone.js';
import { putHashed } from '../../../store/dnssec/hashed.js';
import { insertDnssecKey, removeKeysOfZone } from '../../../store/dnssec/keys.js';
import { putSignatures } from '../../../store/dnssec/signatures.js';
import { findDnssecZone, insertDnssecZone, updateDnssecZone } from '../../../store/dnssec/zones.js';
import type { ZoneRow } from '../../../store/zones/zones.js';
import type { Draft } from '../../kernel/commit.js';
import type { Context } from '../../kernel/context.js';
import { lookAtParentSoon } from '../../schedule/signing.js';
import { removeSigning } from '../enable.js';
import { dnssecFailure } from '../errors.js';
import { barrierOf } from '../signing/chain.js';
import { firstExpiry } from '../signing/signed-rows.js';

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
  const file = groupSignedZone(zone.apex, records);
  const before = findDnssecZone(store, zone.seq);
  if (before && !isSignedElsewhere(before)) throw dnssecFailure('signedHere', { zone: zone.name });
  draft.noteSigning(zone.seq, { prepared: true });
  removeKeysOfZone(store, zone.seq);
  removeSigning(ctx, zone.seq);
  const { kind, ...parameters } = denialOf(file);
  const known = isSignedElsewhere(before) ? before : undefined;
  const state = known?.state ?? 'pending';
  insertDnssecZone(store, { zone: zone.seq, state, phase: 'signed', denial: kind, modified_at: draft.now });
  const largestTtl = Math.max(...records.map(({ ttl }) => ttl));
  const seen = { ds_seen_at: known?.ds_seen_at ?? null };
  updateDnssecZone(store, zone.seq, { presigned: 1, largest_ttl: largestTtl, ...parameters, ...seen });
  storeKeys(ctx, draft, zone, file);
  draft.setZone(zone.seq, { signed: 1 });
  const issues = storeOwners(ctx, draft.zone(zone.seq)!, file);
  storeHashed(ctx, zone, file);
  lookAtParentSoon(ctx, zone);
  draft.event({ kind: 'dnssec.presigned', zone, after: { denial: kind } });
  return issues;
}

/** The zone is not presigned any more, nor signed; inside the commit that replaces its records. */
export function dropPresigned(ctx: Context, draft: Draft, zone: ZoneRow): void {
  draft.noteSigning(zone.seq, {});
  removeKeysOfZone(ctx.store, zone.seq);
  removeSigning(ctx, zone.seq);
  draft.setZone(zone.seq, { signed: 0 });
}

function denialOf({ hashedOwners }: SignedZone): {
  readonly kind: 'nsec' | 'nsec3';
  readonly iterations?: number;
  readonly salt?: Uint8Array;
  readonly opt_out?: number;
} {
  const rdatas = hashedOwners.map(({ rrsets }) => rrsets.get(Type.nsec3)!.rdatas[0]!);
  const [first] = rdatas;
  if (!first) return { kind: 'nsec' };
  // Hash algorithm, flags, iterations, length of the salt, salt (RFC 5155 §3.2).
  const salt = first.slice(5, 5 + first[4]!);
  const optOut = rdatas.some((rdata) => (rdata[1]! & OPT_OUT) !== 0);
  return { kind: 'nsec3', iterations: (first[2]! << 8) | first[3]!, salt, opt_out: Number(optOut) };
}

/** The public keys, so that the DS records of the parent can be judged. */
function storeKeys(ctx: Context, draft: Draft, zone: ZoneRow, { owners }: SignedZone): void {
  const dnskeys = owners[0]?.rrsets.get(Type.dnskey)?.rdatas ?? [];
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

/** Stores the signatures of every owner beside what is served there. */
function storeOwners(ctx: Context, row: ZoneRow, { owners }: SignedZone): Issue[] {
  const { store, settings } = ctx;
  const zone = servingZone(store, row, settings);
  const issues: Issue[] = [];
  const say = (code: string, message: string): void => {
    if (issues.length < MOST_NAMED) issues.push({ severity: 'error', code, message });
  };
  let at = 0;
  const skipUpTo = (key: Uint8Array | undefined): void => {
    for (; at < owners.length && (!key || compareBytes(owners[at]!.key, key) < 0); at++) {
      say(
        'name-without-records',
        `${printName(owners[at]!.name)} has an NSEC record or signatures, and no other records`,
      );
    }
  };
  for (const served of unsignedOwners(store, zone)) {
    skipUpTo(served.ownerKey);
    const owner = owners[at];
    if (!owner || !equalBytes(owner.key, served.ownerKey)) continue;
    at++;
    const signed = signedOwner(owner, served, say);
    putSignatures(store, row.seq, owner.key, firstExpiry(signed.sets), writeSignedOwner(signed));
  }
  skipUpTo(undefined);
  return issues;
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

function storeHashed({ store }: Context, { seq }: ZoneRow, { hashedOwners }: SignedZone): void {
  for (const owner of hashedOwners) {
    const hash = fromBase32Hex(Buffer.from(labelsOf(owner.name)[0]!).toString('latin1'));
    if (!hash) continue;
    const set = denialSet(owner, Type.nsec3);
    const octets = writeSignedOwner({ standing: 'authority', redirects: false, sets: [set] });
    // The hashed name is not known, and nothing asks for it.
    putHashed(store, seq, { hash, owner_key: new Uint8Array(0), octets }, firstExpiry([set]));
  }
}
