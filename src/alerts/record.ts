/** Stores deliveries, and switches off destinations that failed for too long. */
import { makeId } from '../base/random.js';
import { OPERATOR } from '../control/guard/actor.js';
import type { ContextBase } from '../control/kernel/context.js';
import { logEvents } from '../control/kernel/outbox.js';
import { insertDelivery, pruneDeliveries } from '../store/alerts/deliveries.js';
import { type DestinationRow, editDestination, findDestination } from '../store/alerts/destinations.js';

/** One attempt to deliver one event. */
export interface Delivered {
  /** Identifier of the policy; null: a test. */
  readonly policy: string | null;
  readonly alertType: string;
  readonly event: number | null;
  readonly message: string;
  readonly atUs: number;
  readonly attempt: number;
  readonly delivered: boolean;
  readonly status: number | null;
  readonly reason: string | null;
  readonly answer: string | null;
  readonly durationMs: number;
  readonly body: string;
}

/** The state of a destination, and its deliveries since the last report. */
export interface Report {
  /** Store number of the destination. */
  readonly destination: number;
  readonly edition: number;
  readonly position: number;
  readonly failures: number;
  readonly failingSince: number | null;
  readonly retryAt: number | null;
  readonly lastSuccess: number | null;
  readonly lastFailure: number | null;
  /** Why it was switched off; undefined: it was not. */
  readonly off: string | undefined;
  readonly delivered: readonly Delivered[];
}

const LONGEST_BODY = 4_000;
const LONGEST_ANSWER = 1_000;

/** The part of a message that is kept, copied, because a part of a text keeps all of it in memory. */
export function beginningOf(message: string): string {
  return message.length <= LONGEST_BODY ? message : Buffer.from(message.slice(0, LONGEST_BODY)).toString();
}

export async function recordReports(base: ContextBase, reports: readonly Report[]): Promise<void> {
  const { store, clock, random } = base;
  await store.write(() => {
    const now = clock.nowUs();
    for (const report of reports) {
      const row = findDestination(store, report.destination);
      if (!row) continue;
      // The owner may have changed it meanwhile: that takes precedence, but the position still advances.
      const isCurrent = row.edition === report.edition;
      editDestination(store, row.seq, {
        position: Math.max(row.position, report.position),
        ...{ last_success: report.lastSuccess, last_failure: report.lastFailure },
        ...(isCurrent && {
          ...{ failures: report.failures, failing_since: report.failingSince, retry_at: report.retryAt },
          ...(report.off !== undefined && { disabled_at: now, disabled_why: report.off }),
        }),
      });
      for (const one of report.delivered) insertOne(base, row, one);
      if (report.delivered.length > 0) pruneDeliveries(store, row.seq, now);
      if (isCurrent && report.off !== undefined) {
        const by = { store, actor: OPERATOR, requestId: random.uuid(), source: 'service' } as const;
        const text = `${row.name} gets no more alerts: ${report.off}`;
        const { id, account, name } = row;
        const after = { enabled: false, text };
        logEvents(by, now, [{ kind: 'webhook.disable', account, id, name, before: { enabled: true }, after }]);
      }
    }
  });
}

function insertOne({ store, random }: ContextBase, row: DestinationRow, one: Delivered): void {
  insertDelivery(store, {
    ...{ id: makeId(one.atUs, random), account: row.account, destination: row.seq },
    ...{ policy: one.policy === null ? null : Buffer.from(one.policy, 'hex'), alert_type: one.alertType },
    ...{ event: one.event, message: one.message, at_us: one.atUs, attempt: one.attempt },
    ...{ delivered: one.delivered ? 1 : 0, status: one.status, reason: one.reason },
    ...{ answer: one.answer?.slice(0, LONGEST_ANSWER) ?? null, duration_ms: one.durationMs },
    body: beginningOf(one.body),
  });
}

/** Stores the outcome of a test, which counts neither as a success nor as a failure. */
export async function recordTest(base: ContextBase, destination: number, one: Delivered): Promise<void> {
  await base.store.write(() => {
    const row = findDestination(base.store, destination);
    if (!row) return;
    insertOne(base, row, one);
    pruneDeliveries(base.store, row.seq, base.clock.nowUs());
  });
}
