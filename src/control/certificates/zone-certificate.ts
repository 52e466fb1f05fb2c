/** Schedules the check of a zone's certificate in the write that may make it necessary or unnecessary. */
import { toHex } from '../../base/bytes.js';
import { schedule } from '../../jobs/schedule.js';
import { findRequest } from '../../store/certs/requests.js';
import { proxiedOwners } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Participant } from '../kernel/participant.js';
import type { TouchedZone } from '../kernel/touched-zone.js';

/** Checks whether a zone has the certificate it needs. The subject is the zone's identifier. */
export const ZONE_CERTIFICATE_JOB = 'zone_certificate';

export const certificates: Participant<Context> = {
  after(ctx, { touched, row }) {
    if (!touched.derived) planZoneCertificate(ctx, row, touched);
  },
};

function planZoneCertificate(
  { store, clock }: Pick<Context, 'store' | 'clock'>,
  zone: ZoneRow,
  { kind, undoable, proxied, balanced }: Pick<TouchedZone, 'kind' | 'undoable' | 'proxied' | 'balanced'>,
): void {
  // Settings, and records replaced without the draft, may change the need in both directions; single records can only
  // create it.
  const whole = kind !== undefined || !undoable;
  if (!whole && !proxied && balanced.length === 0) return;
  const subject = toHex(zone.id);
  const has = findRequest(store, 'zone', subject) !== undefined;
  const isNeeded = (): boolean => proxied || proxiedOwners(store, zone.seq, 1).length > 0;
  if (has ? !whole : !isNeeded()) return;
  const nowMs = clock.nowMs();
  schedule(store, { kind: ZONE_CERTIFICATE_JOB, subject, runAtMs: nowMs }, nowMs);
}
