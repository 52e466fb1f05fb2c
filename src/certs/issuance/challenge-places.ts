/** The TXT records of challenges in our own zones: where they belong, and how they get there and go again. */

import { commit, type Draft } from '../../control/write/commit.js';
import { type Context, OPERATOR } from '../../control/write/context.js';
import { NameError, ownerKeyOf, parseName } from '../../dns/name.js';
import { findActiveZone } from '../../resolver/own-zones.js';
import {
  type ChallengePlace,
  challengePlaces,
  insertChallengeRecord,
  insertChallengeRow,
  type NewChallengeRow,
  type OrderUnderWay,
  removeOrderUnderWay,
} from '../../store/certs/orders.js';
import type { Store } from '../../store/driver.js';
import { findZone } from '../../store/zones/zones.js';
import { dcvTarget } from '../dcv-delegation.js';
import type { CertificateContext } from './context.js';

/** Whoever asks for nothing writes as the service itself. */
export function serviceContext(ctx: CertificateContext): Context {
  return { ...ctx, actor: OPERATOR, requestId: ctx.random.uuid(), source: 'service' };
}

/**
 * Keeps the challenges of an order, and has our zones answer those for DNS: at the name itself, where its zone is in the account
 * that asks, and at the name that `_acme-challenge` may be delegated to. `zone`: store number of the zone that asks.
 */
export async function placeChallenges(
  ctx: CertificateContext,
  zone: number,
  challenges: readonly NewChallengeRow[],
): Promise<void> {
  const { store } = ctx;
  await commit(serviceContext(ctx), (draft) => {
    for (const challenge of challenges) {
      const places = challenge.type === 'dns-01' ? placesOf(store, zone, challenge.identifier) : [];
      for (const { zone, ownerKey } of places) draft.noteTarget(zone, ownerKey);
      const number = insertChallengeRow(store, challenge);
      for (const place of places) insertChallengeRecord(store, place, number);
    }
  });
}

/** Inside a commit. */
export function removeOrder(store: Store, draft: Draft, { seq }: OrderUnderWay): void {
  for (const { zone, ownerKey } of challengePlaces(store, seq)) draft.noteTarget(zone, ownerKey);
  removeOrderUnderWay(store, seq);
}

function placesOf(store: Store, asking: number, identifier: string): ChallengePlace[] {
  const zone = findZone(store, asking);
  if (!zone) return [];
  const places: ChallengePlace[] = [];
  const own = wireName(`_acme-challenge.${identifier}`);
  const holder = own && findActiveZone(store, own);
  // Who has a zone decides who gets certificates for its names: other accounts prove control as everybody does.
  if (own && holder?.account === zone.account) {
    places.push({ zone: holder.seq, ownerKey: ownerKeyOf(own, holder.apex) });
  }
  const delegated = wireName(dcvTarget(zone, identifier));
  if (delegated) places.push({ zone: zone.seq, ownerKey: ownerKeyOf(delegated, zone.apex) });
  return places;
}

/** Undefined for what is too long to be a name. */
function wireName(text: string): Uint8Array | undefined {
  try {
    return parseName(`${text}.`);
  } catch (error) {
    if (error instanceof NameError) return undefined;
    throw error;
  }
}
