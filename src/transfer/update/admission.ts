/**
 * Which signed updates reach the admin process. A key has a pace and few places, and so has its account, so that a flood of one
 * leaves room for the updates of others. Addresses do not count: many clients stand behind one, and the signature says who sent it. Before
 * it is checked, updates wait in turns by the account that their zone has (signed-query.ts).
 */
import type { Clock } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import { createTurns } from '../../base/turns.js';
import { createPace } from './pace.js';

/** Updates a second of one key and of one account, and how many at once after a rest. */
const OF_KEY = { perSecond: 50, burst: 200 } as const;
const OF_ACCOUNT = { perSecond: 500, burst: 1000 } as const;
/** Refusals a second that are told to those who send more. What comes beyond them is dropped before its signature is checked. */
const TOLD_TO_KEY = { perSecond: 10, burst: 200 } as const;
const TOLD_TO_ACCOUNT = { perSecond: 50, burst: 1000 } as const;
/** Places in the connection to the admin process; the levels are accounts and keys. Clients ask again after some seconds. */
const PLACES = {
  all: { places: 200, waiting: 600 },
  each: [
    { places: 64, waiting: 256 },
    { places: 8, waiting: 192 },
  ],
  waitMs: 3000,
} as const;

/** `pace`: more than the key or its account may send. `full`: too many of them wait already, or no place became free in time. */
export type NotAdmitted = 'pace' | 'full';

/** Frees the place. `isAnswered`: whether anybody could look at the update; if not, it does not count. */
export type LeaveUpdate = (isAnswered: boolean) => void;

export interface UpdateAdmission {
  /**
   * Whether the signature of an update that names this key of this account is worth being checked. Only updates that were really signed
   * use up what a key may send, so nobody can stop a key by naming it.
   */
  mayCheck(account: number, key: number): boolean;
  /** `account`, `key`: store numbers. */
  enter(account: number, key: number): Promise<LeaveUpdate | NotAdmitted>;
  samples(): MetricSample[];
}

export function createUpdateAdmission(clock: Clock): UpdateAdmission {
  const ofKey = createPace(OF_KEY.perSecond, OF_KEY.burst, clock);
  const ofAccount = createPace(OF_ACCOUNT.perSecond, OF_ACCOUNT.burst, clock);
  const toldToKey = createPace(TOLD_TO_KEY.perSecond, TOLD_TO_KEY.burst, clock);
  const toldToAccount = createPace(TOLD_TO_ACCOUNT.perSecond, TOLD_TO_ACCOUNT.burst, clock);
  const turns = createTurns(PLACES, clock);
  let overPace = 0;
  let dropped = 0;
  return {
    mayCheck(account, key) {
      const [ofAll, of] = [String(account), String(key)];
      const isFine = (ofKey.has(of) || toldToKey.has(of)) && (ofAccount.has(ofAll) || toldToAccount.has(ofAll));
      if (!isFine) dropped++;
      return isFine;
    },
    async enter(account, key) {
      // The key comes first: what it may not send does not count for the account.
      if (!ofKey.take(String(key)) || !ofAccount.take(String(account))) {
        overPace++;
        toldToKey.take(String(key));
        toldToAccount.take(String(account));
        return 'pace';
      }
      const turn = await turns.enter([String(account), String(key)]);
      const giveBack = (): void => {
        ofKey.giveBack(String(key));
        ofAccount.giveBack(String(account));
      };
      if (typeof turn === 'string') {
        // Whoever has too many waiting sends too many.
        if (turn !== 'full') giveBack();
        return 'full';
      }
      return (isAnswered) => {
        turn();
        if (!isAnswered) giveBack();
      };
    },
    samples: () => [
      ...turns.samples('updates'),
      {
        name: 'updates_over_pace_total',
        type: 'counter',
        help: 'Dynamic updates that were refused because their key or its account had sent too many',
        labels: {},
        value: overPace,
      },
      {
        name: 'updates_dropped_total',
        type: 'counter',
        help: 'Dynamic updates that were dropped before their signature was checked, because their key or its account had sent far too many',
        labels: {},
        value: dropped,
      },
    ],
  };
}
