/** The start data of a process role, and its interface while it runs. */
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import type { LoadedSettings } from '../../config/load.js';
import type { Settings } from '../../config/schema.js';
import type { EdgeMember } from './ipc.js';

export interface RoleContext {
  readonly settings: Settings;
  /** The origin of each setting. */
  readonly origins: LoadedSettings['origins'];
  readonly version: string;
  /** Whether a generated key may be shown on the terminal. */
  readonly terminal: boolean;
  /** Start beside the process that serves now, which ends when this one is ready. */
  readonly takeOver?: boolean | undefined;
  /** Another process did this before, so what has gone meanwhile is waited for. */
  readonly isRestart?: boolean | undefined;
  /** Resolves when it is to listen. */
  readonly turn?: Promise<void> | undefined;
  /** Which of several edge processes it is. */
  readonly member?: EdgeMember | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Calls `act` whenever settings and certificates are to be read again. */
  readonly onReload: (act: () => void) => void;
}

/** A running role. */
export interface RunningRole<Report> {
  readonly report: Report;
  /** Resolves when it must be started anew. */
  readonly ended?: Promise<void>;
  /** Stops accepting work, finishes current work and frees everything. True when that succeeded in time. */
  drain(limitMs: number): Promise<boolean>;
}
