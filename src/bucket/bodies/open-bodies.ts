/**
 * Limits how many bodies of objects are open at once, so that clients cannot use up the open files of the process. Accounts take turns,
 * and some places are reserved for accounts that have no open body.
 */
import type { Clock } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import { openFileLimit } from '../../base/process/open-files.js';
import { createTurns, type Leave } from '../../base/turns.js';
import { objectFailure } from '../errors.js';

const MOST_BODIES = 1024;
const DEFAULT_FILE_LIMIT = 1024;
const LONGEST_WAIT_MS = 5000;
const RETRY_SECONDS = 5;

export interface OpenBodies {
  /**
   * Waits for a place, and resolves to a function that gives it back, which may be called twice. Rejects with an object failure when
   * no place becomes free. `account`: the owner of the object (store number).
   */
  take(account: number, client: string): Promise<Leave>;
  count(): number;
  samples(): MetricSample[];
}

/**
 * `most`: for all clients together; a single one may have half of them. The default leaves open files for everything
 * else.
 */
export function createOpenBodies(
  clock: Clock,
  most = Math.min(MOST_BODIES, Math.ceil((openFileLimit() ?? DEFAULT_FILE_LIMIT) / 4)),
): OpenBodies {
  const all = { places: most, waiting: 2 * most, beyond: Math.ceil(most / 4) };
  const each = [
    { places: most, waiting: most },
    { places: Math.ceil(most / 2), waiting: Math.ceil(most / 2) },
  ];
  const turns = createTurns({ all, each, waitMs: LONGEST_WAIT_MS }, clock);
  return {
    async take(account, client) {
      const leave = await turns.enter([String(account), client]);
      if (typeof leave === 'string') throw objectFailure('tooManyOpen', {}, { retryAfterSeconds: RETRY_SECONDS });
      return leave;
    },
    count: () => turns.held,
    samples: () => turns.samples('bodies'),
  };
}
