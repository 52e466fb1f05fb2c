/** A change and its progress (ours). */

import { type DnsProcess, isHeld, serves } from '../../control/kernel/propagation.js';
import type { ChangeItem } from '../../control/zones/changes.js';
import { printTime } from '../times.js';
import type { ZoneChange } from './schema.js';

/** Without a DNS process nothing is served. */
export function zoneChangeView(item: ChangeItem, processes: readonly DnsProcess[]): ZoneChange {
  const served =
    processes.length > 0 &&
    processes.every((process) => serves(process, item)) &&
    item.secondaries.every((peer) => peer.served || !peer.isAwaited);
  return {
    id: String(item.change),
    zone_id: item.zoneId,
    serial: item.serial,
    complete: item.complete,
    status: served ? 'INSYNC' : 'PENDING',
    submitted_on: printTime(item.at),
    actor: item.actor,
    request_id: item.requestId,
    processes: processes.map((process) => ({
      name: process.name,
      applied: process.applied,
      status: serves(process, item) ? 'INSYNC' : 'PENDING',
      held: isHeld(process, item),
    })),
    secondaries: item.secondaries.map(({ name, serial, served: isServed, error }) => ({
      name,
      serial,
      status: isServed ? 'INSYNC' : 'PENDING',
      error,
    })),
  };
}
