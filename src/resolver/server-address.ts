/**
 * Addresses of resolvers that have host names. The system's look-up holds one of the four threads that also read files, for as long as
 * its name servers say nothing: so there is one at a time, whoever asks, and what it finds is kept.
 */
import { lookup } from 'node:dns/promises';
import { type Clock, steadyMs } from '../base/clock.js';
import { parseIP, printIP } from '../base/ip.js';
import { withLimit } from '../base/lifecycle.js';

/** Milliseconds that an address is used, and that a name without one is not looked up again. */
const KEPT_MS = 60_000;
const FAILED_MS = 1000;

interface Known {
  /** The last address that was found; it is used while it is looked up anew, and when that fails. */
  address: string | undefined;
  dueMs: number;
  finding: Promise<void> | undefined;
}

export interface ServerAddresses {
  /** In canonical text form; undefined when none is known within the time. */
  find(host: string, timeoutMs: number): Promise<string | undefined>;
}

/** `look` throws when the name has no address. */
export function createServerAddresses(
  clock: Clock,
  look: (host: string) => Promise<string> = async (host) => (await lookup(host)).address,
): ServerAddresses {
  const all = new Map<string, Known>();
  let last: Promise<void> = Promise.resolve();

  const findAnew = (host: string, known: Known): Promise<void> => {
    last = last.then(async () => {
      try {
        known.address = await look(host);
        known.dueMs = steadyMs(clock) + KEPT_MS;
      } catch {
        known.dueMs = steadyMs(clock) + FAILED_MS;
      }
      known.finding = undefined;
    });
    return last;
  };

  return {
    async find(host, timeoutMs) {
      const literal = parseIP(host);
      if (literal) return printIP(literal);
      const known: Known = all.get(host) ?? { address: undefined, dueMs: Number.NEGATIVE_INFINITY, finding: undefined };
      all.set(host, known);
      if (steadyMs(clock) >= known.dueMs) known.finding ??= findAnew(host, known);
      if (known.address === undefined && known.finding) await withLimit(clock, timeoutMs, known.finding);
      return known.address;
    },
  };
}
