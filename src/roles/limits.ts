/** Times the processes of one `serve` agree on. */

/** Milliseconds a process has to finish what it is doing once told to stop. */
export const DRAIN_LIMIT_MS = 10_000;
/** Milliseconds more before it is killed. */
export const KILL_GRACE_MS = 2_000;
/** Milliseconds between two reports of the DNS process. */
export const STATUS_PERIOD_MS = 1000;
/** Milliseconds without such a report after which the DNS process counts as stuck. */
export const STATUS_LOST_MS = 30_000;
