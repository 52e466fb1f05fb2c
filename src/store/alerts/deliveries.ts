/** Attempts to deliver alerts. For each destination, the newest are kept, for a month. */
import { column, columns, inserts, type RowOf } from '../columns.js';
import { perStore, type Store } from '../driver.js';

const DELIVERY = columns({
  id: column<Uint8Array>(),
  /** Store numbers. */
  account: column<number>(),
  destination: column<number>(),
  policy: column<Uint8Array | null>(),
  alert_type: column<string>(),
  /** Number of the event; null: a test. */
  event: column<number | null>(),
  /** Identifier by which the receiver recognises a repetition. */
  message: column<string>(),
  /** Microseconds since 1970. */
  at_us: column<number>(),
  attempt: column<number>(),
  delivered: column<number>(),
  status: column<number | null>(),
  /** Why it failed. */
  reason: column<string | null>(),
  /** The beginning of the answer. */
  answer: column<string | null>(),
  duration_ms: column<number>(),
  /** The beginning of the message. */
  body: column<string>(),
});

export interface DeliveryRow extends RowOf<typeof DELIVERY> {
  readonly seq: number;
}

/** Attempts that are kept for each destination. */
export const DELIVERIES_KEPT = 200;
const KEPT_US = 30 * 86_400_000_000;

/** Only administrators see all deliveries; others see tests, and those of the account's own events while the log keeps these. */
const IS_SHOWN = `(? = 1 OR event IS NULL
  OR EXISTS (SELECT 1 FROM events e WHERE e.seq = alert_deliveries.event AND e.account = alert_deliveries.account))`;

const statements = perStore((store) => ({
  surplus: store.prepareTuples<[destination: number, kept: number], [seq: number]>(
    'SELECT seq FROM alert_deliveries WHERE destination = ? ORDER BY seq DESC LIMIT 1 OFFSET ?',
  ),
  prune: store.prepare<[destination: number, upTo: number, before: number]>(
    'DELETE FROM alert_deliveries WHERE destination = ? AND (seq <= ? OR at_us < ?)',
  ),
  ofDestination: store.prepare<[destination: number, all: number, limit: number], DeliveryRow>(
    `SELECT * FROM alert_deliveries WHERE destination = ? AND ${IS_SHOWN} ORDER BY seq DESC LIMIT ?`,
  ),
  delivered: store.prepare<
    [account: number, since: number, before: number, all: number, limit: number, offset: number],
    DeliveryRow
  >(
    `SELECT * FROM alert_deliveries WHERE account = ? AND at_us >= ? AND at_us < ? AND delivered = 1 AND event IS NOT NULL
     AND ${IS_SHOWN} ORDER BY at_us DESC, seq DESC LIMIT ? OFFSET ?`,
  ),
  count: store.prepareTuples<[account: number, since: number, before: number, all: number], [number]>(
    `SELECT count(*) FROM alert_deliveries
     WHERE account = ? AND at_us >= ? AND at_us < ? AND delivered = 1 AND event IS NOT NULL
     AND ${IS_SHOWN}`,
  ),
}));

export const insertDelivery = inserts('alert_deliveries', DELIVERY);

/** Removes surplus and old deliveries of a destination. `now`: microseconds since 1970. */
export function pruneDeliveries(store: Store, destination: number, now: number): void {
  const { surplus, prune } = statements(store);
  prune.run(destination, surplus.get(destination, DELIVERIES_KEPT)?.[0] ?? 0, now - KEPT_US);
}

/** The newest first. */
export function deliveriesOf(store: Store, destination: number, seesInstallation: boolean): DeliveryRow[] {
  return statements(store).ofDestination.all(destination, seesInstallation ? 1 : 0, DELIVERIES_KEPT);
}

export interface DeliveredPage {
  /** Microseconds since 1970: at or after `since`, and before `before`. */
  readonly since: number;
  readonly before: number;
  readonly seesInstallation: boolean;
  readonly limit: number;
  readonly offset: number;
}

/** Successful deliveries of an account, the newest first. */
export function deliveredOfAccount(store: Store, account: number, page: DeliveredPage): DeliveryRow[] {
  const { since, before, seesInstallation, limit, offset } = page;
  return statements(store).delivered.all(account, since, before, seesInstallation ? 1 : 0, limit, offset);
}

export function countDelivered(store: Store, account: number, page: DeliveredPage): number {
  const { since, before, seesInstallation } = page;
  return statements(store).count.get(account, since, before, seesInstallation ? 1 : 0)![0];
}
