/**
 * One child process of the supervisor. It is started, watched, restarted with back-off when it crashes, replaced without
 * a gap, and drained.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { type Clock, steadyMs } from '../../base/clock.js';
import { AwaitedError, UserError } from '../../base/errors.js';
import { withLimit } from '../../base/lifecycle.js';
import type { Logger } from '../../base/log.js';
import { type Notice, type Order, type Reports, type Role, type StartOrder, sendOrder } from '../process/ipc.js';
import { DRAIN_LIMIT_MS, KILL_GRACE_MS } from '../process/limits.js';
import type { Reload } from '../process/reload.js';
import { Spare, type SpareKind } from './spare.js';
import { type Watch, watchProcess } from './watch.js';

const FIRST_DELAY_MS = 100;
/** Where no start succeeds. */
const LONGEST_DELAY_MS = 30_000;
/** Where starts succeed, and somebody may know how to end the process: it is away for a second at most. */
const LONGEST_DELAY_OF_READY_MS = 1000;
/** The shortest time before the next start while the operator has to mend something, in milliseconds. */
const AWAITED_DELAY_MS = 2_000;
/** Crashes in a row after which the next start is made at once: DNS is away for as short a time as can be. */
const PROMPT_STARTS = 10;
/** A child that has run this long has recovered: its next crash counts as the first. */
const RECOVERED_MS = 60_000;

export interface ChildOptions<Name extends Role> {
  readonly role: Name;
  /** What it is called in messages; default: by its role. */
  readonly name?: string;
  /** Descriptors that it inherits, from 4 on. */
  readonly inherits?: readonly number[];
  /** The program's entry, a JavaScript file. */
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly start: StartOrder;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called when the child is ready, for the first time or again. */
  readonly onReady: (report: Reports[Name]) => void;
  /** Called when the child ended by itself; it will be restarted. */
  readonly onLost: () => void;
  readonly onNotice: (notice: Notice) => void;
  /** A spare process takes its place after a crash. */
  readonly spare?: SpareKind | undefined;
}

/** Milliseconds before the next start after `crashes` consecutive crashes, the last one of a process that was ready or not. */
export function restartDelayMs(crashes: number, wasReady: boolean): number {
  if (crashes <= PROMPT_STARTS) return 0;
  const longestMs = wasReady ? LONGEST_DELAY_OF_READY_MS : LONGEST_DELAY_MS;
  return Math.min(longestMs, FIRST_DELAY_MS * 2 ** Math.min(crashes - PROMPT_STARTS - 1, 20));
}

interface FirstStart {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class SupervisedChild<Name extends Role> {
  private child: ChildProcess | undefined;
  /** The process that is starting to replace `child`, and its start order. */
  private successor: { readonly child: ChildProcess; readonly start: StartOrder } | undefined;
  /** Processes that were replaced and are finishing. */
  private readonly retired = new Set<Promise<unknown>>();
  private startOrder: StartOrder;
  private wanted = false;
  private draining = false;
  private crashes = 0;
  private isReady = false;
  private reloaded: Reload | undefined;
  private startedMs = 0;
  private firstStart: FirstStart | undefined;
  private started: Promise<void> = Promise.resolve();
  private cancelRestart: (() => void) | undefined;
  private watch: Watch | undefined;
  private readonly spare: Spare | undefined;
  private readonly name: string;

  constructor(private readonly options: ChildOptions<Name>) {
    this.name = options.name ?? `${options.role} process`;
    this.startOrder = options.start;
    const { spare: kind, clock } = options;
    if (kind === undefined) return;
    const order = (child: ChildProcess): void =>
      this.order(child, { ...this.startOrder, isRestart: true, ...(kind === 'standby' && { standby: true }) });
    this.spare = new Spare({ kind, clock, fork: (option) => this.fork([option]), order });
  }

  /** Lets the process load its code in advance; it does nothing else before {@link start}. */
  preload(): void {
    this.child ??= this.fork();
  }

  /**
   * Starts the child; resolves when it is ready. Rejects with a {@link UserError} if it cannot start. Later crashes lead to
   * restarts instead, and so does a master key that does not open the secrets, because the other processes can do without it.
   */
  start(takeOver = false): Promise<void> {
    this.started = new Promise((resolve, reject) => {
      this.firstStart = { resolve, reject };
      this.wanted = true;
      this.launch(takeOver);
    });
    return this.started;
  }

  /**
   * Starts a process with this order beside the running one, which is asked to finish when the new one is ready, and
   * stays if the new one cannot start. Without a running process, the next start uses the order.
   */
  replace(start: StartOrder): void {
    this.successor?.child.kill('SIGKILL');
    this.successor = undefined;
    if (this.draining || !this.wanted) return;
    if (!this.child || this.firstStart) {
      this.startOrder = start;
      return;
    }
    // It was started with the former order.
    if (this.options.spare === 'standby') this.spare?.end();
    const child = this.fork();
    this.successor = { child, start };
    this.order(child, { ...start, takeOver: true });
  }

  /** Resolves when the first start has ended, well or not. */
  whenStarted(): Promise<void> {
    return this.started.catch(() => {});
  }

  /** `onSent` is called when the child's channel has taken it, or there is none. */
  send(order: Order, onSent: () => void = () => {}): void {
    if (this.child) sendOrder(this.child, order, onSent);
    else onSent();
  }

  /** Asks the child to finish, waits up to `limitMs`, then kills it. True when it ended by itself with exit code 0. */
  async drain(limitMs: number): Promise<boolean> {
    this.draining = true;
    this.watch?.end();
    this.cancelRestart?.();
    this.spare?.end();
    const { child } = this;
    this.successor?.child.kill('SIGKILL');
    await Promise.all(this.retired);
    if (!child) return true;
    return this.finish(child, limitMs);
  }

  /** Asks a process to finish and waits; true when it ended by itself with exit code 0. */
  private async finish(child: ChildProcess, limitMs: number): Promise<boolean> {
    const ended = new Promise<boolean>((resolve) => child.once('exit', (code) => resolve(code === 0)));
    sendOrder(child, { kind: 'drain' });
    const clean = await withLimit(this.options.clock, limitMs, ended);
    if (clean !== undefined) return clean;
    this.options.log.warn(`the ${this.name} did not finish within ${limitMs} ms and is killed`);
    child.kill('SIGKILL');
    await ended;
    return false;
  }

  /** Changes settings of the running process, and of those started after it. */
  reload(reload: Reload): void {
    this.reloaded = reload;
    this.send({ kind: 'reload', ...reload });
    this.spare?.send({ kind: 'reload', ...reload });
  }

  kill(): void {
    this.draining = true;
    this.spare?.end();
    this.child?.kill('SIGKILL');
    this.successor?.child.kill('SIGKILL');
  }

  private launch(takeOver = false): void {
    this.startedMs = steadyMs(this.options.clock);
    this.isReady = false;
    // A spare process has its order.
    const spare = this.child ? undefined : this.spare?.take();
    this.child ??= spare ?? this.fork();
    if (!spare) this.order(this.child, { ...this.startOrder, takeOver, isRestart: !this.firstStart });
  }

  private order(child: ChildProcess, start: StartOrder): void {
    sendOrder(child, { kind: 'start', ...start, settings: { ...start.settings, ...this.reloaded } });
  }

  private fork(options: readonly string[] = []): ChildProcess {
    const { role, program, environment, inherits = [] } = this.options;
    const child = fork(program, ['serve', '--role', role, '--supervised'], {
      execArgv: [...process.execArgv, ...options],
      env: environment,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc', ...inherits],
      serialization: 'advanced',
    });
    let refusal: UserError | undefined;
    child.on('message', (message) => {
      const notice = message as Notice;
      if (notice.kind === 'refused') refusal = refusalOf(notice);
      else if (notice.kind === 'ready') this.onReady(child, notice.report as Reports[Name]);
      else if (notice.kind === 'alive') this.onAlive(child);
      else if (child === this.child) this.options.onNotice(notice);
    });
    child.once('error', (error) => this.onEnd(child, `cannot be started: ${error.message}`, undefined));
    child.once('exit', (code, signal) => {
      this.onEnd(child, signal ? `was ended by ${signal}` : `ended with exit code ${code}`, refusal);
    });
    return child;
  }

  private onReady(child: ChildProcess, report: Reports[Name]): void {
    if (child === this.successor?.child) this.succeed();
    if (child !== this.child) return;
    this.isReady = true;
    this.options.onReady(report);
    this.firstStart?.resolve();
    this.firstStart = undefined;
    this.watchOver(child);
    if (!this.draining) this.spare?.makeSoon();
  }

  private onAlive(child: ChildProcess): void {
    if (child === this.child) this.watch?.heard();
  }

  /** Kills the child when it is stuck; what follows is that of every crash. */
  private watchOver(child: ChildProcess): void {
    const { clock, log, role } = this.options;
    this.watch?.end();
    if (this.draining || child.pid === undefined) return;
    this.watch = watchProcess({
      ...{ role, pid: child.pid, clock },
      onStuck: (why) => {
        log.error({ role }, `the ${this.name} ${why} and is killed`);
        child.kill('SIGKILL');
      },
    });
  }

  /** The successor takes the place of the running process, which finishes. */
  private succeed(): void {
    const former = this.child;
    if (!this.successor) return;
    this.child = this.successor.child;
    this.startOrder = this.successor.start;
    this.successor = undefined;
    this.startedMs = steadyMs(this.options.clock);
    if (!former) return;
    const gone: Promise<unknown> = this.finish(former, DRAIN_LIMIT_MS + KILL_GRACE_MS);
    this.retired.add(gone);
    void gone.then(() => this.retired.delete(gone));
  }

  private onEnd(child: ChildProcess, how: string, refusal: UserError | undefined): void {
    if (this.spare?.noteEnd(child)) return;
    if (child === this.successor?.child) {
      this.successor = undefined;
      const reason = refusal ? `could not start: ${refusal.message}` : how;
      this.options.log.error(`the new ${this.name} ${reason}; the running one stays`);
    }
    if (child !== this.child) return;
    this.child = undefined;
    this.watch?.end();
    if (this.draining || !this.wanted) return;
    const { clock, role, log, onLost } = this.options;
    if (this.firstStart && !(refusal instanceof AwaitedError)) {
      this.firstStart.reject(refusal ?? new UserError(`the ${this.name} ${how} before it was ready`));
      this.firstStart = undefined;
      this.wanted = false;
      return;
    }
    this.crashes = steadyMs(clock) - this.startedMs > RECOVERED_MS ? 1 : this.crashes + 1;
    // To restore the master key, or to free space, takes a while.
    const leastMs = refusal instanceof AwaitedError ? AWAITED_DELAY_MS : 0;
    const delayMs = Math.max(restartDelayMs(this.crashes, this.isReady), leastMs);
    const reason = refusal ? `could not start: ${refusal.message}` : how;
    log.error(
      { role, crashes: this.crashes, delayMs, ...(refusal?.remedy !== undefined && { remedy: refusal.remedy }) },
      `the ${this.name} ${reason}; starting it again in ${delayMs} ms`,
    );
    onLost();
    if (this.successor) {
      this.succeed();
      return;
    }
    this.cancelRestart = clock.after(delayMs, () => this.launch());
  }
}

function refusalOf({ message, remedy, exitCode, isAwaited }: Extract<Notice, { kind: 'refused' }>): UserError {
  return isAwaited ? new AwaitedError(message, remedy, exitCode) : new UserError(message, remedy, exitCode);
}
