/**
 * Probing as the admin process sees it: a process of its own that probes while anything is to be probed, what it tells is stored,
 * and it is asked for the API. When it ends, it is started again; what is stored stays true meanwhile.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { MetricSample } from '../../base/metrics.js';
import { NO_TURNS, turnSamples } from '../../base/turns.js';
import type { ReplicaStatus } from '../../cluster/replica.js';
import type { Settings } from '../../config/schema.js';
import { refreshTransferViews } from '../../control/balancing/transfer-views.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { keepOwnHealth, type OwnHealthKeeper } from '../../monitoring/own-health.js';
import type { ProbingNode } from '../../monitoring/plan.js';
import type { PoolProbing } from '../../monitoring/pool-probing.js';
import { createPreviews, type Previews } from '../../monitoring/previews.js';
import type { LastResult } from '../../monitoring/prober.js';
import type { Target } from '../../monitoring/probes/probe.js';
import type { ProbeResult } from '../../monitoring/probes/result.js';
import { lastHealthEvent } from '../../store/balancing/health-events.js';
import { isProbingNeeded } from '../../store/balancing/probed.js';
import { withoutSecretSettings, withoutSecrets, withoutStorageKeys } from '../process/secrets.js';
import type { ProbingNotice, ProbingOrder } from './messages.js';
import { createRecorder, type Recorder } from './recorder.js';

export interface Probing extends PoolProbing {
  /** Something was committed. */
  look(): void;
  /** Whether it runs as it should: it is not needed, or it has started. */
  isWell(): boolean;
  /** Whether this node uses only its own probes. */
  readonly isAlone: () => boolean;
  samples(): readonly MetricSample[];
  close(): void;
}

export interface ProbingOptions {
  readonly base: ContextBase;
  readonly settings: Settings;
  readonly node: ProbingNode;
  /** The names of the nodes that live; undefined where there is only this one. */
  readonly living?: (() => ReadonlySet<string>) | undefined;
  /** In a cluster: whether transitions can be stored. */
  readonly copyStatus?: (() => Pick<ReplicaStatus, 'state'>) | undefined;
}

/** Milliseconds between two starts of a process that ends: at first, and at most. It has recovered after the latter. */
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 30_000;
const LAST_WAIT_MS = 1000;
/** What results are shown under where a node has neither name nor region. */
const ONLY_NODE = 'local';
/** Transfers follow health no more often than this. */
const TRANSFERS_MS = 30_000;
/** It is told of commits no more often. */
const TELL_MS = 20;

/** Of a process that has not reported yet, or is not needed. */
const SAMPLES_BEFORE = ['probes', 'previews'].flatMap((kind) => turnSamples(kind, NO_TURNS));

export function startProbing(options: ProbingOptions): Probing {
  return new ProbingService(options);
}

class ProbingService implements Probing {
  private child: ChildProcess | undefined;
  private isReady = false;
  private startedMs = 0;
  private crashes = 0;
  private restarts = 0;
  private samplesOfChild: readonly MetricSample[] = SAMPLES_BEFORE;
  readonly node: string;
  readonly previews: Previews;
  private readonly recorder: Recorder;
  private readonly ownHealth: OwnHealthKeeper | undefined;
  private readonly waiting = new Map<number, (notice: ProbingNotice | undefined) => void>();
  private asked = 0;
  private isTelling = false;
  private cancelStart: (() => void) | undefined;
  private isClosed = false;
  private readonly cancelTransfers: () => void;
  /** The last transition that transfers follow. */
  private transferred = -1;

  constructor(private readonly options: ProbingOptions) {
    const { base, node } = options;
    this.node = node.node || node.region || ONLY_NODE;
    const once = (targets: readonly Target[], waitMs: number) => this.once(targets, waitMs);
    this.previews = createPreviews({ clock: base.clock, node: this.node, once });
    this.recorder = createRecorder(options);
    const { copyStatus } = options;
    const { unwritten } = this.recorder;
    const isAway = (): boolean => copyStatus?.().state === 'away';
    this.ownHealth = copyStatus && keepOwnHealth({ ...base, node: node.node, isAway, unwritten });
    this.cancelTransfers = base.clock.every(TRANSFERS_MS, () => void this.followInTransfers());
    this.look();
  }

  private async followInTransfers(): Promise<void> {
    const { base } = this.options;
    try {
      const last = lastHealthEvent(base.store);
      if (last !== this.transferred) await refreshTransferViews(base);
      this.transferred = last;
    } catch (error) {
      base.log.warn({ reason: messageOf(error) }, 'transfers could not follow the health of origins; trying again');
    }
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
    this.samplesOfChild = SAMPLES_BEFORE;
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

  isAlone = (): boolean => this.ownHealth?.isUsed() ?? false;

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
    this.cancelTransfers();
    this.recorder.close();
    this.ownHealth?.close();
    this.child?.kill('SIGKILL');
  }
}
