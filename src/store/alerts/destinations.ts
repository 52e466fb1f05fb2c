/** Destinations of alerts: receivers of webhooks, and mail addresses. */
import { allRows, column, columns, inserts, oneRow, type RowOf, runs, setColumns } from '../columns.js';
import type { Store } from '../driver.js';

export type DestinationKind = 'webhook' | 'email';

const DESTINATION = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  kind: column<DestinationKind>(),
  name: column<string>(),
  /** A URL, or a mail address. */
  address: column<string>(),
  /** Sealed. */
  secret: column<Uint8Array | null>(),
  /** Number of the last event that was delivered, or that no policy selects. */
  position: column<number>(),
  /** Microseconds since 1970, like all times here. */
  last_success: column<number | null>(),
  last_failure: column<number | null>(),
  /** Number of failures since the last success. */
  failures: column<number>(),
  failing_since: column<number | null>(),
  retry_at: column<number | null>(),
  /** Not null: it is switched off. */
  disabled_at: column<number | null>(),
  disabled_why: column<string | null>(),
  /** Increases with each change by the owner. */
  edition: column<number>(),
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface DestinationRow extends RowOf<typeof DESTINATION> {
  readonly seq: number;
}

/** Columns that deliveries change. */
export type DestinationProgress = Partial<
  Pick<
    DestinationRow,
    | 'position'
    | 'last_success'
    | 'last_failure'
    | 'failures'
    | 'failing_since'
    | 'retry_at'
    | 'disabled_at'
    | 'disabled_why'
  >
>;

export const findDestination = oneRow<[seq: number], DestinationRow>('SELECT * FROM alert_destinations WHERE seq = ?');

export const findDestinationById = oneRow<[id: Uint8Array], DestinationRow>(
  'SELECT * FROM alert_destinations WHERE id = ?',
);

/** The oldest first. */
export const destinationsOfAccount = allRows<[account: number], DestinationRow>(
  'SELECT * FROM alert_destinations WHERE account = ? ORDER BY seq',
);

export const allDestinations = allRows<[], DestinationRow>('SELECT * FROM alert_destinations ORDER BY seq');

export const insertDestination = inserts('alert_destinations', DESTINATION);

export function editDestination(
  store: Store,
  seq: number,
  change: DestinationProgress &
    Partial<Pick<DestinationRow, 'name' | 'address' | 'secret' | 'edition' | 'modified_at'>>,
): void {
  setColumns(store, ['alert_destinations', 'seq'], seq, change);
}

export const removeDestination = runs<[seq: number]>('DELETE FROM alert_destinations WHERE seq = ?');
