/** When to retry after failures, and when to renew a certificate. All in milliseconds. */
import type { Random } from '../../base/random.js';
import type { RenewalWindow } from '../authority.js';

const LONGEST_S = 14_400;

/**
 * The wait before the next check of what a customer must publish, after this many checks in vain: 75 of them take a
 * week.
 */
export function checkDelayMs(looks: number): number {
  const base = looks < 10 ? 1.05 : 1.15;
  return Math.min(Math.floor(60 * base ** Math.min(looks, 100)), LONGEST_S) * 1000;
}

/** The wait after this many consecutive failures of an authority, counting from one. */
export function authorityDelayMs(failures: number): number {
  return Math.min(30_000 * 2 ** Math.min(failures - 1, 20), 3_600_000);
}

const SHORT_LIVED_MS = 10 * 86_400_000;
/** Part of the lifetime over which renewals are spread. */
const SPREAD = 0.02;

/** Used when the authority gives no time: when a third of the lifetime is left, or half of a short one. */
export function renewalTimeMs(notBeforeMs: number, notAfterMs: number, random: Random): number {
  const lifetimeMs = notAfterMs - notBeforeMs;
  const left = lifetimeMs < SHORT_LIVED_MS ? 1 / 2 : 1 / 3;
  return Math.floor(notAfterMs - lifetimeMs * (left + SPREAD * unitOf(random)));
}

/** A random time in the window (RFC 9773 §4.2); the planned one if it is already inside. */
export function timeInWindowMs({ startMs, endMs }: RenewalWindow, plannedMs: number, random: Random): number {
  if (plannedMs >= startMs && plannedMs <= endMs) return plannedMs;
  return Math.floor(startMs + (endMs - startMs) * unitOf(random));
}

/** A number from 0 up to, but not including, 1. */
function unitOf(random: Random): number {
  const octets = random.bytes(2);
  return ((octets[0]! << 8) | octets[1]!) / 65536;
}
