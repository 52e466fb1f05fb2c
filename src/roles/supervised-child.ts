/** One child process of the supervisor: started, watched, started again with back-off when it crashes, drained. */
import { type ChildProcess, fork } from 'node:child_process';
import type { Clock } from '../base/clock.js';
import { UserError } from '../base/errors.js';
import { withLimit } from '../base/lifecycle.js';
import type { Logger } from '../base/log.js';
import { type Notice, type Order, type Reports, type Role, type StartOrder, sendOrder } from './ipc.js';

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 30_000;
/** A child that has run this long has recovered: the next crash begins with the first delay again. */
const RECOVERED_MS = 60_000;

export interface ChildOptions<Name extends Role> {
  readonly role: Name;
  /** The program's entry, a JavaScript file. */
  readonly program: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly start: StartOrder;
  readonly clock: Clock;
  readonly log: Logger;
  /** Ready, for the first time or again. */
  readonly onReady: (report: Reports[Name]) => void;
  /** Gone, by itself; it will be started again. */
  readonly onLost: () => void;
  readonly onNotice: (notice: Notice) => void;
}

/** Milliseconds before the next start after `crashes` crashes in a row. */
export function restartDelayMs(crashes: number): number {
  return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(crashes - 1, 20));
}

interface FirstStart {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export class SupervisedChild<Name extends Role> {
  private child: ChildProcess | undefined;
  private wanted = false;
  private draining = false;
  private crashes = 0;
  private startedMs = 0;
  private firstStart: FirstStart | undefined;
  private cancelRestart: (() => void) | undefined;

  constructor(private readonly options: ChildOptions<Name>) {}

  /** Lets the process load its code while something else is under way; it does nothing before {@link start}. */
  prepare(): void {
    this.child ??= this.fork();
  }

  /**
   * Starts it; resolves when it is ready. Rejects with a {@link UserError} if it cannot start; later crashes lead to
   * new starts instead.
   */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.firstStart = { resolve, reject };
      this.wanted = true;
      this.launch();
    });
  }

  send(order: Order): void {
    if (this.child) sendOrder(this.child, order);
  }

  /** Asks it to finish, waits `limitMs` at most, then kills it. True when it ended by itself with exit code 0. */
  async drain(limitMs: number): Promise<boolean> {
    this.draining = true;
    this.cancelRestart?.();
    const { child } = this;
    if (!child) return true;
    const ended = new Promise<boolean>((resolve) => child.once('exit', (code) => resolve(code === 0)));
    sendOrder(child, { kind: 'drain' });
    const clean = await withLimit(this.options.clock, limitMs, ended);
    if (clean !== undefined) return clean;
    this.options.log.warn(`the ${this.options.role} process did not finish within ${limitMs} ms and is killed`);
    child.kill('SIGKILL');
    await ended;
    return false;
  }

  kill(): void {
    this.draining = true;
    this.child?.kill('SIGKILL');
  }

  private launch(): void {
    this.startedMs = this.options.clock.nowMs();
    this.child ??= this.fork();
    sendOrder(this.child, { kind: 'start', ...this.options.start });
  }

  private fork(): ChildProcess {
    const { role, program, environment } = this.options;
    const child = fork(program, ['serve', '--role', role, '--supervised'], {
      env: environment,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    let refusal: UserError | undefined;
    child.on('message', (message) => {
      const notice = message as Notice;
      if (notice.kind === 'refused') refusal = new UserError(notice.message, notice.remedy, notice.exitCode);
      else if (notice.kind === 'ready') this.onReady(notice.report as Reports[Name]);
      else this.options.onNotice(notice);
    });
    child.once('error', (error) => this.onEnd(`cannot be started: ${error.message}`, undefined));
    child.once('exit', (code, signal) => {
      this.onEnd(signal ? `was ended by ${signal}` : `ended with exit code ${code}`, refusal);
    });
    return child;
  }

  private onReady(report: Reports[Name]): void {
    this.options.onReady(report);
    this.firstStart?.resolve();
    this.firstStart = undefined;
  }

  private onEnd(how: string, refusal: UserError | undefined): void {
    if (!this.child) return;
    this.child = undefined;
    if (this.draining || !this.wanted) return;
    const { clock, role, log, onLost } = this.options;
    if (this.firstStart) {
      this.firstStart.reject(refusal ?? new UserError(`the ${role} process ${how} before it was ready`));
      this.firstStart = undefined;
      this.wanted = false;
      return;
    }
    this.crashes = clock.nowMs() - this.startedMs > RECOVERED_MS ? 1 : this.crashes + 1;
    const delayMs = restartDelayMs(this.crashes);
    const reason = refusal ? `could not start: ${refusal.message}` : how;
    log.error(
      { role, crashes: this.crashes, delayMs },
      `the ${role} process ${reason}; starting it again in ${delayMs} ms`,
    );
    onLost();
    this.cancelRestart = clock.after(delayMs, () => this.launch());
  }
}
