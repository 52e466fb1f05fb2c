/** Dynamic updates that were applied, so that a message that comes again is not applied again. */
import { perStore, type Store } from '../driver.js';

const statements = perStore((store) => ({
  find: store.prepareTuples<[tsig: number, mac: Uint8Array], [number]>(
    'SELECT 1 FROM applied_updates WHERE tsig = ? AND mac = ?',
  ),
  note: store.prepare<[tsig: number, mac: Uint8Array, expiresAt: number]>(
    'INSERT INTO applied_updates (tsig, mac, expires_at) VALUES (?, ?, ?)',
  ),
  forget: store.prepare<[before: number]>('DELETE FROM applied_updates WHERE expires_at < ?'),
}));

/** A signed message: the store number of its key, its MAC, and when its signature expires, in seconds since 1970. */
export interface SignedUpdate {
  readonly key: number;
  readonly mac: Uint8Array;
  readonly expiresAt: number;
}

export function wasApplied(store: Store, { key, mac }: SignedUpdate): boolean {
  return statements(store).find.get(key, mac) !== undefined;
}

/** Remembers a message, and forgets those whose signatures have expired. `now`: seconds since 1970. */
export function noteApplied(store: Store, { key, mac, expiresAt }: SignedUpdate, now: number): void {
  const { note, forget } = statements(store);
  forget.run(now);
  note.run(key, mac, expiresAt);
}
