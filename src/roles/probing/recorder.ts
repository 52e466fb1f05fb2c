/** Stores the transitions that the probing process reports. */
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { ProbingNode } from '../../monitoring/plan.js';
import type { Transition } from '../../monitoring/prober.js';
import { type RecordedChange, recordAgreement, recordTransitions } from '../../monitoring/record.js';

export interface RecorderOptions {
  readonly base: ContextBase;
  readonly node: ProbingNode;
  /** The names of the living nodes; undefined outside of clusters. */
  readonly living?: (() => ReadonlySet<string>) | undefined;
}

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

/** Makes one write at a time. Transitions that come meanwhile share the next write; only the last of each origin is stored. */
export function createRecorder({ base, node, living }: RecorderOptions): Recorder {
  const { clock, log } = base;
  let pending = new Map<string, Transition>();
  let writing = new Map<string, Transition>();
  let isWriting = false;
  let isClosed = false;
  let failures = 0;
  const keyOf = ({ pool, origin, monitor }: Transition): string => `${pool} ${monitor} ${origin}`;
  const write = async (): Promise<void> => {
    const taken = pending;
    writing = taken;
    pending = new Map();
    try {
      const changes = await recordTransitions(base, { node, living: living?.() }, [...taken.values()]);
      logChanges(log, changes);
    } catch (error) {
      failures++;
      log.warn(
        { reason: messageOf(error), transitions: taken.size },
        'the health of origins could not be stored; trying again',
      );
      // Transitions that came meanwhile are newer.
      pending = new Map([...taken, ...pending]);
      await pause(clock);
    }
    writing = new Map();
  };
  const run = async (): Promise<void> => {
    if (isWriting) return;
    isWriting = true;
    while (pending.size > 0 && !isClosed) await write();
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
    unwritten: () => [...new Map([...writing, ...pending]).values()],
    take(transitions) {
      for (const transition of transitions) pending.set(keyOf(transition), transition);
      void run();
    },
    samples: () => samplesOf(pending.size, failures),
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
