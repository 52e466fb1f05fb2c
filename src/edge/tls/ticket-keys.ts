/**
 * Keys of session tickets (RFC 5077 §4). They are derived from a secret that is replaced regularly. Each certificate has its own, so no
 * ticket outlives its certificate or works for another host.
 */
import { createHmac } from 'node:crypto';
import type { Clock } from '../../base/clock.js';
import type { Random } from '../../base/random.js';

const PERIOD_MS = 12 * 3_600_000;

export interface TicketKeys {
  /** Increases with every new secret. */
  generation(): number;
  /** 48 octets, as Node requires. */
  keyFor(fingerprint: string): Buffer;
  rotate(): void;
  close(): void;
}

export function createTicketKeys(clock: Clock, random: Random): TicketKeys {
  let secret = random.bytes(32);
  let generation = 0;
  const rotate = (): void => {
    secret = random.bytes(32);
    generation += 1;
  };
  const cancel = clock.every(PERIOD_MS, rotate);
  return {
    generation: () => generation,
    keyFor: (fingerprint) => createHmac('sha384', secret).update(fingerprint).digest(),
    rotate,
    close: cancel,
  };
}
