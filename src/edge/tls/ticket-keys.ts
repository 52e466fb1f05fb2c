/**
 * Keys of session tickets (RFC 5077 §4). They are derived from a secret in the database, which all edges of all nodes share and
 * which is replaced regularly (certs/ticket-secret.ts). Each certificate has its own, so no ticket outlives its certificate or
 * works for another host.
 */
import { createHmac } from 'node:crypto';
import { type Clock, steadyMs } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Logger } from '../../base/log.js';
import type { Random } from '../../base/random.js';
import type { Store } from '../../store/driver.js';
import { findTicketSecret } from '../../store/edge/ticket-secrets.js';
import { TICKET_SECRETS } from '../../store/sealed-columns.js';
import { VaultError } from '../../vault/errors.js';
import type { Vault } from '../../vault/vault.js';

export interface TicketKeys {
  /** Another one with every new secret. */
  generation(): string;
  /** Of cookies of sessions: the newest first, and the one before, which has signed some that are still used. */
  sessionKeys(): readonly Buffer[];
  /** 48 octets, as Node requires. */
  keyFor(fingerprint: string): Buffer;
}

export interface TicketSource {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The secret is looked for again after that time. */
const LOOK_MS = 1000;

/** Until there is a secret that this process can open, tickets are good for this process alone. */
export function createTicketKeys({ store, vault, clock, random, log }: TicketSource): TicketKeys {
  let secret: Uint8Array = random.bytes(32);
  let former: Uint8Array | undefined;
  let number = 0;
  let lookedMs = Number.NEGATIVE_INFINITY;
  let unusable: number | undefined;

  function look(): void {
    const nowMs = steadyMs(clock);
    if (nowMs - lookedMs < LOOK_MS) return;
    lookedMs = nowMs;
    const found = findTicketSecret(store);
    if (!found || found.number === number || found.number === unusable) return;
    try {
      const opened = vault.open(TICKET_SECRETS, found.number, found.secret);
      former = secret;
      secret = opened;
      number = found.number;
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      unusable = found.number;
      log.warn({ reason: messageOf(error) }, 'TLS sessions are resumed by this process only');
    }
  }

  return {
    generation() {
      look();
      return String(number);
    },
    sessionKeys() {
      look();
      const secrets = former ? [secret, former] : [secret];
      return secrets.map((one) => createHmac('sha256', one).update('session cookies').digest());
    },
    keyFor: (fingerprint) => createHmac('sha384', secret).update(fingerprint).digest(),
  };
}
