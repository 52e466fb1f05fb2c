/** What a zone's hold keeps other accounts from (v4: §4). */
import type { ZoneRow } from '../../store/zones/zones.js';

/** A name an account wants to have, or to be served under. */
export interface WantedName {
  /** Lower-case ASCII, no final dot. */
  readonly name: string;
  /** Store number of the account. */
  readonly account: number;
}

/** Whether the hold is on at an instant in microseconds since 1970. */
export function isOn({ hold_after: after }: Pick<ZoneRow, 'hold_after'>, now: number): boolean {
  return after !== null && after <= now;
}

/** Whether the hold of a zone at the wanted name or above it refuses the name; an account's own holds never do. */
export function isHeldFrom(zone: ZoneRow, { name, account }: WantedName, now: number): boolean {
  return zone.account !== account && isOn(zone, now) && (zone.name === name || zone.hold_include_subdomains === 1);
}

/**
 * Whether the hold of a zone keeps names at and below it from being served as custom hostnames, for whichever account. A zone
 * that waits for its delegation could be anybody's and keeps nobody from anything.
 */
export function holdsHostnames(zone: ZoneRow, now: number): boolean {
  return zone.status === 'active' && isOn(zone, now) && zone.hold_include_subdomains === 1;
}
