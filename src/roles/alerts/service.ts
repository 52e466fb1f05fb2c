/**
 * Alerts in the admin process. A thread delivers them while any policy is enabled; this process stores its reports and sends its mail.
 * In a cluster, the living node whose name sorts first delivers. When that node stops, the next one continues.
 */
import { Worker } from 'node:worker_threads';
import { recordReports } from '../../alerts/record.js';
import { createSender, type Sender } from '../../alerts/send.js';
import { equalBytes, toHex } from '../../base/bytes.js';
import { steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import { nameTurns } from '../../base/long-turns.js';
import type { MetricSample } from '../../base/metrics.js';
import { NO_TURNS, turnSamples } from '../../base/turns.js';
import type { LoadedSettings } from '../../config/load.js';
import type { Settings } from '../../config/schema.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { Mail } from '../../mail/mail.js';
import type { Resolver } from '../../resolver/resolve.js';
import { findAccount } from '../../store/access/accounts.js';
import { findMemberOf } from '../../store/access/members.js';
import { findUserByEmail } from '../../store/access/users.js';
import { hasAlertPolicies } from '../../store/alerts/policies.js';
import { findCheck } from '../../vault/check.js';
import { printKeys } from '../../vault/delegate.js';
import { masterKeysOf } from '../process/control-base.js';
import { withoutSecretSettings } from '../process/secrets.js';
import { readBundle } from '../services/certificates.js';
import type { FromThread, MailOrder, ThreadData, ToThread } from './messages.js';

export interface AlertDelivery {
  /** To be called after a commit. */
  look(): void;
  samples(): readonly MetricSample[];
}

export interface AlertDeliveryOptions {
  readonly base: ContextBase;
  readonly settings: Settings;
  readonly origins: LoadedSettings['origins'];
  /** Absent: no mail can be sent. */
  readonly sendMail?: Mail['send'] | undefined;
  /** Name of this node, and the names of all living nodes; undefined outside of clusters. */
  readonly node: string;
  readonly living?: (() => ReadonlySet<string>) | undefined;
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 30_000;
/** How often to check whether this node is the one that delivers. */
const AGREE_MS = 2_500;
/** A thread that needs more memory ends, but the process does not; MiB. */
const MOST_MEMORY_MB = 512;

/** Of a thread that has not reported yet, or is not needed. */
const SAMPLES_BEFORE = turnSamples('alerts', NO_TURNS);

export function startAlertDelivery(options: AlertDeliveryOptions, lifecycle: Lifecycle): AlertDelivery {
  const service = lifecycle.own('alerts', new AlertService(options), (part) => part.close());
  return { look: () => service.look(), samples: () => service.samples() };
}

class AlertService {
  private thread: Worker | undefined;
  private startedMs = 0;
  private crashes = 0;
  private isTelling = false;
  private isClosed = false;
  private cancelStart: (() => void) | undefined;
  private readonly cancelAgree: () => void;
  /** The check value of the vault for whose keys the thread has. */
  private check: Uint8Array | undefined;
  /** Messages that are on their way, by the number of their order. */
  private readonly mails = new Map<number, AbortController>();
  private samplesOfThread: readonly MetricSample[] = SAMPLES_BEFORE;

  constructor(private readonly options: AlertDeliveryOptions) {
    this.cancelAgree = options.living ? options.base.clock.every(AGREE_MS, () => this.look()) : () => {};
    this.look();
  }

  look(): void {
    const { base } = this.options;
    if (this.isClosed || this.isTelling) return;
    this.isTelling = true;
    // Commits of one turn of the event loop are reported together.
    setImmediate(() => {
      this.isTelling = false;
      if (this.isClosed) return;
      const isNeeded = this.isOurs() && hasAlertPolicies(base.store);
      if (this.thread && isNeeded) {
        this.sendNewKeys();
        this.send('look');
      } else if (this.thread) void this.end();
      else if (isNeeded && !this.cancelStart) this.start();
    });
  }

  private isOurs(): boolean {
    const { node, living } = this.options;
    const names = living?.();
    return names === undefined || [...names].sort()[0] === node;
  }

  private start(): void {
    const { settings, base } = this.options;
    this.cancelStart = undefined;
    if (this.isClosed) return;
    this.check = findCheck(base.store);
    const workerData: ThreadData = { settings: withoutSecretSettings(settings), keys: this.readKeys() };
    const limits = { maxOldGenerationSizeMb: MOST_MEMORY_MB };
    const thread = nameTurns(
      'alerts',
      () => new Worker(new URL('./thread.js', import.meta.url), { workerData, resourceLimits: limits }),
    );
    this.thread = thread;
    this.startedMs = steadyMs(base.clock);
    thread.on('message', (message: FromThread) => this.hear(message));
    thread.on('error', (err) => base.log.error({ err }, 'the thread that delivers alerts has failed'));
    thread.once('exit', () => this.onEnd(thread));
    thread.unref();
  }

  private readKeys(): string {
    return printKeys(masterKeysOf(this.options), ['alerts']);
  }

  /** After a replacement of the master key, the thread could open no secret of a webhook that is made or changed. */
  private sendNewKeys(): void {
    const { store, log } = this.options.base;
    const check = findCheck(store);
    if (check && this.check && equalBytes(check, this.check)) return;
    try {
      this.send({ keys: this.readKeys() });
      this.check = check;
    } catch (error) {
      log.warn({ reason: messageOf(error) }, 'the keys for secrets of webhooks cannot be read; trying again');
    }
  }

  private onEnd(thread: Worker): void {
    const { clock } = this.options.base;
    if (this.thread !== thread) return;
    this.thread = undefined;
    if (this.isClosed) return;
    if (steadyMs(clock) - this.startedMs > LONGEST_DELAY_MS) this.crashes = 0;
    const delayMs = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(this.crashes, 20));
    this.crashes++;
    this.cancelStart = clock.after(delayMs, () => {
      this.cancelStart = undefined;
      this.look();
    });
  }

  private async end(): Promise<void> {
    const { thread } = this;
    this.thread = undefined;
    this.samplesOfThread = SAMPLES_BEFORE;
    await thread?.terminate();
  }

  private hear(message: FromThread): void {
    const { base } = this.options;
    if ('samples' in message) {
      this.samplesOfThread = message.samples;
      return;
    }
    if ('giveUp' in message) {
      this.mails.get(message.giveUp)?.abort();
      return;
    }
    if ('fault' in message) {
      base.log.error({ fault: message.fault }, 'an alert could not be made; other destinations are not affected');
      return;
    }
    const { thread } = this;
    const answer = (ok: boolean): void => {
      if (this.thread === thread) {
        this.send('mail' in message ? { mailed: message.id, ok } : { stored: message.id, ok });
      }
    };
    const work = 'mail' in message ? this.mail(message.id, message.mail) : recordReports(base, message.reports);
    const text =
      'mail' in message ? 'an alert was not mailed' : 'deliveries of alerts could not be stored; trying again';
    work.then(
      () => answer(true),
      (error: unknown) => {
        base.log.warn({ reason: messageOf(error) }, text);
        answer(false);
      },
    );
  }

  /** Rejects when the recipient is no longer a member. */
  private async mail(id: number, { to, subject, text, account }: MailOrder): Promise<void> {
    const { base, sendMail } = this.options;
    const user = findUserByEmail(base.store, to);
    const member = user && findMemberOf(base.store, user.seq, account);
    if (!sendMail || member?.status !== 'accepted') throw new Error('no member has that address');
    const abort = new AbortController();
    this.mails.set(id, abort);
    const turn = [toHex(findAccount(base.store, account)!.id), to] as const;
    await sendMail({ to, subject, text, turn }, abort.signal).finally(() => {
      // A later thread counts from the beginning.
      if (this.mails.get(id) === abort) this.mails.delete(id);
    });
  }

  private send(message: ToThread): void {
    this.thread?.postMessage(message);
  }

  samples(): readonly MetricSample[] {
    return this.samplesOfThread;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.cancelAgree();
    this.cancelStart?.();
    await this.end();
  }
}

/** Makes the sender of tests to webhooks. */
export function startSender(
  { caBundle }: Settings,
  { clock, egress }: ContextBase,
  resolver: Resolver,
  lifecycle: Lifecycle,
): Sender {
  const sender = createSender({ clock, egress, resolver, trusted: readBundle(caBundle) });
  return lifecycle.own('sender of tests', sender, (part) => part.close());
}
