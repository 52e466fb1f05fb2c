/** The state of a zone at a glance, for lists (ours). */
import { type DnssecState, findDnssecZone } from '../../store/dnssec/zones.js';
import { findZoneById } from '../../store/zones/zones.js';
import { parseId, readsAllRecords } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { isOn } from '../rules/hold.js';
import { zoneFailure } from '../rules/zone-failures.js';
import type { ZoneItem } from './item.js';
import { peerProgress, standingOf } from './peer-progress.js';

export interface ZoneState {
  readonly serial: number;
  readonly records: number;
  /** `disabled` also for a zone that never was signed. */
  readonly dnssec: DnssecState;
  /** Whether other accounts are kept from adding the name. */
  readonly hold: boolean;
  /** Peers to which it is transferred, and how many of them serve it as it is. */
  readonly secondaries: { readonly count: number; readonly inSync: number };
}

/** The state of a zone that the actor is known to see; undefined unless the actor may read all of its records. */
export function stateOfZone({ store, clock, actor }: Context, { id, account }: ZoneItem): ZoneState | undefined {
  if (!readsAllRecords(actor, { zone: id, account: account.id })) return undefined;
  const zone = findZoneById(store, parseId(id)!);
  if (!zone) throw zoneFailure('missing');
  const peers = peerProgress(store, actor, zone.seq, zone.serial);
  return {
    serial: zone.serial,
    records: zone.record_count,
    dnssec: findDnssecZone(store, zone.seq)?.state ?? 'disabled',
    hold: isOn(zone, clock.nowUs()),
    secondaries: {
      count: peers.length,
      inSync: peers.filter((peer) => standingOf(zone.serial, peer.serial) === 'in sync').length,
    },
  };
}
