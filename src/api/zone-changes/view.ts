/** A change and how far it has come (ours). */
import type { ChangeItem } from '../../control/write/changes.js';
import type { DnsProcess } from '../../control/write/propagation.js';
import { printTime } from '../times.js';
import type { ZoneChange } from './schema.js';

/** Without any DNS process nothing is served. */
export function zoneChangeView(item: ChangeItem, processes: readonly DnsProcess[]): ZoneChange {
  const statusAt = (applied: number) => (applied >= item.change ? 'INSYNC' : 'PENDING');
  const served = processes.length > 0 && processes.every(({ applied }) => applied >= item.change);
  return {
    id: String(item.change),
    zone_id: item.zoneId,
    serial: item.serial,
    status: served ? 'INSYNC' : 'PENDING',
    submitted_on: printTime(item.at),
    actor: item.actor,
    request_id: item.requestId,
    processes: processes.map(({ name, applied }) => ({ name, applied, status: statusAt(applied) })),
  };
}
