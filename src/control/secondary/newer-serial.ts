/**
 * Serials that are newer than those of secondaries. After a restoration, or when the log of a cluster has lost entries, zones
 * are older than the copies of their secondaries. These would ignore every change until their serials are passed, and then
 * take differences for a version that they do not have (RFC 1982 §7, RFC 1995 §4).
 */
import { fromHex, toHex } from '../../base/bytes.js';
import { nextSerial, serialIsAfter } from '../../dns/serial.js';
import type { JobKind } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import { findSigning } from '../../serving/signing.js';
import type { Store } from '../../store/driver.js';
import { enabledOutgoing, peersOfZone } from '../../store/secondary/outgoing.js';
import { findZone, findZoneById, type ZoneRow } from '../../store/zones/zones.js';
import { OPERATOR } from '../guard/actor.js';
import { commit } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import type { Draft } from '../kernel/draft.js';

/** Gives a restored zone a newer serial. The subject is the zone's identifier. */
export const RESTORED_ZONE_JOB = 'restored_zone';

/** How far: the serials that were given after the backup was made lie in between. */
const STEP = 1_000_000;

/** Plans newer serials for all zones that others transfer; inside a write. Their number. */
export function planNewerSerials(store: Store, nowMs: number): number {
  const zones = enabledOutgoing(store).map((seq) => findZone(store, seq)!);
  const own = zones.filter((zone) => hasOwnSerial(store, zone));
  for (const { id } of own) {
    schedule(store, { kind: RESTORED_ZONE_JOB, subject: toHex(id), runAtMs: nowMs }, nowMs);
  }
  return own.length;
}

export function restoredZoneJob(base: ContextBase): JobKind {
  return {
    async handler({ requireLease }, subject) {
      const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
      await commit(ctx, (draft) => {
        requireLease();
        const zone = findZoneById(ctx.store, fromHex(subject)!);
        if (zone && hasOwnSerial(ctx.store, zone)) setSerial(draft, zone, (zone.serial + STEP - 1) >>> 0);
      });
      return { done: true };
    },
  };
}

/** If a peer has a newer serial than the zone, the zone gets one that is newer than those of all peers; inside a write. */
export function passPeers(store: Store, draft: Draft, zone: ZoneRow): void {
  if (!hasOwnSerial(store, zone)) return;
  const newest = peersOfZone(store, zone.seq).reduce(
    (most, { serial }) => (serial !== null && serialIsAfter(serial, most) ? serial : most),
    zone.serial,
  );
  if (newest !== zone.serial) setSerial(draft, zone, newest);
}

function setSerial(draft: Draft, zone: ZoneRow, before: number): void {
  const serial = nextSerial(before);
  draft.setZone(zone.seq, { serial });
  draft.noteZone(zone.seq, 'settings');
  const audited = { before: { serial: zone.serial }, after: { serial } };
  draft.event({ kind: 'zone.serial', zone, ...audited });
}

/** Zones that have a primary, or came with their signatures, have the serial that they came with. */
function hasOwnSerial(store: Store, { seq, type }: ZoneRow): boolean {
  return type !== 'secondary' && findSigning(store, seq).kind !== 'elsewhere';
}
