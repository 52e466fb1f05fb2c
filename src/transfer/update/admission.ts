/**
 * Which signed updates reach the admin process. A key has a pace and few places, and so has its account, so that a flood of one
 * leaves room for the updates of others. Addresses do not count: many clients stand behind one, and the signature says who sent it.
 */
import type { Clock } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import { createTurns } from '../../base/turns.js';
import { createPace } from './pace.js';

/** Updates a second of one key and of one account, and how many at once after a rest. */
const OF_KEY = { perSecond: 50, burst: 200 } as const;
const OF_ACCOUNT = { perSecond: 500, burst: 1000 } as const;
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
  /** `account`, `key`: store numbers. */
  enter(account: number, key: number): Promise<LeaveUpdate | NotAdmitted>;
  samples(): MetricSample[];
}

export function createUpdateAdmission(clock: Clock): UpdateAdmission {
  const ofKey = createPace(OF_KEY.perSecond, OF_KEY.burst, clock);
  const ofAccount = createPace(OF_ACCOUNT.perSecond, OF_ACCOUNT.burst, clock);
  const turns = createTurns(PLACES, clock);
  let overPace = 0;
  return {
    async enter(account, key) {
      // The key comes first: what it may not send does not count for the account.
      if (!ofKey.take(String(key)) || !ofAccount.take(String(account))) {
        overPace++;
        return 'pace';
      }
      const turn = await turns.enter([String(account), String(key)]);
      const giveBack = (): void => {
        ofKey.giveBack(String(key));
        ofAccount.giveBack(String(account));
      };
      if (typeof turn === 'string') {
        giveBack();
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
    ],
  };
}
