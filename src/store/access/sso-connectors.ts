/** Domains of e-mail addresses that accounts claim, and whether they have proved them. */
import { allRows, column, columns, inserts, oneRow, type RowOf, runs } from '../columns.js';
import { perStore, type Store } from '../driver.js';

const CONNECTOR = columns({
  id: column<Uint8Array>(),
  /** Store number. */
  account: column<number>(),
  /** Lower-case ASCII, without the final dot. */
  domain: column<string>(),
  /** Content of the TXT record that proves the domain. */
  code: column<string>(),
  enabled: column<number>(),
  status: column<'awaiting' | 'pending' | 'failed' | 'verified'>(),
  created_at: column<number>(),
  modified_at: column<number>(),
});

export type NewConnectorRow = RowOf<typeof CONNECTOR>;

export interface ConnectorRow extends NewConnectorRow {
  readonly seq: number;
}

const statements = perStore((store) => ({
  update: store.prepare<[enabled: number, status: string, modifiedAt: number, seq: number]>(
    'UPDATE sso_connectors SET enabled = ?, status = ?, modified_at = ? WHERE seq = ?',
  ),
}));

/** The oldest first. */
export const connectorsOfAccount = allRows<[account: number], ConnectorRow>(
  'SELECT * FROM sso_connectors WHERE account = ? ORDER BY seq',
);

export const findConnector = oneRow<[id: Uint8Array], ConnectorRow>('SELECT * FROM sso_connectors WHERE id = ?');

export const insertConnector = inserts('sso_connectors', CONNECTOR);

export function updateConnector(store: Store, { seq, enabled, status, modified_at }: ConnectorRow): void {
  statements(store).update.run(enabled, status, modified_at, seq);
}

export const removeConnector = runs<[seq: number]>('DELETE FROM sso_connectors WHERE seq = ?');
