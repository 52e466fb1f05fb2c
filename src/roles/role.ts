/** What a process role is started with, and what it is once it runs. */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { LoadedSettings } from '../config/load.js';
import type { Settings } from '../config/schema.js';

export interface RoleContext {
  readonly settings: Settings;
  /** Where each setting came from. */
  readonly origins: LoadedSettings['origins'];
  readonly version: string;
  /** A generated key may be shown on the terminal. */
  readonly terminal: boolean;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A role that is up. */
export interface RunningRole<Report> {
  readonly report: Report;
  /** Stops taking work, finishes what has begun, frees everything. True when that went well and in time. */
  drain(limitMs: number): Promise<boolean>;
}
