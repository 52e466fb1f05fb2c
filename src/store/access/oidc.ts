/** Identity providers, and the users that their people are. */
import { allRows, column, columns, inserts, oneRow, type RowOf, runs, valueIfAny } from '../columns.js';
import { perStore, type SqlValue, type Store } from '../driver.js';

const PROVIDER = columns({
  id: column<Uint8Array>(),
  name: column<string>(),
  issuer: column<string>(),
  client_id: column<string>(),
  /** Sealed; null: a public client. */
  client_secret: column<Uint8Array | null>(),
  scopes: column<string>(),
  groups_claim: column<string>(),
  /** JSON list of `{group, account, role}`. */
  group_map: column<string>(),
  /** JSON list. */
  domains: column<string>(),
  creates: column<'never' | 'mapped' | 'always'>(),
  updates_roles: column<number>(),
  trusts_email: column<number>(),
  trusts_factors: column<number>(),
  created_at: column<number>(),
  modified_at: column<number>(),
});

export interface ProviderRow extends RowOf<typeof PROVIDER> {
  readonly seq: number;
}

const CHANGED = PROVIDER.without('id', 'created_at');

const statements = perStore((store) => ({
  update: store.prepare<SqlValue[]>(`UPDATE oidc_providers SET ${CHANGED.assignments} WHERE seq = ?`),
  remove: store.prepare<[seq: number]>('DELETE FROM oidc_providers WHERE seq = ?'),
  endSession: store.prepare<[provider: Uint8Array, session: string]>(
    'DELETE FROM sessions WHERE provider = ? AND provider_session = ?',
  ),
  endSubject: store.prepare<[provider: Uint8Array, subject: string]>(
    'DELETE FROM sessions WHERE provider = ? AND provider_subject = ?',
  ),
  endAll: store.prepare<[provider: Uint8Array]>('DELETE FROM sessions WHERE provider = ?'),
}));

/** The oldest first. */
export const allProviders = allRows<[], ProviderRow>('SELECT * FROM oidc_providers ORDER BY seq');

export const findProvider = oneRow<[id: Uint8Array], ProviderRow>('SELECT * FROM oidc_providers WHERE id = ?');

export const insertProvider = inserts('oidc_providers', PROVIDER);

export function updateProvider(store: Store, row: ProviderRow): void {
  statements(store).update.run(...CHANGED.values(row), row.seq);
}

/** Sessions that began with it end. Who its people are is remembered: the same issuer may be added again. */
export function removeProvider(store: Store, { seq, id }: ProviderRow): void {
  statements(store).endAll.run(id);
  statements(store).remove.run(seq);
}

/** The user (store number) that somebody at an issuer is. */
export const findIdentity = valueIfAny<[issuer: string, subject: string], number>(
  'SELECT user FROM oidc_identities WHERE issuer = ? AND subject = ?',
);

export const linkIdentity = runs<[issuer: string, subject: string, user: number, at: number]>(
  'INSERT INTO oidc_identities (issuer, subject, user, created_at) VALUES (?, ?, ?, ?)',
);

/** Ends the sessions of a session or of a person of a provider. Returns how many there were. */
export function endProviderSessions(
  store: Store,
  provider: Uint8Array,
  { session, subject }: { readonly session?: string | undefined; readonly subject?: string | undefined },
): number {
  const { endSession, endSubject } = statements(store);
  if (session !== undefined) return endSession.run(provider, session).changes;
  return subject === undefined ? 0 : endSubject.run(provider, subject).changes;
}
