/** Challenges that need not be stored: they say themselves until when they hold, and a keyed hash says that they are ours. */
import { timingSafeEqual } from 'node:crypto';
import { concatBytes } from '../base/bytes.js';
import { hashSecret } from '../control/access/keys.js';
import type { ContextBase } from '../control/kernel/context.js';

const TIME_OCTETS = 6;
const HEAD_OCTETS = TIME_OCTETS + 16;

/** `purpose`: what it is for, and for whom. */
export function makeTicket({ store, clock, random }: ContextBase, purpose: string, lifeMs: number): Uint8Array {
  const time = Buffer.alloc(TIME_OCTETS);
  time.writeUIntBE(clock.nowMs() + lifeMs, 0, TIME_OCTETS);
  const head = concatBytes(time, random.bytes(HEAD_OCTETS - TIME_OCTETS));
  return concatBytes(head, sealOf(store, purpose, head));
}

/** When it ends, in microseconds; undefined for one that is over, of somebody else, or for something else. */
export function readTicket(
  { store, clock }: ContextBase,
  purpose: string,
  lifeMs: number,
  ticket: Uint8Array,
): number | undefined {
  const head = ticket.subarray(0, HEAD_OCTETS);
  const seal = sealOf(store, purpose, head);
  const own = ticket.subarray(HEAD_OCTETS);
  if (own.length !== seal.length || !timingSafeEqual(own, seal)) return undefined;
  const endMs = Buffer.from(head).readUIntBE(0, TIME_OCTETS);
  const leftMs = endMs - clock.nowMs();
  return leftMs > 0 && leftMs <= lifeMs ? endMs * 1000 : undefined;
}

function sealOf(store: ContextBase['store'], purpose: string, head: Uint8Array): Uint8Array {
  return hashSecret(store, `ticket ${purpose} ${Buffer.from(head).toString('hex')}`);
}
