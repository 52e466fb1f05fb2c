/** What is not an error but often not meant, for the messages at the start, of `doctor` and of imports. */

import { toHex } from '../../base/bytes.js';
import { isLoopback } from '../../base/ip.js';
import type { ServingSettings } from '../../serving/zone.js';
import { isAnswered } from '../../serving/zone-state.js';
import { allAccounts } from '../../store/access/accounts.js';
import type { Store } from '../../store/driver.js';
import {
  countZonesOfService,
  servedZoneNames,
  someProxiedZone,
  zonesWithoutNameServers,
} from '../../store/zones/unusual.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { ControlSettings } from '../kernel/context.js';
import { delegationHere } from './activation.js';
import { servedZoneAbove } from './write.js';

export interface Notice {
  readonly code:
    | 'test-name-servers'
    | 'loopback-edge'
    | 'no-name-servers'
    | 'shadows-parent'
    | 'several-accounts'
    | 'trusted-names';
  readonly text: string;
  readonly remedy: string;
  /** Identifier of the zone that it is about. */
  readonly zoneId?: string;
}

/** Zones that are named for one reason. */
const MOST_NAMED = 3;
const MOST_LOOKED_AT = 10_000;

/** Top-level domains in which no name exists for others (RFC 2606, RFC 6761). */
const RESERVED = /(?:^|\.)(?:test|example|invalid|localhost)$/;

/** All notices about the served zones; with `isShown`, only those about single zones (store numbers) that it lets through. */
export function noticesOfInstallation(
  store: Store,
  settings: ServingSettings,
  isShown?: (zone: number) => boolean,
): Notice[] {
  const about = [
    ...zonesWithoutNameServers(store, isShown ? MOST_LOOKED_AT : MOST_NAMED)
      .filter(([zone]) => isShown?.(zone) ?? true)
      .slice(0, MOST_NAMED)
      .map(([, name, id]) => withoutNameServers(name, id)),
    ...shadowingZones(store, isShown ?? (() => true)),
  ];
  if (isShown) return about;
  const zones = countZonesOfService(store);
  const proxied = someProxiedZone(store);
  return [
    ...(zones > 0 ? testNameServers(settings.nameServers, `the name servers of ${plural(zones)}`) : []),
    ...(proxied !== undefined ? loopbackEdge(settings, `the proxied names of ${proxied}`) : []),
    ...about,
  ];
}

/** For how long it is said that a second account has changed how zones become active, microseconds. */
const TOLD_US = 7 * 86_400_000_000;

/** What follows from several accounts for the names of zones (docs/tenants.md). `now`: microseconds since 1970. */
export function noticesOfAccounts(store: Store, activation: ControlSettings['activation'], now: number): Notice[] {
  const [, second] = allAccounts(store);
  if (!second) return [];
  if (activation === 'trust') {
    const text = 'several accounts share this server, and new zones are active at once, whoever makes them';
    return [
      {
        code: 'trusted-names',
        text,
        remedy: 'Set --zone-activation auto, so that the owner of a name must prove that it is theirs.',
      },
    ];
  }
  if (activation !== 'auto' || now - second.created_at > TOLD_US) return [];
  const text =
    'there is a second account: new zones are active when it is shown whose their names are; zones that were active stay, proven by your word';
  const remedy = '`zoneplane zone activate NAME --proven` gives your word for another zone.';
  return [{ code: 'several-accounts', text, remedy }];
}

/** `what` has the name servers of the service: a notice when these exist for nobody else. */
export function testNameServers(nameServers: readonly string[], what: string): Notice[] {
  const reserved = nameServers.filter((name) => RESERVED.test(name));
  if (reserved.length === 0) return [];
  const text = `${what} are ${reserved.join(' and ')}, which do not exist for anybody else`;
  return [{ code: 'test-name-servers', text, remedy: 'Set --nameservers to names that lead to this machine.' }];
}

/** `what` answers the edge addresses: a notice when only this machine reaches them. */
export function loopbackEdge({ edgeAddresses }: ServingSettings, what: string): Notice[] {
  if (!edgeAddresses.every(isLoopback)) return [];
  const text = `${what} answer loopback addresses, which only this machine reaches`;
  return [{ code: 'loopback-edge', text, remedy: 'Set --edge-addresses to the addresses of this machine.' }];
}

function withoutNameServers(name: string, id: Uint8Array): Notice {
  const text = `${name} has no NS records at its apex, and resolvers may refuse it`;
  const remedy = `Add them: zoneplane record add ${name} @ NS ns1.example.net.`;
  return { code: 'no-name-servers', text, remedy, zoneId: toHex(id) };
}

/** A notice when a zone takes names out of another zone served here, which does not delegate them. */
export function shadowsParent(store: Store, zone: ZoneRow): Notice[] {
  const above = servedZoneAbove(store, zone.name);
  if (!above || !isAnswered(zone) || delegationHere(store, zone).length > 0) return [];
  const text = `${zone.name} takes its names out of ${above.name}, which is served here too and has no NS records at ${zone.name}`;
  const remedy = `If that is meant, add NS records for ${zone.name} to ${above.name}; otherwise delete the zone ${zone.name}.`;
  return [{ code: 'shadows-parent', text, remedy, zoneId: toHex(zone.id) }];
}

/** The zone above belongs to what is shown, too: a tenant learns of no other tenant's zones. */
function shadowingZones(store: Store, isShown: (zone: number) => boolean): Notice[] {
  const zones = servedZoneNames(store);
  const names = new Set(zones.map(([, name]) => name));
  const notices: Notice[] = [];
  for (const [seq, name] of zones) {
    if (!hasAncestorIn(names, name) || !isShown(seq)) continue;
    const above = servedZoneAbove(store, name);
    if (!above || !isShown(above.seq)) continue;
    notices.push(...shadowsParent(store, findZone(store, seq)!));
    if (notices.length >= MOST_NAMED) break;
  }
  return notices;
}

function hasAncestorIn(names: ReadonlySet<string>, name: string): boolean {
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    if (names.has(name.slice(dot + 1))) return true;
  }
  return false;
}

function plural(zones: number): string {
  return zones === 1 ? 'one zone' : `${zones} zones`;
}
