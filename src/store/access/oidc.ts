/** Identity providers, and the users that their people are. */
import { column, columns, insertion, type RowOf } from '../columns.js';
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

export type NewProviderRow = RowOf<typeof PROVIDER>;

const CHANGED = PROVIDER.without('id', 'created_at');

const statements = perStore((store) => ({
  all: store.prepare<[], ProviderRow>('SELECT * FROM oidc_providers ORDER BY seq'),
  byId: store.prepare<[id: Uint8Array], ProviderRow>('SELECT * FROM oidc_providers WHERE id = ?'),
  insert: store.prepare<SqlValue[]>(insertion('oidc_providers', PROVIDER)),
  update: store.prepare<SqlValue[]>(`UPDATE oidc_providers SET ${CHANGED.assignments} WHERE seq = ?`),
  remove: store.prepare<[seq: number]>('DELETE FROM oidc_providers WHERE seq = ?'),
  identity: store.prepareTuples<[issuer: string, subject: string], [user: number]>(
    'SELECT user FROM oidc_identities WHERE issuer = ? AND subject = ?',
  ),
  identityOf: store.prepareTuples<[user: number], [one: number]>(
    'SELECT 1 FROM oidc_identities WHERE user = ? LIMIT 1',
  ),
  link: store.prepare<[issuer: string, subject: string, user: number, at: number]>(
    'INSERT INTO oidc_identities (issuer, subject, user, created_at) VALUES (?, ?, ?, ?)',
  ),
  endSession: store.prepare<[provider: Uint8Array, session: string]>(
    'DELETE FROM sessions WHERE provider = ? AND provider_session = ?',
  ),
  endSubject: store.prepare<[provider: Uint8Array, subject: string]>(
    'DELETE FROM sessions WHERE provider = ? AND provider_subject = ?',
  ),
  endAll: store.prepare<[provider: Uint8Array]>('DELETE FROM sessions WHERE provider = ?'),
}));

/** The oldest first. */
export function allProviders(store: Store): ProviderRow[] {
  return statements(store).all.all();
}

export function findProvider(store: Store, id: Uint8Array): ProviderRow | undefined {
  return statements(store).byId.get(id);
}

export function insertProvider(store: Store, row: NewProviderRow): void {
  statements(store).insert.run(...PROVIDER.values(row));
}

export function updateProvider(store: Store, row: ProviderRow): void {
  statements(store).update.run(...CHANGED.values(row), row.seq);
}

/** Sessions that began with it end. Who its people are is remembered: the same issuer may be added again. */
export function removeProvider(store: Store, { seq, id }: ProviderRow): void {
  statements(store).endAll.run(id);
  statements(store).remove.run(seq);
}

/** The user (store number) that somebody at an issuer is. */
export function findIdentity(store: Store, issuer: string, subject: string): number | undefined {
  return statements(store).identity.get(issuer, subject)?.[0];
}

/** Whether the user is linked to an identity at a provider. */
export function hasIdentity(store: Store, user: number): boolean {
  return statements(store).identityOf.get(user) !== undefined;
}

export function linkIdentity(store: Store, issuer: string, subject: string, user: number, at: number): void {
  statements(store).link.run(issuer, subject, user, at);
}

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
