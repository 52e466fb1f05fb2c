/** A destination at run time: its next events, and when they are sent. */
import { toHex } from '../base/bytes.js';
import type { Random } from '../base/random.js';
import type { DestinationRow } from '../store/alerts/destinations.js';
import type { AlertPolicyRow } from '../store/alerts/policies.js';
import type { NamedEventRow } from '../store/log/events-query.js';
import { formOf, type MessageForm, type WebhookSecret } from './message.js';
import type { AlertType, Filters } from './types.js';

/** A policy that names the destination. */
export interface ToldPolicy {
  readonly row: AlertPolicyRow;
  readonly type: AlertType;
  readonly filters: Filters;
  /** Identifiers of destinations. */
  readonly named: readonly string[];
}

/** An event to deliver, by its number. */
export interface Due {
  readonly seq: number;
  readonly policy: AlertPolicyRow;
}

export interface Told {
  readonly event: NamedEventRow;
  readonly policy: AlertPolicyRow;
}

export interface Target {
  row: DestinationRow;
  readonly id: string;
  readonly accountId: string;
  readonly form: MessageForm;
  /** Opened with the first message. */
  secret: WebhookSecret | undefined;
  policies: readonly ToldPolicy[];
  seesInstallation: boolean;
  /** Number of the last event that was delivered, or that no policy selects. */
  position: number;
  storedPosition: number;
  /** Number of the last event that was judged. The queue has the events after `position` that a policy selects. */
  judged: number;
  queue: Due[];
  isBusy: boolean;
  abort: AbortController | undefined;
  cancelWait: (() => void) | undefined;
  /** Mail: the time in which events are gathered is over. */
  isGathered: boolean;
  failures: number;
  /** Microseconds since 1970, like all times here. */
  failingSince: number | undefined;
  retryAt: number | undefined;
  lastSuccess: number | null;
  lastFailure: number | null;
  /** Why it was switched off. */
  off: string | undefined;
  /** It was replaced or removed. */
  isGone: boolean;
}

/** `before`: the present target of this destination; it is kept unless the owner has changed the destination. */
export function createTarget(
  row: DestinationRow,
  policies: readonly ToldPolicy[],
  accountId: string,
  before: Target | undefined,
): Target {
  const seesInstallation = policies.some((policy) => policy.row.sees_installation === 1);
  if (before && before.row.edition === row.edition && !before.isGone) {
    // Other policies may choose other events; the one that is being delivered stays the first.
    if (!before.isBusy) before.queue = [];
    else before.queue = before.queue.slice(0, 1);
    // The row is the same, except that its secret may be sealed with another key.
    return Object.assign(before, { row, policies, seesInstallation, judged: before.queue[0]?.seq ?? before.position });
  }
  const position = Math.max(row.position, before?.position ?? 0);
  return {
    ...{ row, id: toHex(row.id), accountId, policies, seesInstallation },
    form: row.kind === 'email' ? 'mail' : formOf(row.address),
    secret: undefined,
    ...{ position, storedPosition: row.position, judged: position },
    ...{ queue: [], isBusy: false, abort: undefined, cancelWait: undefined, isGathered: false },
    failures: row.failures,
    failingSince: row.failing_since ?? undefined,
    retryAt: row.retry_at ?? undefined,
    ...{ lastSuccess: row.last_success, lastFailure: row.last_failure, off: undefined, isGone: false },
  };
}

const FIRST_MS = 1_000;
/** The longest pause. */
export const LONGEST_MS = 3_600_000;

/** Milliseconds until the next attempt: tripled after each failure, at most an hour, with jitter so that retries spread. */
export function pauseMs(failures: number, random: Random): number {
  const full = Math.min(LONGEST_MS, FIRST_MS * 3 ** Math.min(Math.max(0, failures - 1), 20));
  return Math.round(full * (1 - random.bytes(1)[0]! / 2560));
}
