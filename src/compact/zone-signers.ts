/**
 * The keys with which a DNS process signs what zones with compact denial need. They are opened with a key of the vault that is
 * only for them, and stay in memory.
 */

import type { Engine } from '../answer/state.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import { toFqdn } from '../dns/name.js';
import { openKey, type SigningKey } from '../dnssec/signing-key.js';
import type { ImageReader } from '../image/reader.js';
import { findZoneAbove } from '../serving/look-up.js';
import { isAnswered } from '../serving/zone-state.js';
import { keysOfZone } from '../store/dnssec/keys.js';
import { findDnssecZone } from '../store/dnssec/zones.js';
import type { Store } from '../store/driver.js';
import { ONLINE_KEYS } from '../store/sealed-columns.js';
import type { ZoneRow } from '../store/zones/zones.js';
import type { Vault } from '../vault/vault.js';

export interface ZoneSignersOptions {
  readonly store: Store;
  readonly vault: Vault;
  readonly log: Logger;
}

/** A zone whose keys are in memory. */
interface ZoneSigner {
  /** The image and the apex node with which they were read: every change of the zone replaces the node. */
  readonly generation: number;
  readonly apexNode: number;
  readonly keys: readonly SigningKey[];
}

/** Zones whose keys stay in memory. Opening a key takes half a millisecond. */
const MOST_ZONES = 2000;

/** Returns what opens the keys of the zone of a search; undefined while they cannot be opened. */
export function createZoneSigners(
  options: ZoneSignersOptions,
): (state: Engine, image: ImageReader) => readonly SigningKey[] | undefined {
  const { log } = options;
  const known = new Map<string, ZoneSigner>();
  let complained: string | undefined;
  return (state, { generation }) => {
    const apex = apexOfSearch(state);
    const { apexNode } = state.search;
    const zone = toFqdn(apex);
    const found = known.get(zone);
    if (found?.generation === generation && found.apexNode === apexNode) return found.keys;
    known.delete(zone);
    try {
      const keys = openKeys(options, apex, found?.keys ?? []);
      known.set(zone, { generation, apexNode, keys });
      if (known.size > MOST_ZONES) known.delete(known.keys().next().value!);
      complained = undefined;
      return keys;
    } catch (error) {
      const reason = messageOf(error);
      // Queries come fast, and the reason stays the same.
      if (reason !== complained) log.warn({ zone, reason }, 'the keys of a zone with compact denial cannot be opened');
      complained = reason;
      return undefined;
    }
  };
}

/** The apex of the zone in which a search has ended. */
export function apexOfSearch({ search }: Engine): Uint8Array {
  const start = search.labelAt[search.labels - search.apexLabels]!;
  return search.name.slice(start, search.nameLength);
}

/** Returns what says to which account a zone belongs; 0 for a zone that is not stored any more. */
export function createZoneAccounts(store: Store): (apex: Uint8Array) => number {
  const known = new Map<string, number>();
  return (apex) => {
    const zone = toFqdn(apex);
    const found = known.get(zone);
    if (found !== undefined) return found;
    const account = findServedZone(store, apex)?.account ?? 0;
    known.set(zone, account);
    if (known.size > MOST_ZONES) known.delete(known.keys().next().value!);
    return account;
  };
}

function findServedZone(store: Store, apex: Uint8Array): ZoneRow | undefined {
  return findZoneAbove(store, apex, isAnswered);
}

/** Throws a VaultError or a SigningKeyError, or an Error when the zone is not signed in this way any more. */
function openKeys(
  { store, vault }: ZoneSignersOptions,
  apex: Uint8Array,
  opened: readonly SigningKey[],
): readonly SigningKey[] {
  const zone = findServedZone(store, apex);
  const row = zone && findDnssecZone(store, zone.seq);
  const rows =
    row?.denial === 'compact' ? keysOfZone(store, row.zone).filter(({ signs, online }) => signs === 1 && online) : [];
  if (rows.length === 0) throw new Error('the zone has no such keys');
  return rows.map(
    ({ id, public: dnskey, online }) =>
      opened.find((key) => Buffer.compare(key.dnskey, dnskey) === 0) ??
      openKey(dnskey, vault.open(ONLINE_KEYS, id, online!)),
  );
}
