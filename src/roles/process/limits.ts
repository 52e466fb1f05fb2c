/** Time limits that the processes of one `serve` share. */

/** Milliseconds that a process has for finishing its work after a stop request. */
export const DRAIN_LIMIT_MS = 10_000;
/** Further milliseconds before it is killed. */
export const KILL_GRACE_MS = 2_000;
/** Milliseconds after which the DNS process reports what has changed. */
export const STATUS_PERIOD_MS = 1000;
/** Milliseconds after which it reports although nothing has changed. */
export const STATUS_HEARTBEAT_MS = 10_000;
/** A process says this often that it lives, milliseconds. */
export const LIFE_SIGN_MS = 2000;
/** Its supervisor checks this often whether it did, milliseconds. */
export const LIFE_LOOK_MS = 1000;
/** Milliseconds without a report after which the DNS process counts as not ready. */
export const STATUS_LOST_MS = 30_000;
/** The drain limit of children whose supervisor is gone: another may be waiting to take over. Milliseconds. */
export const ORPHAN_DRAIN_LIMIT_MS = 2_000;
/** How long a start waits for the children that a killed supervisor left behind, milliseconds. */
export const PREDECESSOR_LIMIT_MS = 10_000;
