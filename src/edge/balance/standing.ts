/**
 * What is known of pools and origins in this process: their health, round trips, and requests under way, each at a place of its own
 * that all load balancers share.
 */
import type { Standing } from '../../steering/choice.js';

export interface BalanceStanding extends Standing {
  readonly states: Int32Array;
  readonly loads: Int32Array;
  /** Places that are taken. */
  readonly size: number;
  /** Place of a pool (store number), or of one of its origins. */
  slotOf(pool: number, origin?: string): number;
}

const FIRST_SLOTS = 1024;

export function createBalanceStanding(): BalanceStanding {
  const slots = new Map<string, number>();
  let states = new Int32Array(FIRST_SLOTS);
  let loads = new Int32Array(FIRST_SLOTS);
  return {
    get states() {
      return states;
    },
    get loads() {
      return loads;
    },
    get size() {
      return slots.size;
    },
    slotOf(pool, origin) {
      const key = origin === undefined ? `${pool}` : `${pool} ${origin}`;
      const known = slots.get(key);
      if (known !== undefined) return known;
      const slot = slots.size;
      slots.set(key, slot);
      if (slot >= states.length) {
        states = grown(states);
        loads = grown(loads);
      }
      return slot;
    },
  };
}

function grown(words: Int32Array): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(words.length * 2);
  larger.set(words);
  return larger;
}
