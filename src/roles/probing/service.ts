/**
 * Probing as the admin process sees it: a process of its own that probes while anything is to be probed, what it tells is stored,
 * and it is asked for the API. When it ends, it is started again; what is stored stays true meanwhile.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { type Clock, steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { MetricSample } from '../../base/metrics.js';
import type { Settings } from '../../config/schema.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { ProbingNode } from '../../monitoring/plan.js';
import type { PoolProbing } from '../../monitoring/pool-probing.js';
import { createPreviews, type Previews } from '../../monitoring/previews.js';
import type { LastResult, Transition } from '../../monitoring/prober.js';
import type { Target } from '../../monitoring/probes/probe.js';
import type { ProbeResult } from '../../monitoring/probes/result.js';
import { type RecordedChange, recordAgreement, recordTransitions } from '../../monitoring/record.js';
import { isProbingNeeded } from '../../store/balancing/probed.js';
import { withoutSecretSettings, withoutSecrets, withoutStorageKeys } from '../process/secrets.js';
import type { ProbingNotice, ProbingOrder } from './messages.js';

export interface Probing extends PoolProbing {
  /** Something was committed. */
  look(): void;
  /** Whether it runs as it should: it is not needed, or it has started. */
  isWell(): boolean;
  samples(): readonly MetricSample[];
  close(): void;
}

export interface ProbingOptions {
  readonly base: ContextBase;
  readonly settings: Settings;
  readonly node: ProbingNode;
  /** The names of the nodes that live; undefined where there is only this one. */
  readonly living?: (() => ReadonlySet<string>) | undefined;
}

/** Milliseconds between two starts of a process that ends: at first, and at most. It has recovered after the latter. */
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 30_000;
const LAST_WAIT_MS = 1000;
/** What results are shown under where a node has neither name nor region. */
const ONLY_NODE = 'local';
/** After a write that failed. */
const RETRY_MS = 1000;
/** Between two looks whether other nodes live. */
const AGREE_MS = 2500;
/** It is told of commits no more often. */
const TELL_MS = 20;

export function startProbing(options: ProbingOptions): Probing {
  return new ProbingService(options);
}

class ProbingService implements Probing {
  private child: ChildProcess | undefined;
  private isReady = false;
  private startedMs = 0;
  private crashes = 0;
  private restarts = 0;
  private samplesOfChild: readonly MetricSample[] = [];
  readonly node: string;
  readonly previews: Previews;
  private readonly recorder: Recorder;
  private readonly waiting = new Map<number, (notice: ProbingNotice | undefined) => void>();
  private asked = 0;
  private isTelling = false;
  private cancelStart: (() => void) | undefined;
  private isClosed = false;

  constructor(private readonly options: ProbingOptions) {
    const { base, node } = options;
    this.node = node.node || node.region || ONLY_NODE;
    const once = (targets: readonly Target[], waitMs: number) => this.once(targets, waitMs);
    this.previews = createPreviews({ clock: base.clock, node: this.node, once });
    this.recorder = createRecorder(options);
    this.look();
  }

  look(): void {
    const { base } = this.options;
    if (this.isClosed) return;
    if (this.child) {
      if (this.isTelling) return;
      this.isTelling = true;
      base.clock.after(TELL_MS, () => {
        this.isTelling = false;
        this.send({ kind: 'look' });
      });
    } else if (!this.cancelStart && isProbingNeeded(base.store)) this.start();
  }

  private start(): void {
    const { settings, node, base } = this.options;
    const { clock, log } = base;
    this.cancelStart = undefined;
    if (this.isClosed) return;
    const env = withoutStorageKeys(withoutSecrets(process.env));
    const child = fork(new URL('./process.js', import.meta.url), { env, execArgv: [], serialization: 'advanced' });
    this.child = child;
    this.startedMs = steadyMs(clock);
    child.on('message', (message) => this.hear(message as ProbingNotice));
    child.on('error', (error) => log.error({ reason: messageOf(error) }, 'the probing process cannot be started'));
    child.once('close', (code, signal) => this.onEnd(child, code, signal));
    this.send({ kind: 'start', settings: withoutSecretSettings(settings), node });
  }

  private onEnd(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    if (this.child !== child) return;
    const { clock, log } = this.options.base;
    this.child = undefined;
    this.isReady = false;
    this.samplesOfChild = [];
    for (const done of this.waiting.values()) done(undefined);
    if (this.isClosed) return;
    if (steadyMs(clock) - this.startedMs > LONGEST_DELAY_MS) this.crashes = 0;
    const delayMs =
      this.crashes === 0 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(this.crashes, 20));
    this.crashes++;
    this.restarts++;
    log.error({ code, signal, delayMs }, 'the probing process has ended; it is started again');
    this.cancelStart = clock.after(delayMs, () => this.start());
  }

  private hear(notice: ProbingNotice): void {
    if (notice.kind === 'ready') this.isReady = true;
    else if (notice.kind === 'samples') this.samplesOfChild = notice.samples;
    else if (notice.kind === 'found') this.recorder.take(notice.transitions);
    else this.waiting.get(notice.id)?.(notice);
  }

  private send(order: ProbingOrder): void {
    if (this.child?.connected) this.child.send(order, () => {});
  }

  private ask(order: (id: number) => ProbingOrder, waitMs: number): Promise<ProbingNotice | undefined> {
    if (!this.child) return Promise.resolve(undefined);
    const id = ++this.asked;
    return new Promise((resolve) => {
      const done = (notice: ProbingNotice | undefined): void => {
        cancel();
        this.waiting.delete(id);
        resolve(notice);
      };
      const cancel = this.options.base.clock.after(waitMs, () => done(undefined));
      this.waiting.set(id, done);
      this.send(order(id));
    });
  }

  async lastOf(pool: number): Promise<readonly LastResult[]> {
    const answer = await this.ask((id) => ({ kind: 'last', id, pool }), LAST_WAIT_MS);
    return answer?.kind === 'last' ? answer.results : [];
  }

  private async once(targets: readonly Target[], waitMs: number): Promise<readonly ProbeResult[] | undefined> {
    if (!this.child) this.start();
    const answer = await this.ask((id) => ({ kind: 'once', id, targets }), waitMs);
    return answer?.kind === 'once' ? answer.results : undefined;
  }

  isWell(): boolean {
    return this.isReady || !isProbingNeeded(this.options.base.store);
  }

  samples(): readonly MetricSample[] {
    const value = this.restarts;
    const help = 'How often the probing process ended by itself';
    return [
      { name: 'probing_restarts_total', type: 'counter', help, labels: {}, value },
      ...this.recorder.samples(),
      ...this.samplesOfChild,
    ];
  }

  close(): void {
    this.isClosed = true;
    this.cancelStart?.();
    this.recorder.close();
    this.child?.kill('SIGKILL');
  }
}

interface Recorder {
  take(transitions: readonly Transition[]): void;
  samples(): readonly MetricSample[];
  close(): void;
}

/** Writes what was told, one write at a time; what comes meanwhile shares the next one, and only the last of each origin counts. */
function createRecorder({ base, node, living }: ProbingOptions): Recorder {
  const { clock, log } = base;
  let pending = new Map<string, Transition>();
  let isWriting = false;
  let isClosed = false;
  let failures = 0;
  const keyOf = ({ pool, origin, monitor }: Transition): string => `${pool} ${monitor} ${origin}`;
  const write = async (): Promise<void> => {
    const taken = pending;
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
    take(transitions) {
      for (const transition of transitions) pending.set(keyOf(transition), transition);
      void run();
    },
    samples: () => [
      {
        name: 'probing_unstored_transitions',
        type: 'gauge',
        help: 'Transitions of origins that are not stored yet',
        labels: {},
        value: pending.size,
      },
      {
        name: 'probing_store_failures_total',
        type: 'counter',
        help: 'Writes of transitions that failed and were made again',
        labels: {},
        value: failures,
      },
    ],
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
