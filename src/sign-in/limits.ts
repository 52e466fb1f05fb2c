/**
 * Limits of failed attempts: by the address that is signed in to, whether or not it belongs to a user, and by the network that asks.
 * Nobody is locked out: whoever waits long enough may try, and other ways to sign in do not count here. Attempts from a network from
 * which it has succeeded count by themselves, so that strangers elsewhere cannot make a person wait again and again.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import { parseIP, printIP } from '../base/ip.js';
import { signInFailure } from './failures.js';

const MINUTE_MS = 60_000;
const WINDOW_MS = 15 * MINUTE_MS;
/** Failures of one address before it has to wait. */
const FREE_OF_ADDRESS = 10;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15 * MINUTE_MS;
/** Failures of one network in the window. */
const MOST_OF_NETWORK = 100;
/** Who is counted at once; the one that failed least recently is forgotten. */
const MOST_COUNTED = 20_000;
/** Networks from which somebody has succeeded; the one of the earliest success is forgotten, and so is whoever succeeded least recently. */
const MOST_KNOWN = 8;

interface Count {
  readonly failures: number;
  /** Of an address: when it failed last; of a network: when its window began. */
  readonly atMs: number;
}

export interface SignInLimits {
  /**
   * Counts an attempt as failed until it is known that it succeeded, so that many at once count, too. Throws 429 when the address or
   * the network has to wait.
   */
  begin(subject: string, network: string): Attempt;
}

export interface Attempt {
  succeeded(): void;
}

export function createSignInLimits(clock: Clock): SignInLimits {
  const subjects = new Map<string, Count>();
  const networks = new Map<string, Count>();
  const succeeded = new Map<string, Set<string>>();
  const noteSuccess = (subject: string, network: string): void => {
    const known = succeeded.get(subject) ?? new Set();
    known.delete(network);
    known.add(network);
    if (known.size > MOST_KNOWN) known.delete(known.values().next().value!);
    succeeded.delete(subject);
    succeeded.set(subject, known);
    if (succeeded.size > MOST_COUNTED) succeeded.delete(succeeded.keys().next().value!);
  };
  const put = (counts: Map<string, Count>, key: string, count: Count): void => {
    counts.delete(key);
    counts.set(key, count);
    if (counts.size > MOST_COUNTED) counts.delete(counts.keys().next().value!);
  };
  return {
    begin(whose, network) {
      const nowMs = steadyMs(clock);
      // Strangers choose what stands at the end of a subject, not how it begins.
      const subject = succeeded.get(whose)?.has(network) ? `from ${network} ${whose}` : whose;
      const known = subjects.get(subject);
      const own = known && nowMs - known.atMs < WINDOW_MS + waitOf(known) ? known : { failures: 0, atMs: nowMs };
      requireWaited(own.atMs + waitOf(own), nowMs);
      const there = networks.get(network);
      const all = there && nowMs - there.atMs < WINDOW_MS ? there : { failures: 0, atMs: nowMs };
      if (all.failures >= MOST_OF_NETWORK) requireWaited(all.atMs + WINDOW_MS, nowMs);
      put(subjects, subject, { failures: own.failures + 1, atMs: nowMs });
      put(networks, network, { failures: all.failures + 1, atMs: all.atMs });
      return {
        succeeded() {
          subjects.delete(subject);
          noteSuccess(whose, network);
          const now = networks.get(network);
          if (now) networks.set(network, { ...now, failures: Math.max(0, now.failures - 1) });
        },
      };
    },
  };
}

/** After so many failures, the wait doubles with each. */
function waitOf({ failures }: Count): number {
  if (failures < FREE_OF_ADDRESS) return 0;
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (failures - FREE_OF_ADDRESS));
}

function requireWaited(untilMs: number, nowMs: number): void {
  if (untilMs <= nowMs) return;
  throw signInFailure('tooMany', {}, { retryAfterSeconds: Math.ceil((untilMs - nowMs) / 1000) });
}

/** The network of an address: the /24 of IPv4, the /64 of IPv6, in which one person may have many addresses. */
export function networkOf(address: string): string {
  const octets = parseIP(address);
  if (!octets) return 'unknown';
  const kept = octets.length === 4 ? 3 : 8;
  return printIP(octets.map((octet, index) => (index < kept ? octet : 0)));
}
