/** The secret of TLS session tickets: one row, with a number that grows with every new one. */

import { oneRow } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface TicketSecretRow {
  readonly number: number;
  /** Sealed. */
  readonly secret: Uint8Array;
  /** Milliseconds since 1970. */
  readonly made_at: number;
}

const statements = perStore((store) => ({
  insert: store.prepare<[number: number, secret: Uint8Array, madeAt: number]>(
    'INSERT INTO ticket_secrets (number, secret, made_at) VALUES (?, ?, ?)',
  ),
  removeOlder: store.prepare<[number: number]>('DELETE FROM ticket_secrets WHERE number < ?'),
}));

export const findTicketSecret = oneRow<[], TicketSecretRow>(
  'SELECT * FROM ticket_secrets ORDER BY number DESC LIMIT 1',
);

/** Takes the place of the one before. */
export function replaceTicketSecret(store: Store, { number, secret, made_at }: TicketSecretRow): void {
  const { insert, removeOlder } = statements(store);
  insert.run(number, secret, made_at);
  removeOlder.run(number);
}
