/** Timers in step: what is due at multiples of its period is due together with what has a multiple of that period. Pure. */

/** Milliseconds from `nowMs` to the next multiple of the period, or to the one after it when that is very near. */
export function untilNext(nowMs: number, periodMs: number): number {
  const leftMs = periodMs - (nowMs % periodMs);
  // Timers may ring up to a millisecond early, and must not ring twice then.
  return leftMs < periodMs / 4 ? leftMs + periodMs : leftMs;
}
