/** The state of a zone for resolvers, decided here from its columns, once for all; serving/signing.ts says more of signatures. */
import type { ZoneRow } from '../store/zones/zones.js';

/**
 * `withheld`: it is not answered, because its name is not proven, another zone has it, or it was set aside. `expired`: it is answered
 * with SERVFAIL, because a secondary zone has no copy that may be served (RFC 1035 §3.3.13).
 */
export type ZoneState = 'withheld' | 'expired' | 'served';

export function zoneState({ served, expired }: Pick<ZoneRow, 'served' | 'expired'>): ZoneState {
  if (served !== 1) return 'withheld';
  return hasExpired({ expired }) ? 'expired' : 'served';
}

/** Whether a secondary zone has no copy that may be served, whether it is answered or not. */
export function hasExpired({ expired }: Pick<ZoneRow, 'expired'>): boolean {
  return expired === 1;
}

/** Whether the zone is answered, if only with SERVFAIL. */
export function isAnswered(zone: Pick<ZoneRow, 'served' | 'expired'>): boolean {
  return zoneState(zone) !== 'withheld';
}

/** `changing`: the zone is being signed, or ceases to be, and is served without signatures meanwhile. */
export type SignatureState = 'none' | 'changing' | 'served';

export function signatureState({ signed }: Pick<ZoneRow, 'signed'>): SignatureState {
  switch (signed) {
    case 0:
      return 'none';
    case 1:
      return 'served';
    default:
      return 'changing';
  }
}
