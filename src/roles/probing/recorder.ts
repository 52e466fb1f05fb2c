/** Stores the transitions that the probing process reports. */
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { ProbingNode } from '../../monitoring/plan.js';
import type { Transition } from '../../monitoring/prober.js';
import { type RecordedChange, recordAgreement, recordTransitions } from '../../monitoring/record.js';
import { findPool } from '../../store/balancing/pools.js';
import { createWaitingTransitions, type PoolTransitions, transitionsOf } from './waiting-transitions.js';

export interface RecorderOptions {
  readonly base: ContextBase;
  readonly node: ProbingNode;
  /** The names of the living nodes; undefined outside of clusters. */
  readonly living?: (() => ReadonlySet<string>) | undefined;
}

/** Transitions that are taken at once; more only if all are of one pool. */
const ROWS_AT_ONCE = 200;
/** Pause after a failed write. */
const RETRY_MS = 1000;
/** How often to check which nodes live. */
const AGREE_MS = 2500;

export interface Recorder {
  take(transitions: readonly Transition[]): void;
  /** Transitions that are not stored yet. */
  unwritten(): readonly Transition[];
  samples(): readonly MetricSample[];
  close(): void;
}

/**
 * Makes one write at a time; accounts take turns, so that one whose origins come and go does not delay the others. Transitions that
 * come meanwhile share a later write; only the last of each origin is stored.
 */
export function createRecorder({ base, node, living }: RecorderOptions): Recorder {
  const { clock, log, store } = base;
  const waiting = createWaitingTransitions((pool) => findPool(store, pool)?.account ?? 0);
  let writing: readonly PoolTransitions[] = [];
  let isWriting = false;
  let isClosed = false;
  let failures = 0;
  const write = async (): Promise<void> => {
    writing = waiting.take(ROWS_AT_ONCE);
    try {
      const transitions = transitionsOf(writing);
      logChanges(log, await recordTransitions(base, { node, living: living?.() }, transitions));
    } catch (error) {
      failures++;
      const transitions = transitionsOf(writing).length + waiting.list().length;
      log.warn({ reason: messageOf(error), transitions }, 'the health of origins could not be stored; trying again');
      waiting.putBack(writing);
      await pause(clock);
    }
    writing = [];
  };
  const run = async (): Promise<void> => {
    if (isWriting) return;
    isWriting = true;
    while (waiting.size > 0 && !isClosed) await write();
    isWriting = false;
  };
  let lived = '';
  let isAgreeing = false;
  /** Decides the health of pools again when a node comes or goes. */
  const agree = async (): Promise<void> => {
    const now = living?.() ?? new Set<string>();
    const text = [...now].sort().join(' ');
    if (isAgreeing || text === lived) return;
    isAgreeing = true;
    try {
      logChanges(log, await recordAgreement(base, now));
      lived = text;
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'the health that nodes agree on could not be stored; trying again');
    }
    isAgreeing = false;
  };
  const cancel = living ? clock.every(AGREE_MS, () => void agree()) : () => {};
  return {
    unwritten: () => [...transitionsOf(writing), ...waiting.list()],
    take(transitions) {
      for (const transition of transitions) waiting.add(transition);
      void run();
    },
    samples: () => samplesOf(waiting.list().length, failures),
    close() {
      isClosed = true;
      cancel();
    },
  };
}

function pause(clock: Clock): Promise<void> {
  return new Promise((resolve) => clock.after(RETRY_MS, resolve));
}

function logChanges(log: Logger, changes: readonly RecordedChange[]): void {
  for (const { pool, poolName, state, origins } of changes) {
    const changed = origins.map(({ name, healthy, failure_reason: reason }) => ({ name, healthy, reason }));
    log.info({ pool, name: poolName, state, origins: changed }, 'the health of a pool has changed');
  }
}

function samplesOf(unstored: number, failures: number): MetricSample[] {
  return [
    {
      name: 'probing_unstored_transitions',
      type: 'gauge',
      help: 'Transitions of origins that are not stored yet',
      labels: {},
      value: unstored,
    },
    {
      name: 'probing_store_failures_total',
      type: 'counter',
      help: 'Writes of transitions that failed and were retried',
      labels: {},
      value: failures,
    },
  ];
}
