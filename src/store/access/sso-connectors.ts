/** Domains of e-mail addresses that accounts claim, and whether they have proved them. */
import { column, columns, insertion, type RowOf } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

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
  ofAccount: store.prepare<[account: number], ConnectorRow>(
    'SELECT * FROM sso_connectors WHERE account = ? ORDER BY seq',
  ),
  byId: store.prepare<[id: Uint8Array], ConnectorRow>('SELECT * FROM sso_connectors WHERE id = ?'),
  insert: store.prepare<SqlValue[]>(insertion('sso_connectors', CONNECTOR)),
  update: store.prepare<[enabled: number, status: string, modifiedAt: number, seq: number]>(
    'UPDATE sso_connectors SET enabled = ?, status = ?, modified_at = ? WHERE seq = ?',
  ),
  remove: store.prepare<[seq: number]>('DELETE FROM sso_connectors WHERE seq = ?'),
}));

/** The oldest first. */
export function connectorsOfAccount(store: Store, account: number): ConnectorRow[] {
  return statements(store).ofAccount.all(account);
}

export function findConnector(store: Store, id: Uint8Array): ConnectorRow | undefined {
  return statements(store).byId.get(id);
}

export function insertConnector(store: Store, row: NewConnectorRow): void {
  statements(store).insert.run(...CONNECTOR.values(row));
}

export function updateConnector(store: Store, { seq, enabled, status, modified_at }: ConnectorRow): void {
  statements(store).update.run(enabled, status, modified_at, seq);
}

export function removeConnector(store: Store, seq: number): void {
  statements(store).remove.run(seq);
}
