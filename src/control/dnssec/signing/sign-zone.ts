/** The part of a commit for a signed zone: signs what the commit changed, and at last the SOA with its new serial. */

import { Type } from '../../../dns/codes.js';
import type { Difference } from '../../../serving/difference.js';
import { soaOf } from '../../../serving/difference.js';
import { readSignedOwner, type SignedOwner } from '../../../serving/stored-signatures.js';
import type { ServingZone } from '../../../serving/zone.js';
import { signatureState } from '../../../serving/zone-state.js';
import { hashedOfZone } from '../../../store/dnssec/hashed.js';
import { signatureOctets, signedOwnersBelow } from '../../../store/dnssec/signatures.js';
import { updateDnssecZone } from '../../../store/dnssec/zones.js';
import type { ChangedRR } from '../../../store/log/changes.js';
import type { ZoneRow } from '../../../store/zones/zones.js';
import type { Context } from '../../kernel/context.js';
import type { Addition, ZoneEnd } from '../../kernel/participant.js';
import type { OwnerAfter, PlannedSignatures, TouchedZone } from '../../kernel/touched-zone.js';
import { MOST_AT_ONCE, runSigningSoon } from '../../schedule/signing.js';
import { APEX } from './chain.js';
import { maintainsHashed } from './hashed-chain.js';
import { signChange, signedUpTo } from './sign-change.js';
import { signSet, storeSignedOwner, withSet } from './sign-owner.js';
import { signWhole } from './sign-whole.js';
import { type DeferredSignatures, deferSignatures } from './signatures.js';
import { openSigningZone, type SigningZone } from './signing-zone.js';
import { type GivenSignatures, giveSignatures } from './staged.js';
import { wasPutBack } from './times.js';
import { refuseNewWildcardCuts } from './wildcard-cuts.js';

/** Newer inceptions are noted no more often, in seconds. */
const INCEPTION_STEP = 600;

/** Undefined for a zone that is not signed. Its `finish` signs the SOA with the serial. */
export function signZone(ctx: Context, { touched, row, zone, owners }: ZoneEnd): Addition | undefined {
  const signing = openSigningZone(ctx, row, zone, touched.signing.exact);
  if (!signing) return undefined;
  refuseNewWildcardCuts(ctx.store, row, touched, owners);
  // The times of signatures depend on settings, and so does the TTL of denials.
  const wasAhead = wasPutBack(signing.row, signing.times.now);
  if (wasAhead || (touched.kind !== undefined && touched.kind !== 'rrs')) runSigningSoon(ctx, row);
  if (signatureState(row) !== 'served') return prepare(signing, row, touched, owners);
  const { signatures: staged, planned } = touched.replacement ?? {};
  if (planned) return signPlanned(signing, planned, touched, owners);
  const given = staged && touched.complete ? giveSignatures(ctx, signing, staged) : undefined;
  return given ? signGiven(signing, given, touched, owners) : signServed(signing, row, touched, owners);
}

/**
 * A zone with new records whose signatures were made before: what can have changed since is looked at, and signed if it has.
 */
function signGiven(
  signing: SigningZone,
  { apexBefore }: GivenSignatures,
  touched: TouchedZone,
  owners: readonly OwnerAfter[],
): Addition {
  const own = putOff(signing);
  const { difference, apex, changesOthers, store } = signChange(own, owners, touched.serving, {});
  if (changesOthers) touched.complete = false;
  const soa = apexBefore.sets.find(({ type }) => type === Type.soa);
  const sets = apex!.sets.filter(({ type }) => type !== Type.soa);
  return finishing(own, touched, { apex: { ...apex!, sets: soa ? withSet(sets, soa) : sets }, store }, difference);
}

/** The same of edits whose rows of signatures were made before, and are stored. */
function signPlanned(
  signing: SigningZone,
  { done: { signatures, largestTtl } }: PlannedSignatures,
  touched: TouchedZone,
  owners: readonly OwnerAfter[],
): Addition {
  const { done } = signing;
  done.signatures += signatures;
  done.largestTtl = Math.max(done.largestTtl, largestTtl);
  const own = putOff(signing);
  const { difference, apex, changesOthers, store } = signChange(own, owners, touched.serving, {});
  if (changesOthers) touched.complete = false;
  return finishing(own, touched, { apex, store }, difference);
}

interface PutOff extends SigningZone {
  readonly signatures: DeferredSignatures;
}

/** The zone whose signatures are made at the end of a change. NSEC3 records are stored as they are made. */
function putOff(signing: SigningZone): PutOff {
  const { signatures } = signing;
  const at = maintainsHashed(signing) ? { ...signatures, makeAll: () => {} } : deferSignatures(signatures);
  return { ...signing, signatures: at };
}

/** What is left to be stored; `apex`: if it changed. */
interface Unstored {
  readonly apex: SignedOwner | undefined;
  store(): void;
}

function finishing(
  signing: PutOff,
  touched: TouchedZone,
  { apex, store }: Unstored,
  difference: Difference | undefined,
): Addition {
  return {
    difference,
    finish(serial) {
      const signed = serial === undefined ? undefined : signSoa(signing, touched, apex, serial);
      storeSigned(signing, { apex: signed?.apex ?? apex, store }, signed?.unchanged);
      return signed?.rrs ?? [];
    },
  };
}

/** `unchanged`: what is stored of the apex, if it is known. */
function storeSigned(signing: PutOff, { apex, store }: Unstored, unchanged?: SignedOwner): void {
  signing.signatures.makeAll();
  store();
  if (apex) storeSignedOwner(signing, APEX, apex, unchanged);
  noteSigned(signing);
}

function signServed(
  signing: SigningZone,
  { record_count: records }: ZoneRow,
  touched: TouchedZone,
  owners: readonly OwnerAfter[],
): Addition {
  const isReplaced = touched.copy !== undefined || touched.replacement !== undefined;
  const isWhole = touched.signing.whole || isReplaced || !touched.complete;
  const denials = isWhole ? [] : ownersOfDenialTtl(signing, touched.serving, records);
  if (denials === 'many') updateDnssecZone(signing.store, signing.row.zone, { walk: APEX });
  const also = denials === 'many' ? [] : denials;
  const hashes = also.length > 0 ? allHashes(signing) : touched.signing.hashes;
  const own = putOff(signing);
  const change =
    isWhole && !touched.signing.prepared ? undefined : signChange(own, owners, touched.serving, { also, hashes });
  const unstored = change ?? { apex: signWhole(signing), store: () => {} };
  // The difference that was found out before does not have the signatures.
  if (touched.replacement) touched.complete = false;
  return finishing(own, touched, unstored, isWhole ? undefined : change?.difference);
}

/**
 * The owners whose NSEC records get another TTL (RFC 9077 §3): all of a small zone. 'many': all of a large one, which are signed by the
 * job.
 */
export function ownersOfDenialTtl(
  { store, row, denialTtl }: SigningZone,
  before: ServingZone,
  records: number,
): readonly Uint8Array[] | 'many' {
  const { soa } = before.facts;
  if (!before.signing || denialTtl === Math.min(soa.ttl, soa.minimum)) return [];
  return records <= MOST_AT_ONCE ? [APEX, ...signedOwnersBelow(store, row.zone, APEX)] : 'many';
}

export function allHashes({ store, row }: SigningZone): Uint8Array[] {
  return [...hashedOfZone(store, row.zone, new Uint8Array(0))].map(({ hash }) => new Uint8Array(hash));
}

/** A zone that is being signed: what the job has done already is kept right. */
function prepare(signing: SigningZone, zone: ZoneRow, touched: TouchedZone, owners: readonly OwnerAfter[]): Addition {
  const { store, row } = signing;
  if (touched.copy !== undefined || touched.replacement !== undefined || !touched.complete) {
    updateDnssecZone(store, row.zone, { phase: 'data', cursor: null });
  } else {
    const own = putOff(signing);
    storeSigned(own, signChange(own, owners, touched.serving, signedUpTo(zone, signing)));
  }
  return { difference: undefined, finish: () => [] };
}

interface SignedSoa {
  /** The apex with its new SOA. */
  readonly apex: SignedOwner;
  /** The stored apex, if nothing but its SOA changed. */
  readonly unchanged: SignedOwner | undefined;
  readonly rrs: ChangedRR[];
}

function signSoa(
  signing: SigningZone,
  { serving }: TouchedZone,
  changed: SignedOwner | undefined,
  serial: number,
): SignedSoa {
  const { store, row, zone } = signing;
  const unchanged = changed ? undefined : readSignedOwner(signatureOctets(store, row.zone, APEX)!);
  const apex = changed ?? unchanged!;
  const stored = apex.sets.find(({ type }) => type === Type.soa);
  const { ttl, rdata } = soaOf(zone, serial);
  const set = signSet(signing, APEX, { type: Type.soa, ttl, rdatas: [rdata] }, stored);
  const signed = { apex: { ...apex, sets: withSet(apex.sets, set) }, unchanged };
  if (set === stored) return { ...signed, rrs: [] };
  const rr = (op: 0 | 1, seconds: number, signature: Uint8Array): ChangedRR => {
    return { op, owner_key: APEX, type: Type.rrsig, ttl: seconds, rdata: signature };
  };
  // A zone that was served without signatures shows none that could be removed.
  const removed = serving.signing ? (stored?.signatures ?? []) : [];
  const rrs = [
    ...removed.map((signature) => rr(0, serving.facts.soa.ttl, signature)),
    ...set.signatures.map((signature) => rr(1, ttl, signature)),
  ];
  return { ...signed, rrs };
}

/** Remembers how far the clock had come, and the largest TTL. */
export function noteSigned({ store, row, times, done }: SigningZone): void {
  if (done.signatures === 0) return;
  const isNewer = times.inception >= row.newest_inception + INCEPTION_STEP;
  if (!isNewer && done.largestTtl <= row.largest_ttl) return;
  updateDnssecZone(store, row.zone, {
    newest_inception: Math.max(times.inception, row.newest_inception),
    largest_ttl: Math.max(done.largestTtl, row.largest_ttl),
  });
}
