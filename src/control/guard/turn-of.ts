/** Whose turn a request takes where accounts take turns. */
import { toHex } from '../../base/bytes.js';
import { findAccount } from '../../store/access/accounts.js';
import { findZoneById } from '../../store/zones/zones.js';
import { type Asked, parseId } from './access.js';
import { ownTurn } from './actor.js';

/** What a request is about: identifiers as the client wrote them, of what there may not be. */
export interface Place {
  readonly zoneId?: string | undefined;
  readonly accountId?: string | undefined;
}

/**
 * The account of the place, so that a member of several accounts neither uses up the turns of one with what it does in another, nor
 * waits behind itself. Another place than in an account of the actor is none: nobody takes the turns of strangers.
 */
export function turnOf({ actor, store }: Asked, { zoneId, accountId }: Place): string {
  const { accountIds } = actor;
  const own = ownTurn(actor);
  if (accountIds.length < 2) return own;
  const id = zoneId === undefined ? undefined : parseId(zoneId);
  const zone = id && findZoneById(store, id);
  const named = zone ? toHex(findAccount(store, zone.account)!.id) : accountId?.toLowerCase();
  return named !== undefined && accountIds.includes(named) ? named : own;
}
