/**
 * Servers that keep silent are left alone for a while (RFC 9520 §2.1): after some failures in a row a server rests, longer with
 * each failed attempt to wake it, and that attempt is one question, whatever is waiting.
 */
import type { Clock } from '../base/clock.js';
import type { Random } from '../base/random.js';

/** Failures in a row before a server rests. */
const FAILURES = 5;
const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 30_000;

/** `wake`: the one question to a server whose rest is over. */
export type Leave = 'ordinary' | 'wake';

export interface ServerRest {
  /** Leave to send a question; undefined while the server rests. The outcome is to be told with it. */
  take(): Leave | undefined;
  /** It answered, whatever it said. */
  succeeded(): void;
  /** Nothing that can be believed came from it. */
  failed(leave: Leave): void;
}

/** `attemptMs`: how long an attempt takes at most. */
export function createServerRest(clock: Clock, random: Random, attemptMs: number): ServerRest {
  let failures = 0;
  let restMs = 0;
  let restsUntilMs = 0;

  function rest(ms: number): void {
    restMs = Math.min(LONGEST_REST_MS, ms);
    // Jitter of a quarter, so that servers lost together are not asked together.
    restsUntilMs = clock.nowMs() + restMs * (1 + random.bytes(1)[0]! / 1024);
  }

  return {
    take() {
      if (restMs === 0) return 'ordinary';
      if (clock.nowMs() < restsUntilMs) return undefined;
      // The others wait for the outcome of this attempt.
      restsUntilMs = clock.nowMs() + attemptMs;
      return 'wake';
    },
    succeeded() {
      failures = 0;
      restMs = 0;
    },
    failed(leave) {
      if (leave === 'wake') rest(restMs * 2);
      // Questions that were under way when the rest began change nothing.
      else if (restMs === 0 && ++failures >= FAILURES) rest(FIRST_REST_MS);
    },
  };
}
