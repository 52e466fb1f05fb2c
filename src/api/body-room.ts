/** Memory for bodies that are read whole. They have it until their requests are answered: what waits for its turn holds them, too. */
import type { ServerResponse } from 'node:http';
import { createMemoryShares } from '../base/memory-shares.js';
import { ownTurn } from '../control/guard/actor.js';
import { failure } from './errors.js';
import type { Caller } from './request.js';

/** Octets of all bodies together, without small ones, of which each connection has one at a time. */
const MOST_OCTETS = 256 << 20;
const SMALL_OCTETS = 64 << 10;
const RETRY_SECONDS = 5;
/** Everybody without a credential has one share: a flooder has networks for nothing. */
const STRANGERS = 'strangers';

/**
 * Takes the room for a body of so many octets, until the response is over. Throws 429 when the account, which may have what all others
 * leave, has no room left.
 */
export type TakeRoom = (caller: Caller | null, octets: number, response: ServerResponse) => void;

export function createBodyRoom(): TakeRoom {
  const shares = createMemoryShares<string>(MOST_OCTETS);
  return (caller, octets, response) => {
    // A response that is over already would never give the room back.
    if (octets <= SMALL_OCTETS || response.closed) return;
    const name = caller ? ownTurn(caller.actor) : STRANGERS;
    if (!shares.take(name, octets)) throw failure('tooManyBodies', {}, { retryAfterSeconds: RETRY_SECONDS });
    response.once('close', () => shares.give(name, octets));
  };
}
