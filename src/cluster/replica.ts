/**
 * A copy that follows the log: it applies what other nodes have appended, soon after they did, and at the latest after a slow
 * look. While PostgreSQL is away it stays as it is.
 */
import { type Clock, steadyMs } from '../base/clock.js';
import { messageOf, UserError } from '../base/errors.js';
import { withLimit } from '../base/lifecycle.js';
import type { Logger } from '../base/log.js';
import type { Store } from '../store/driver.js';
import { EntryRefused, StoreBusy } from '../store/failures.js';
import { catchUp, type EntryLog, onlyOwnEntriesSince } from '../store/log-writer.js';

export interface ReplicaStatus {
  /** The last entry that this copy has applied. */
  readonly applied: number;
  /** `away`: PostgreSQL cannot be reached. `stopped`: an entry cannot be applied. */
  readonly state: 'following' | 'away' | 'stopped';
  readonly reason?: string;
}

export interface Replica {
  /** Applies what was appended before this call; shared by all callers of the moment. Rejects when it cannot. */
  catchUp(): Promise<void>;
  /** The same for readers: never rejects, and does not wait for a log that is away. */
  refresh(): Promise<void>;
  /** Whether nobody but this process has written for a while: then a look at the log would likely find nothing. */
  isQuiet(): boolean;
  /** Looks soon: something was appended, or the log is back. */
  wake(): void;
  status(): ReplicaStatus;
  close(): Promise<void>;
}

export interface ReplicaOptions {
  readonly store: Store;
  readonly log: EntryLog;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether a copy that refuses the entry must be replaced; otherwise it stays as it is, and stops. */
  readonly isToBeReplaced: (refusal: EntryRefused) => Promise<boolean>;
  /** This copy must be replaced by a snapshot. Called once. */
  readonly onDiverged: (reason: string) => void;
}

/** The slow look, in case a notification was lost; also finds a server that is back. */
const LOOK_MS = 1000;
/** After an entry of another node, further ones are expected for so long. */
const QUIET_MS = 1000;
/** A reader waits no longer for the log. */
const REFRESH_LIMIT_MS = 1000;

export function followLog(options: ReplicaOptions): Replica {
  const { store, clock } = options;
  const follower = createFollower(options);
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let closed = false;
  let seen = store.position().number;
  let othersAtMs = Number.NEGATIVE_INFINITY;

  function start(): Promise<void> {
    running = follower.look().finally(() => {
      running = undefined;
    });
    return running;
  }

  /** A look that has begun may miss what was appended since: callers share the next one. */
  function shared(): Promise<void> {
    if (!running) return start();
    next ??= running
      .catch(() => {})
      .then(() => {
        next = undefined;
        return closed ? undefined : start();
      });
    return next;
  }

  const wake = (): void => {
    if (!closed) shared().catch(() => {});
  };
  const cancel = clock.every(LOOK_MS, wake);
  return {
    catchUp: shared,
    async refresh() {
      if (closed || follower.state().state !== 'following') return;
      const ended = (): boolean => true;
      const seen = await withLimit(clock, REFRESH_LIMIT_MS, shared().then(ended, ended));
      if (seen === undefined) follower.giveUp(`the log did not answer within ${REFRESH_LIMIT_MS / 1000} s`);
    },
    isQuiet() {
      if (!onlyOwnEntriesSince(store, seen)) othersAtMs = steadyMs(clock);
      seen = store.position().number;
      return steadyMs(clock) - othersAtMs >= QUIET_MS;
    },
    wake,
    status: () => ({ applied: store.position().number, ...follower.state() }),
    async close() {
      closed = true;
      cancel();
      await running?.catch(() => {});
    },
  };
}

type State = Omit<ReplicaStatus, 'applied'>;

/** Looks at the log once for each call, and keeps what came of it. */
function createFollower({ store, log, logger, isToBeReplaced, onDiverged }: ReplicaOptions) {
  let now: State = { state: 'following' };
  let diverged = false;

  const change = (state: State['state'], reason?: string): void => {
    if (state !== now.state) {
      if (state === 'following') logger.info('the copy follows the log of the cluster again');
      else if (state === 'away') logger.warn({ reason }, 'PostgreSQL is away: DNS and reads go on, writes wait');
      else logger.error({ reason }, 'the copy of this node has stopped following the log');
    }
    now = { state, ...(reason !== undefined && { reason }) };
  };

  return {
    state: () => now,
    giveUp: (reason: string) => change('away', reason),
    async look(): Promise<void> {
      try {
        await catchUp(store, log);
        change('following');
      } catch (error) {
        change(isOfLog(error) ? 'away' : 'stopped', messageOf(error));
        if (error instanceof EntryRefused && !diverged && (await isToBeReplaced(error).catch(() => false))) {
          diverged = true;
          onDiverged(error.message);
        }
        throw error;
      }
    },
  };
}

/** Whether PostgreSQL is why: it cannot be reached, or refuses this node. */
function isOfLog(error: unknown): boolean {
  return error instanceof StoreBusy || error instanceof UserError;
}
