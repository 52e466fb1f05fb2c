/**
 * Look-ups beside the cache of the resolver: what parents say of delegations and DS records, and what scans and proofs ask.
 * Accounts take turns at them.
 */
import type { Clock } from '../base/clock.js';
import type { MetricSample } from '../base/metrics.js';
import { createTurns } from '../base/turns.js';
import { createDelegationFinder } from './delegation.js';
import { createParentDsFinder, type FindParentDs, type ParentDsOptions } from './parent-ds.js';
import type { UpstreamAnswer, UpstreamType } from './upstream.js';

/** Questions of scans and proofs at once, and searches at parents, each of which asks several servers. */
const QUESTIONS = { places: 64, waiting: 10_000 } as const;
const SEARCHES = { places: 16, waiting: 10_000 } as const;
const WAIT_MS = 10_000;

export interface LookUps {
  readonly findDelegation: (name: string, account: number) => Promise<readonly string[] | undefined>;
  readonly findParentDs: FindParentDs;
  /** Asks recursive resolvers, never our own zones. */
  readonly askOutside: (name: string, type: UpstreamType, account: number) => Promise<UpstreamAnswer>;
  samples(): MetricSample[];
}

export function createLookUps(options: ParentDsOptions): LookUps {
  const { upstream, clock, egress } = options;
  const questions = turnsOf(QUESTIONS, clock);
  const searches = turnsOf(SEARCHES, clock);
  const findDelegation = createDelegationFinder({ upstream, clock, egress });
  const findParentDs = createParentDsFinder(options);
  return {
    findDelegation: (name, account) => searches.run(account, () => findDelegation(name)),
    findParentDs: (name, account) => searches.run(account, () => findParentDs(name, account)),
    askOutside: async (name, type, account) =>
      (await questions.run(account, () => upstream.query(name, type))) ?? NO_TURN,
    samples: () => [...questions.samples('look-ups'), ...searches.samples('parents')],
  };
}

const NO_TURN: UpstreamAnswer = {
  status: 'timeout',
  records: [],
  referral: [],
  reason: 'too many names are waiting to be looked up',
};

function turnsOf({ places, waiting }: { readonly places: number; readonly waiting: number }, clock: Clock) {
  const turns = createTurns(
    { all: { places, waiting, beyond: places }, each: [{ places, waiting }], waitMs: WAIT_MS },
    clock,
  );
  return {
    samples: (kind: string): MetricSample[] => turns.samples(kind),
    /** Undefined when there was no turn in time. */
    async run<Result>(account: number, work: () => Promise<Result>): Promise<Result | undefined> {
      const leave = await turns.enter([String(account)]);
      if (typeof leave === 'string') return undefined;
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}
