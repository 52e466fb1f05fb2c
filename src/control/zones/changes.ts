/** Use case: the progress of a zone's change (ours). */
import { findChange } from '../../store/log/changes.js';
import { requireZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { zoneFailure } from '../rules/zone-failures.js';
import { type PeerProgress, peerProgress } from './peer-progress.js';

export interface ChangeItem {
  /** Number in the change log. */
  readonly change: number;
  /** Store number. */
  readonly zone: number;
  readonly zoneId: string;
  /** SOA serial of the zone after the change. */
  readonly serial: number | null;
  /** Whether the change log lists every record that it removes from and adds to what resolvers see. */
  readonly complete: boolean;
  /** Microseconds since 1970. */
  readonly at: number;
  readonly actor: string;
  readonly requestId: string;
  /** The peers of the zone, with the serial that each served last. */
  readonly secondaries: readonly PeerProgress[];
}

/** The zone's change with this number. Throws 404 when there is none or it is no longer kept. */
export async function getChange(ctx: Context, zoneId: string, change: string): Promise<ChangeItem> {
  const zone = requireZone(ctx, zoneId);
  const row = /^\d{1,15}$/.test(change) ? findChange(ctx.store, Number(change)) : undefined;
  if (row?.zone !== zone.seq) throw zoneFailure('changeMissing', { change: change.slice(0, 64) });
  const { seq, serial_to: serial, at_us: at, actor, request_id: requestId } = row;
  const complete = row.complete === 1;
  const secondaries = peerProgress(ctx.store, ctx.actor, zone.seq, serial);
  return { change: seq, zone: zone.seq, zoneId, serial, complete, at, actor, requestId, secondaries };
}
