/**
 * Servers that do not respond are not asked for a while (RFC 9520 §2.1). After several consecutive failures a server is
 * suspected, and rests when it does not answer a question that every resolver can answer either: a few names whose own
 * servers are slow must not stop all others. Each failed attempt to wake it makes the rest longer. An attempt is one
 * query, however many queries are waiting.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import type { Random } from '../base/random.js';

/** Consecutive failures before a server is suspected. */
const FAILURES = 5;
const FIRST_REST_MS = 1000;
const LONGEST_REST_MS = 30_000;

/** `wake`: the single query to a server whose rest has ended. */
export type Leave = 'ordinary' | 'wake';

export interface ServerRest {
  /** Permission to send a query; undefined while the server rests. The caller must report the outcome with it. */
  take(): Leave | undefined;
  /** The server answered, whatever the answer says. */
  succeeded(): void;
  /**
   * The server sent nothing that can be trusted. Returns true when it is suspected now: the caller must ask it something that
   * it surely knows, and report {@link succeeded} or {@link convicted}.
   */
  failed(leave: Leave): boolean;
  /** The suspected server did not answer that either. */
  convicted(): void;
}

/** `attemptMs`: the longest time of one attempt. */
export function createServerRest(clock: Clock, random: Random, attemptMs: number): ServerRest {
  let failures = 0;
  let restMs = 0;
  let restsUntilMs = 0;
  let isSuspected = false;

  function rest(ms: number): void {
    restMs = Math.min(LONGEST_REST_MS, ms);
    // A jitter of a quarter, so that servers that failed together are not asked again together.
    restsUntilMs = steadyMs(clock) + restMs * (1 + random.bytes(1)[0]! / 1024);
  }

  return {
    take() {
      if (restMs === 0) return 'ordinary';
      if (steadyMs(clock) < restsUntilMs) return undefined;
      // The other queries wait for the outcome of this attempt.
      restsUntilMs = steadyMs(clock) + attemptMs;
      return 'wake';
    },
    succeeded() {
      failures = 0;
      restMs = 0;
      isSuspected = false;
    },
    failed(leave) {
      if (leave === 'wake') rest(restMs * 2);
      // Queries that were in progress when the rest began are not counted.
      if (restMs > 0 || isSuspected) return false;
      isSuspected = ++failures >= FAILURES;
      return isSuspected;
    },
    convicted() {
      // It may have answered another query meanwhile.
      if (isSuspected) rest(FIRST_REST_MS);
      isSuspected = false;
    },
  };
}
