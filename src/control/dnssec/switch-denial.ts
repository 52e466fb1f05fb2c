/**
 * How a signed zone proves absence, and the change of it: the new chain is complete before it is served, and the old one goes
 * then.
 */
import { concatBytes, equalBytes } from '../../base/bytes.js';
import { MAX_NAME_LENGTH } from '../../dns/name.js';
import { removeSomeHashed } from '../../store/dnssec/hashed.js';
import { keysOfZone } from '../../store/dnssec/keys.js';
import { type DenialKind, findDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import { findOutgoing } from '../../store/secondary/outgoing.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Draft } from '../kernel/draft.js';
import { planCatalogs } from '../schedule/catalogs.js';
import { MOST_AT_ONCE, runSigningSoon } from '../schedule/signing.js';
import { dnssecFailure } from './errors.js';
import { handOutKeys } from './keys.js';
import { APEX } from './signing/chain.js';
import { hashNames, linkNames } from './signing/hashed-chain.js';
import { signChain } from './signing/sign-whole.js';
import type { SigningZone } from './signing/signing-zone.js';

/** Before the hash in a cursor of the second half of an NSEC3 chain. No owner key begins like this. */
const LINKING = Uint8Array.of(0xff, 0xff);

/** Whether a part that begins here reads what all parts before it have stored. */
export function needsAllBefore(cursor: Uint8Array): boolean {
  return equalBytes(cursor, LINKING);
}

/** Proves absence by this kind of records: at once in a small zone, otherwise when the job has made them. Inside a commit. */
export function changeDenial(ctx: Context, draft: Draft, zone: ZoneRow, kind: DenialKind): void {
  const { store } = ctx;
  const row = findDnssecZone(store, zone.seq);
  if (!row) throw dnssecFailure('notSigned');
  if (row.phase === 'unsigning') throw dnssecFailure('unsigning');
  if ((row.next_denial ?? row.denial) === kind) return;
  const isServed = row.phase === 'signed';
  if (kind === 'compact') requireCompact(store, zone);
  if (kind === 'nsec3') requireRoomForHashes(zone);
  const isLarge = isServed && draft.recordCount(zone) > MOST_AT_ONCE;
  if (row.denial === kind) updateDnssecZone(store, zone.seq, { next_denial: null, cursor: null });
  else if (isLarge && kind === 'compact' && row.denial === 'nsec') {
    // The records of a chain are right for their own names; they are replaced one after the other.
    serveDenial(ctx, draft, zone, kind);
    updateDnssecZone(store, zone.seq, { walk: APEX });
  } else if (isLarge) updateDnssecZone(store, zone.seq, { next_denial: kind, cursor: null });
  else {
    draft.noteSigning(zone.seq, { owners: [APEX], whole: isServed });
    // A chain that was not finished begins anew; data keeps its place.
    const cursor = row.phase === 'data' ? row.cursor : null;
    updateDnssecZone(store, zone.seq, { denial: kind, next_denial: null, cursor });
  }
  handOutKeys(ctx, zone);
  if (row.denial === 'compact') planCatalogs(ctx, zone.account);
  runSigningSoon(ctx, zone);
  draft.event({
    kind: 'dnssec.denial',
    zone,
    before: { denial: row.denial },
    after: { denial: kind },
  });
}

/** DNS processes sign with the keys of the zone's records, and no other servers can. */
function requireCompact(store: Store, { seq, name: zone }: ZoneRow): void {
  if (keysOfZone(store, seq).some(({ role }) => role === 'csk')) throw dnssecFailure('compactOneKey', { zone });
  if (findOutgoing(store, seq)) throw dnssecFailure('compactTransferred', { zone });
}

/** Octets of the first label of an NSEC3 record, with its length: a SHA-1 hash in Base 32. */
const HASH_LABEL = 33;

/** The names of NSEC3 records are names of the zone (RFC 5155 §3). */
function requireRoomForHashes({ apex }: ZoneRow): void {
  const most = MAX_NAME_LENGTH - HASH_LABEL;
  // In text, the last label has no length and the root none either.
  if (apex.length > most) throw dnssecFailure('hashedTooLong', { most: most - 2 });
}

/** Whether a zone has compact denial, or soon will. */
export function isCompactZone(store: Store, zone: number): boolean {
  const row = findDnssecZone(store, zone);
  return row?.denial === 'compact' || row?.next_denial === 'compact';
}

/** Makes the next part of a chain. Returns the cursor for the one after it; undefined when the chain is complete. */
export function buildChain(
  signing: SigningZone,
  kind: DenialKind,
  cursor: Uint8Array | null,
  isEnough: () => boolean,
): Uint8Array | undefined {
  if (kind !== 'nsec3') return signChain(signing, cursor ?? APEX, isEnough);
  if (!cursor || cursor[0] !== LINKING[0]) return hashNames(signing, cursor ?? APEX, isEnough) ?? LINKING;
  const last = linkNames(signing, cursor.subarray(LINKING.length), isEnough);
  return last && concatBytes(LINKING, last);
}

/** The new chain is complete: it is served from now on. Inside a commit. */
export function serveDenial(ctx: Context, draft: Draft, zone: ZoneRow, kind: DenialKind): void {
  draft.noteSigning(zone.seq, { owners: [APEX], prepared: true });
  updateDnssecZone(ctx.store, zone.seq, { denial: kind, next_denial: null, cursor: null });
  handOutKeys(ctx, zone);
  // A zone without compact denial may be transferred.
  if (kind !== 'compact') planCatalogs(ctx, zone.account);
}

/** Removes a part of an NSEC3 chain that is not used; false when nothing is left of it. Inside a commit. */
export function removeUnusedHashed({ store }: Context, zone: ZoneRow, most: number): boolean {
  const row = findDnssecZone(store, zone.seq);
  if (!row || row.denial === 'nsec3' || row.next_denial === 'nsec3') return false;
  return removeSomeHashed(store, zone.seq, most);
}
