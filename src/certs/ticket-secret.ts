/**
 * The secret from which edges derive the keys of TLS session tickets (RFC 5077 §4): one for all edges, on all nodes, so that a
 * session that one of them began is resumed by any other. It is replaced twice a day.
 */
import type { Random } from '../base/random.js';
import type { JobKind } from '../jobs/kind.js';
import { findTicketSecret, replaceTicketSecret } from '../store/edge/ticket-secrets.js';
import { TICKET_SECRETS } from '../store/sealed-columns.js';
import type { Vault } from '../vault/vault.js';

export const TICKET_SECRET_JOB = 'ticket_secret';
const PERIOD_MS = 12 * 3_600_000;
const OCTETS = 32;

export function ticketSecretJob(vault: Vault, random: Random): JobKind {
  return {
    async handler({ store, clock, requireLease }) {
      const nowMs = clock.nowMs();
      const plain = random.bytes(OCTETS);
      const dueMs = await store.write(() => {
        requireLease();
        const last = findTicketSecret(store);
        // A clock that was set back makes none last longer.
        if (last && nowMs >= last.made_at && nowMs < last.made_at + PERIOD_MS) return last.made_at + PERIOD_MS;
        const number = (last?.number ?? 0) + 1;
        replaceTicketSecret(store, { number, secret: vault.seal(TICKET_SECRETS, number, plain), made_at: nowMs });
        return nowMs + PERIOD_MS;
      });
      plain.fill(0);
      return { againAtMs: dueMs };
    },
  };
}
