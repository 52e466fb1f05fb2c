/** What a zone's hold forbids other accounts (v4: §4). */
import { isProofLost, isProven } from '../../serving/name-owner.js';
import type { ZoneRow } from '../../store/zones/zones.js';

/** A name that an account wants to add or to serve. */
export interface WantedName {
  /** Lower-case ASCII, without the final dot. */
  readonly name: string;
  /** Store number of the account. */
  readonly account: number;
}

/** Whether the hold is active at a time in microseconds since 1970. */
export function isOn({ hold_after: after }: Pick<ZoneRow, 'hold_after'>, now: number): boolean {
  return after !== null && after <= now;
}

/**
 * Whether the hold of a zone at or above the name forbids it. An account's own holds never do; nor do holds of zones whose names
 * are not proven to be their accounts'.
 */
export function isHeldFrom(zone: ZoneRow, { name, account }: WantedName, now: number): boolean {
  const holds = isProven(zone) && !isProofLost(zone, now) && zone.status !== 'moved' && isOn(zone, now);
  return zone.account !== account && holds && (zone.name === name || zone.hold_include_subdomains === 1);
}

/**
 * Whether the hold of a zone prevents names at and below it from being served as custom hostnames, also for its own
 * account. The hold of a zone that any account could have created has an effect on its own account only. `account`: the
 * one that wants to serve the name.
 */
export function holdsHostnames(zone: ZoneRow, account: number, now: number): boolean {
  if (zone.status !== 'active' || !isOn(zone, now) || zone.hold_include_subdomains === 0) return false;
  return zone.account === account || (isProven(zone) && !isProofLost(zone, now));
}
