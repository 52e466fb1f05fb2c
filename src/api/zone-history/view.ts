/** History of a zone on the wire (ours). */
import type { EditItem, RestoreResult } from '../../control/zones/history.js';
import { printTime } from '../times.js';
import type { ZoneEdit, ZoneRestore } from './schema.js';

export function zoneEditView(item: EditItem): ZoneEdit {
  const { removed, added, complete } = item.diff;
  return {
    id: item.id,
    change: item.change,
    version: item.version,
    kind: item.kind,
    event: item.event,
    created_on: printTime(item.at),
    actor: { email: item.actor.email, type: item.actor.kind },
    source: item.source,
    request_id: item.requestId,
    serial_from: item.serialFrom,
    serial_to: item.serialTo,
    diff: { removed: [...removed], added: [...added], complete },
  };
}

export function zoneRestoreView(result: RestoreResult): ZoneRestore {
  return {
    id: result.zoneId,
    serial: result.serial,
    version: result.version,
    records_added: result.recordsAdded,
    records_removed: result.recordsRemoved,
    records_changed: result.recordsChanged,
  };
}
