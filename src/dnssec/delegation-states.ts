/**
 * The states of a signed zone's delegation, and how they follow from the DS records that the parent has. A zone stays
 * signed until the last resolver has forgotten the DS record, because a zone without signatures below a DS record is
 * bogus (RFC 4035 §5.2, RFC 6781 §4.4.2).
 */
import { equalBytes } from '../base/bytes.js';
import { dsRdata, readPublicKey } from './key.js';

/**
 * `pending`: the parent has no DS record yet. `active`: it has one. `pending-disabled`: it is to remove its DS records.
 * `disabled`: it has removed them; the zone is still signed.
 */
export type DelegationState = 'pending' | 'active' | 'pending-disabled' | 'disabled';

/** What all servers of the parent have; undefined while they differ, or while one of them does not answer. */
export type AgreedDs = readonly Uint8Array[] | undefined;

/** The state after the parent was asked. `dnskeys`: rdata of the keys that a DS record may point to. */
export function nextDelegationState(
  state: DelegationState,
  agreed: AgreedDs,
  apex: Uint8Array,
  dnskeys: readonly Uint8Array[],
): DelegationState {
  if (agreed === undefined) return state;
  const isDelegated = agreed.some((ds) => dnskeys.some((dnskey) => pointsTo(apex, ds, dnskey)));
  switch (state) {
    case 'pending':
      return isDelegated ? 'active' : 'pending';
    case 'active':
      return agreed.length === 0 ? 'pending' : 'active';
    case 'pending-disabled':
      return agreed.length === 0 ? 'disabled' : 'pending-disabled';
    case 'disabled':
      return agreed.length === 0 ? 'disabled' : 'pending-disabled';
  }
}

/**
 * Whether resolvers reject the zone: the parent has DS records of algorithms that resolvers support, and none points to
 * a key of the zone.
 */
export function isBogusBelow(agreed: AgreedDs, apex: Uint8Array, dnskeys: readonly Uint8Array[]): boolean {
  // With others alone the zone counts as one without signatures (RFC 4035 §5.2).
  const followed = (agreed ?? []).filter((ds) => VALIDATED.has(ds[2]!) && DIGEST_TYPES.has(ds[DIGEST_TYPE_AT]!));
  return followed.length > 0 && !followed.some((ds) => dnskeys.some((dnskey) => pointsTo(apex, ds, dnskey)));
}

/** Algorithms that resolvers validate, those with SHA-1 among them (RFC 8624 §3.1). */
const VALIDATED: ReadonlySet<number> = new Set([5, 7, 8, 10, 13, 14, 15, 16]);
/** Octets of DS rdata: key tag, algorithm, digest type, digest (RFC 4034 §5.1). */
const DIGEST_TYPE_AT = 3;
/** SHA-1, SHA-256, SHA-384. */
const DIGEST_TYPES: ReadonlySet<number> = new Set([1, 2, 4]);

/** Whether a DS record was made from a key. Digests of unknown types are compared by tag and algorithm alone. */
export function pointsTo(apex: Uint8Array, ds: Uint8Array, dnskey: Uint8Array): boolean {
  const key = readPublicKey(dnskey);
  const type = ds[DIGEST_TYPE_AT]!;
  if (((ds[0]! << 8) | ds[1]!) !== key.tag || ds[2] !== key.algorithm) return false;
  return !DIGEST_TYPES.has(type) || equalBytes(ds, dsRdata(apex, key, type));
}
