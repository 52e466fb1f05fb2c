/** When hostnames are checked (edge specification §2.5, §3.1). */
import { checkDelayMs } from '../certs/issuance/schedule.js';

/** Checks of a hostname that is not verified; after the last one it is given up. */
export const MOST_CHECKS = 75;

/** Seconds before check number `n`, from 0. */
export function delaySeconds(n: number): number {
  return checkDelayMs(n) / 1000;
}

/** An active hostname is looked at this often, milliseconds. */
export const RECHECK_MS = 3_600_000;

/** One that leads elsewhere is moved after this many checks that say so, over this time, milliseconds. */
export const ELSEWHERE_CHECKS = 3;
export const ELSEWHERE_MS = 900_000;
/** Time between them, milliseconds. */
export const ELSEWHERE_RECHECK_MS = 450_000;

/** A moved hostname is kept so long, milliseconds. */
export const MOVED_KEPT_MS = 604_800_000;
