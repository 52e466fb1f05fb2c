/** Transfers of a zone as v4 clients read them. */

import type { ConsumedCatalogItem, ConsumedMemberItem } from '../../control/catalog-consumer/consumer.js';
import type { RemovedZoneItem } from '../../control/catalog-consumer/removed.js';
import type { CatalogItem, MemberItem } from '../../control/catalogs/catalogs.js';
import type { AddedSecondary as AddedItem } from '../../control/secondary/add-secondary.js';
import type { IncomingItem, IncomingStatusItem } from '../../control/secondary/incoming.js';
import type { OutgoingItem, PeerStatusItem } from '../../control/secondary/outgoing.js';
import type { TsigItem } from '../../control/secondary/tsigs.js';
import { printOptionalTime, printTime } from '../times.js';
import { policyView } from '../tokens/view.js';
import type { Catalog, Member } from './catalog-schema.js';
import type { Consumed, ConsumedMember, RemovedZone } from './consumed-schema.js';
import type { AddedSecondary, Incoming, IncomingStatus, Outgoing, PeerStatus, Tsig } from './schema.js';

export function outgoingView(item: OutgoingItem): Outgoing {
  return {
    id: item.id,
    checked_time: printOptionalTime(item.checkedAt),
    created_time: printTime(item.createdAt),
    last_transferred_time: printOptionalTime(item.transferredAt),
    name: item.name,
    peers: [...item.peers],
    soa_serial: item.serial,
  };
}

export function addedSecondaryView({ peer, tsigName, outgoing }: AddedItem): AddedSecondary {
  return { peer, tsig_name: tsigName, outgoing: outgoingView(outgoing) };
}

export const statusView = ({ enabled }: OutgoingItem): 'Enabled' | 'Disabled' => (enabled ? 'Enabled' : 'Disabled');

export function peerStatusView({ seenAt, inSync, isAhead: ahead, ...status }: PeerStatusItem): PeerStatus {
  const { id, name, ip, port, serial, error } = status;
  return { id, name, ip, port, serial, in_sync: inSync, ahead, seen_time: printOptionalTime(seenAt), error };
}

export function tsigView({ policies, ...item }: TsigItem): Tsig {
  return { ...item, policies: policies.map(policyView) };
}

export function incomingView(item: IncomingItem): Incoming {
  return {
    id: item.id,
    auto_refresh_seconds: item.refreshSeconds,
    checked_time: printOptionalTime(item.checkedAt),
    created_time: printTime(item.createdAt),
    modified_time: printTime(item.modifiedAt),
    name: item.name,
    peers: [...item.peers],
    soa_serial: item.serial,
  };
}

export function incomingStatusView(item: IncomingStatusItem): IncomingStatus {
  return {
    id: item.id,
    state: item.state,
    soa_serial: item.serial,
    checked_time: printOptionalTime(item.checkedAt),
    last_transferred_time: printOptionalTime(item.transferredAt),
    expires_time: printOptionalTime(item.expiresAt),
    next_check_time: printOptionalTime(item.nextAt),
    error: item.error,
    notice: item.notice,
    primaries: item.primaries.map(({ seenAt, ...primary }) => {
      const { id, name, ip, port, serial, error } = primary;
      return { id, name, ip, port, serial, seen_time: printOptionalTime(seenAt), error };
    }),
  };
}

export function catalogView(item: CatalogItem): Catalog {
  return {
    id: item.id,
    zone_id: item.zoneId,
    name: item.name,
    peers: [...item.peers],
    members: item.members,
    soa_serial: item.serial,
    created_time: printTime(item.createdAt),
    modified_time: printTime(item.modifiedAt),
  };
}

export function memberView({ zoneId, name, memberId, group, movedTo }: MemberItem): Member {
  return { zone_id: zoneId, name, member_id: memberId, group, move_to: movedTo };
}

export function consumedView({ zoneId, serial, followedAt, createdAt, ...item }: ConsumedCatalogItem): Consumed {
  return {
    ...item,
    peers: [...item.peers],
    zone_id: zoneId,
    soa_serial: serial,
    followed_time: printOptionalTime(followedAt),
    created_time: printTime(createdAt),
  };
}

export function consumedMemberView({
  name,
  memberId,
  zoneId,
  group,
  movesTo,
  problem,
}: ConsumedMemberItem): ConsumedMember {
  return { name, member_id: memberId, zone_id: zoneId, group, moves_to: movesTo, problem };
}

export function removedZoneView({ memberId, removedAt, keptUntil, ...item }: RemovedZoneItem): RemovedZone {
  return { ...item, member_id: memberId, removed_time: printTime(removedAt), kept_until: printTime(keptUntil) };
}
