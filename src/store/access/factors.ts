/** Second factors of users: one-time passwords, passkeys, recovery codes. */
import {
  allRows,
  changes,
  changesAny,
  column,
  columns,
  inserts,
  oneRow,
  type RowOf,
  runs,
  theValue,
} from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface TotpRow {
  readonly user: number;
  /** Sealed. */
  readonly secret: Uint8Array;
  /** 0: no code has been seen yet. */
  readonly confirmed: number;
  readonly created_at: number;
}

const PASSKEY = columns({
  id: column<Uint8Array>(),
  user: column<number>(),
  /** COSE. */
  public_key: column<Uint8Array>(),
  sign_count: column<number>(),
  name: column<string>(),
  /** JSON list. */
  transports: column<string>(),
  created_at: column<number>(),
  last_used_at: column<number | null>(),
});

export interface PasskeyRow extends RowOf<typeof PASSKEY> {
  readonly seq: number;
}

const statements = perStore((store) => ({
  putTotp: store.prepare<[user: number, secret: Uint8Array, confirmed: number, createdAt: number]>(
    'INSERT OR REPLACE INTO one_time_passwords (user, secret, confirmed, created_at) VALUES (?, ?, ?, ?)',
  ),
  usePasskey: store.prepare<[count: number, at: number, seq: number]>(
    'UPDATE passkeys SET sign_count = ?, last_used_at = ? WHERE seq = ?',
  ),
  renamePasskey: store.prepare<[name: string, seq: number]>('UPDATE passkeys SET name = ? WHERE seq = ?'),
  any: store.prepareTuples<[user: number, user: number], [number]>(
    `SELECT EXISTS (SELECT 1 FROM one_time_passwords WHERE user = ? AND confirmed = 1)
       OR EXISTS (SELECT 1 FROM passkeys WHERE user = ?)`,
  ),
}));

export const findTotp = oneRow<[user: number], TotpRow>('SELECT * FROM one_time_passwords WHERE user = ?');

/** Replaces one that was there. */
export function putTotp(store: Store, { user, secret, confirmed, created_at }: TotpRow): void {
  statements(store).putTotp.run(user, secret, confirmed, created_at);
}

export const confirmTotp = runs<[user: number]>('UPDATE one_time_passwords SET confirmed = 1 WHERE user = ?');

export const removeTotp = changesAny<[user: number]>('DELETE FROM one_time_passwords WHERE user = ?');

export const findPasskey = oneRow<[id: Uint8Array], PasskeyRow>('SELECT * FROM passkeys WHERE id = ?');

/** The oldest first. */
export const passkeysOfUser = allRows<[user: number], PasskeyRow>('SELECT * FROM passkeys WHERE user = ? ORDER BY seq');

export const insertPasskey = inserts('passkeys', PASSKEY);

export function setPasskeyUsed(store: Store, seq: number, signCount: number, at: number): void {
  statements(store).usePasskey.run(signCount, at, seq);
}

export function renamePasskey(store: Store, seq: number, name: string): void {
  statements(store).renamePasskey.run(name, seq);
}

export const removePasskey = runs<[seq: number]>('DELETE FROM passkeys WHERE seq = ?');

/** Returns how many there were. */
export const removePasskeysOfUser = changes<[user: number]>('DELETE FROM passkeys WHERE user = ?');

/** How many are left. */
export const countRecoveryCodes = theValue<[user: number], number>(
  'SELECT count(*) FROM recovery_codes WHERE user = ?',
);

export const insertRecoveryCode = runs<[user: number, hash: Uint8Array]>(
  'INSERT INTO recovery_codes (user, hash) VALUES (?, ?)',
);

/** Returns false when the user has no such code, or no longer. */
export const removeRecoveryCode = changesAny<[user: number, hash: Uint8Array]>(
  'DELETE FROM recovery_codes WHERE user = ? AND hash = ?',
);

/** Returns how many there were. */
export const removeRecoveryCodes = changes<[user: number]>('DELETE FROM recovery_codes WHERE user = ?');

/** Whether the user has a second factor that counts. */
export function hasSecondFactor(store: Store, user: number): boolean {
  return statements(store).any.get(user, user)![0] === 1;
}
