/**
 * Places of outgoing transfers, given out in turns by the account of the zone and then by the address of the peer. A peer that reads
 * slowly keeps its place only while nobody waits for one.
 */
import { type Clock, steadyMs } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import { createTurns } from '../../base/turns.js';

const PLACES = {
  all: { places: 50, waiting: 500 },
  each: [
    { places: 25, waiting: 250 },
    { places: 4, waiting: 100 },
  ],
  waitMs: 30_000,
} as const;

/** While others wait, a transfer that has run for so long must have sent so many octets a second. */
const SLOW_AFTER_MS = 10_000;
const LEAST_PER_SECOND = 64 * 1024;
const LOOK_MS = 1000;

export interface TransferPlace {
  /** Notes octets that the peer was given. */
  sent(octets: number): void;
  leave(): void;
}

export interface TransferPlaces {
  /** `account`: store number; `cut` ends the transfer. Undefined: there was no place in time. */
  enter(account: number, address: string, cut: () => void): Promise<TransferPlace | undefined>;
  samples(): MetricSample[];
}

interface Running {
  readonly account: number;
  readonly sinceMs: number;
  readonly cut: () => void;
  octets: number;
}

export function createTransferPlaces(clock: Clock): TransferPlaces {
  const turns = createTurns(PLACES, clock);
  const running = new Set<Running>();
  /** Accounts of those who wait, once for each. */
  const waiting: number[] = [];
  let stopLooking: (() => void) | undefined;
  let cuts = 0;

  const isSlow = ({ sinceMs, octets }: Running): boolean => {
    const ranMs = steadyMs(clock) - sinceMs;
    return ranMs >= SLOW_AFTER_MS && (octets * 1000) / ranMs < LEAST_PER_SECOND;
  };

  /** Whether somebody waits who could have the place. */
  const isWanted = ({ account }: Running): boolean => turns.held >= PLACES.all.places || waiting.includes(account);

  /** As many are cut as wait, the slowest first. */
  const cutSlow = (): void => {
    if (waiting.length === 0) {
      stopLooking?.();
      stopLooking = undefined;
      return;
    }
    const slow = [...running].filter((one) => isSlow(one) && isWanted(one)).sort((a, b) => a.octets - b.octets);
    for (const one of slow.slice(0, waiting.length)) {
      running.delete(one);
      cuts++;
      one.cut();
    }
  };

  return {
    async enter(account, address, cut) {
      waiting.push(account);
      const turn = turns.enter([String(account), address]);
      if (turns.waiting > 0) stopLooking ??= clock.every(LOOK_MS, cutSlow);
      const leave = await turn;
      waiting.splice(waiting.indexOf(account), 1);
      if (typeof leave === 'string') return undefined;
      const one: Running = { account, sinceMs: steadyMs(clock), cut, octets: 0 };
      running.add(one);
      return {
        sent(octets) {
          one.octets += octets;
        },
        leave() {
          running.delete(one);
          leave();
        },
      };
    },
    samples: () => [
      ...turns.samples('transfers'),
      {
        name: 'transfers_cut_total',
        type: 'counter',
        help: 'Outgoing zone transfers that were ended because the peer read slowly while others waited',
        labels: {},
        value: cuts,
      },
    ],
  };
}
