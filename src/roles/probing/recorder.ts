/** Stores what the process that probes has told. */
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
  /** The names of the nodes that live; undefined where there is only this one. */
  readonly living?: (() => ReadonlySet<string>) | undefined;
}

/** After a write that failed. */
const RETRY_MS = 1000;
/** Between two looks whether other nodes live. */
const AGREE_MS = 2500;

export interface Recorder {
  take(transitions: readonly Transition[]): void;
  /** What is not stored yet. */
  unwritten(): readonly Transition[];
  samples(): readonly MetricSample[];
  close(): void;
}

/** Writes what was told, one write at a time; what comes meanwhile shares the next one, and only the last of each origin counts. */
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
      // What came meanwhile is newer.
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
  /** When a node comes or goes, the others agree anew. */
  const agree = async (): Promise<void> => {
    const now = living?.() ?? new Set<string>();
    const text = [...now].sort().join(' ');
    if (isAgreeing || text === lived) return;
    isAgreeing = true;
    try {
      logChanges(log, await recordAgreement(base, now));
      lived = text;
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'what nodes agree on could not be stored; trying again');
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
      help: 'Writes of transitions that failed and were made again',
      labels: {},
      value: failures,
    },
  ];
}
