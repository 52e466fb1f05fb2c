/** Transfers of a zone as v4 clients read them. */
import type { OutgoingItem, PeerStatusItem } from '../../control/secondary/outgoing.js';
import type { TsigItem } from '../../control/secondary/tsigs.js';
import { printOptionalTime, printTime } from '../times.js';
import { policyView } from '../tokens/view.js';
import type { Outgoing, PeerStatus, Tsig } from './schema.js';

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

export const statusView = ({ enabled }: OutgoingItem): 'Enabled' | 'Disabled' => (enabled ? 'Enabled' : 'Disabled');

export function peerStatusView({ seenAt, inSync, ...status }: PeerStatusItem): PeerStatus {
  const { id, name, ip, port, serial, error } = status;
  return { id, name, ip, port, serial, in_sync: inSync, seen_time: printOptionalTime(seenAt), error };
}

export function tsigView({ policies, ...item }: TsigItem): Tsig {
  return { ...item, policies: policies.map(policyView) };
}
