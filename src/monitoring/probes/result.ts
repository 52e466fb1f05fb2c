/** What a probe has found, and what it needs. */

import type { FailureReason } from '../../balancing/health/failure-reason.js';
import type { Monitor } from '../../balancing/monitor.js';
import type { Clock } from '../../base/clock.js';

export interface ProbeResult {
  readonly pass: boolean;
  readonly reason: FailureReason;
  /** Status of HTTP or of SMTP, if there was one. */
  readonly responseCode: number | undefined;
  /** From the first packet to the result; milliseconds. */
  readonly rttMs: number;
  /** Nothing came in time, so it is worth trying again at once. */
  readonly timedOut: boolean;
}

/** How a monitor probes. */
export type ProbeSettings = Omit<Monitor, 'description' | 'interval' | 'port' | 'consecutiveUp' | 'consecutiveDown'>;

/** Where a connection goes, and the host that it names. */
export interface Place {
  readonly address: string;
  readonly port: number;
  /** For the header `Host` and for TLS; undefined: the address itself. */
  readonly host: string | undefined;
}

/** One attempt: when it ends, and who hears of it. */
export interface Attempt {
  readonly clock: Clock;
  readonly startedMs: number;
  /** Aborted when its time is over. */
  readonly late: AbortSignal;
}

export const PASSED: FailureReason = 'No failures';
