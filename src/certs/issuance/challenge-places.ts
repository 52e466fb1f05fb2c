/** The TXT records of challenges in our own zones: where they belong, and how they are added and removed. */

import { OPERATOR } from '../../control/guard/actor.js';
import { commit, type Draft } from '../../control/kernel/commit.js';
import type { Context } from '../../control/kernel/context.js';
import { Type } from '../../dns/codes.js';
import { lowerName, NameError, ownerKeyOf, parentName, parseName } from '../../dns/name.js';
import { locate } from '../../serving/look-up.js';
import { findZoneFor } from '../../serving/name-owner.js';
import { servingZone } from '../../serving/zone.js';
import {
  type ChallengePlace,
  challengePlaces,
  findOrderUnderWay,
  insertChallengeRecord,
  insertChallengeRow,
  type NewChallengeRow,
  type OrderUnderWay,
  removeOrderUnderWay,
} from '../../store/certs/orders.js';
import type { RequestRow } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { findZone } from '../../store/zones/zones.js';
import { dcvTarget } from '../dcv-delegation.js';
import type { CertificateContext } from './context.js';

/** Writes without an actor are made by the service itself. */
export function serviceContext(ctx: CertificateContext): Context {
  return { ...ctx, actor: OPERATOR, requestId: ctx.random.uuid(), source: 'service' };
}

/**
 * Stores the challenges of an order and publishes those for DNS in our zones: at the name itself, if its zone belongs
 * to the same account, and at the name to which `_acme-challenge` may be delegated. `row`: the request.
 */
export async function placeChallenges(
  ctx: CertificateContext,
  row: Pick<RequestRow, 'seq' | 'zone'>,
  challenges: readonly NewChallengeRow[],
): Promise<void> {
  const { store } = ctx;
  await commit(serviceContext(ctx), (draft) => {
    // The order may have been given up while the authority was contacted.
    if (!findOrderUnderWay(store, row.seq)) return;
    for (const challenge of challenges) {
      const places = challenge.type === 'dns-01' ? placesOf(ctx, row.zone, challenge.identifier) : [];
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

function placesOf(ctx: CertificateContext, asking: number, identifier: string): ChallengePlace[] {
  const { store } = ctx;
  const zone = findZone(store, asking);
  if (!zone) return [];
  const places: ChallengePlace[] = [];
  const own = wireName(`_acme-challenge.${identifier}`);
  const ownPlace = own && placeAt(ctx, zone.account, own);
  if (ownPlace) places.push(ownPlace);
  const delegated = wireName(dcvTarget(zone, identifier));
  if (delegated) places.push({ zone: zone.seq, ownerKey: ownerKeyOf(delegated, zone.apex) });
  return places;
}

/** Who has a zone decides who gets certificates for its names: other accounts prove control as everybody does. */
function placeAt(
  { store, settings }: CertificateContext,
  account: number,
  name: Uint8Array,
): ChallengePlace | undefined {
  const holder = findZoneFor(store, name, account);
  if (holder?.account !== account) return undefined;
  const located = locate(store, servingZone(store, holder, settings), parentName(name), Type.txt);
  if (located.kind !== 'wildcard') return { zone: holder.seq, ownerKey: ownerKeyOf(name, holder.apex) };
  // A record below a name that only a wildcard answers would make the name exist, and the wildcard would answer no more for it
  // (RFC 4592 §2.2.2). The wildcard answers for the challenge, too: where it is an alias, the record belongs at its target.
  const alias = located.records.find(({ type, proxied }) => type === Type.cname && !proxied);
  const target = alias && lowerName(alias.rdata);
  const targetZone = target && findZoneFor(store, target, account);
  if (!target || targetZone?.account !== account) return undefined;
  return { zone: targetZone.seq, ownerKey: ownerKeyOf(target, targetZone.apex) };
}

/** Undefined for a text that is too long for a name. */
function wireName(text: string): Uint8Array | undefined {
  try {
    return parseName(`${text}.`);
  } catch (error) {
    if (error instanceof NameError) return undefined;
    throw error;
  }
}
