/**
 * Signals for registries that turn on DNSSEC by themselves (RFC 9615): as long as the parent of a signed zone has no DS record,
 * its CDS and CDNSKEY records stand also below the names of its name servers, in zones that are secure already. Only zones
 * whose owners allow it (`signals`) take part.
 */

import { equalBytes, toHex } from '../../base/bytes.js';
import { Type } from '../../dns/codes.js';
import {
  isAtOrBelow,
  labelsOf,
  lowerName,
  MAX_NAME_LENGTH,
  nameOfLabels,
  nameOfOwnerKey,
  ownerKeyOf,
  toFqdn,
} from '../../dns/name.js';
import { schedule } from '../../jobs/schedule.js';
import { findZoneAbove } from '../../serving/look-up.js';
import { servedAtOwner } from '../../serving/owner.js';
import { findSignedHere, isSignedElsewhere } from '../../serving/signing.js';
import { servingZone } from '../../serving/zone.js';
import { isAnswered } from '../../serving/zone-state.js';
import {
  insertSignal,
  removeSignal,
  removeSignalsOfZone,
  type SignalRow,
  signalOwners,
  signalsOfChild,
} from '../../store/dnssec/signals.js';
import { allDnssecZones, findDnssecZone, updateDnssecZone } from '../../store/dnssec/zones.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { Draft } from '../kernel/draft.js';
import { PARENT_JOB } from '../schedule/signing.js';
import { dnssecFailure } from './errors.js';
import { APEX } from './signing/chain.js';

const [BOOT_LABEL, SIGNAL_LABEL] = ['_dsboot', '_signal'].map((text) => Buffer.from(text)) as [Buffer, Buffer];
/** Jobs that look at waiting zones begin one after the other. */
const SPREAD_MS = 50;

/**
 * Lets a zone tell of others, or no longer. Inside a commit; throws when it is not served with signatures, which nobody could
 * believe.
 */
export function setSignals(ctx: Context, draft: Draft, zone: ZoneRow, wanted: boolean): void {
  const { store } = ctx;
  const row = findDnssecZone(store, zone.seq);
  if ((row?.signals === 1) === wanted) return;
  if (row?.phase !== 'signed') throw dnssecFailure('signalsUnsigned', { zone: zone.name });
  draft.noteSigning(zone.seq, { owners: signalOwners(store, zone.seq) });
  if (!wanted) removeSignalsOfZone(store, zone.seq);
  updateDnssecZone(store, zone.seq, { signals: wanted ? 1 : 0, modified_at: draft.now });
  draft.event({ kind: 'dnssec.edit', zone, after: { signals: wanted } });
  if (wanted) lookAtWaitingZones(ctx);
}

/** The jobs of zones that wait for their parents publish their signals. */
function lookAtWaitingZones({ store, clock }: Context): void {
  const nowMs = clock.nowMs();
  const waiting = allDnssecZones(store).filter((row) => row.state === 'pending' && !isSignedElsewhere(row));
  waiting.forEach(({ zone }, i) => {
    const subject = toHex(findZone(store, zone)!.id);
    schedule(store, { kind: PARENT_JOB, subject, runAtMs: nowMs + i * SPREAD_MS }, nowMs);
  });
}

/** Names that tell of a zone. `id`: its identifier. */
export function signalNames({ store }: Context, id: Uint8Array): string[] {
  const names = signalsOfChild(store, id).map(({ zone, owner_key: ownerKey }) => {
    return toFqdn(nameOfOwnerKey(ownerKey, findZone(store, zone)!.apex));
  });
  return [...new Set(names)];
}

/** Whether anything has to be published or removed for a zone, which may be gone. */
export function areSignalsCurrent(ctx: Context, id: Uint8Array, zone: ZoneRow | undefined): boolean {
  const [known, wanted] = [signalsOfChild(ctx.store, id), wantedSignals(ctx, zone)];
  return known.length === wanted.length && wanted.every((one) => known.some((other) => isSameSignal(one, other)));
}

/** Publishes what zones are to tell of this one, and removes what they tell otherwise. Inside a commit of its own. */
export function publishSignals(ctx: Context, draft: Draft, id: Uint8Array, zone: ZoneRow | undefined): void {
  const { store } = ctx;
  const [known, wanted] = [signalsOfChild(store, id), wantedSignals(ctx, zone)];
  const gone = known.filter((one) => !wanted.some((other) => isSameSignal(one, other)));
  const added = wanted.filter((one) => !known.some((other) => isSameSignal(one, other)));
  for (const { zone: seq, owner_key: ownerKey } of [...gone, ...added]) draft.noteTarget(seq, ownerKey);
  for (const row of gone) removeSignal(store, row);
  for (const row of added) insertSignal(store, row);
}

function isSameSignal(a: SignalRow, b: SignalRow): boolean {
  return a.zone === b.zone && a.type === b.type && equalBytes(a.owner_key, b.owner_key) && equalBytes(a.rdata, b.rdata);
}

/** Sorted; empty unless the zone asks for its first DS record. */
function wantedSignals(ctx: Context, zone: ZoneRow | undefined): SignalRow[] {
  const { store, settings } = ctx;
  if (!zone || !isAnswered(zone) || findSignedHere(store, zone.seq)?.state !== 'pending') return [];
  const { rrsets } = servedAtOwner(store, servingZone(store, zone, settings), APEX);
  const rdatasOf = (type: number): readonly Uint8Array[] => rrsets.find((rrset) => rrset.type === type)?.rdatas ?? [];
  return rdatasOf(Type.ns)
    .map(lowerName)
    .flatMap((host) => {
      const place = placeOfSignal(ctx, zone, host);
      if (!place) return [];
      return [Type.cds, Type.cdnskey].flatMap((type) =>
        rdatasOf(type).map((rdata): SignalRow => ({ ...place, type, rdata, child: zone.id })),
      );
    });
}

/**
 * Where the signal below a name server's name stands: in the closest zone above it, if that takes part. None for a name server
 * inside the zone itself, of which nothing is secure yet, and when the name would be too long (RFC 9615 §4.1, §4.4).
 */
function placeOfSignal(
  { store }: Context,
  { apex }: ZoneRow,
  host: Uint8Array,
): Pick<SignalRow, 'zone' | 'owner_key'> | undefined {
  if (isAtOrBelow(host, apex)) return undefined;
  const labels = [BOOT_LABEL, ...labelsOf(apex), SIGNAL_LABEL, ...labelsOf(host)];
  if (labels.reduce((length, label) => length + 1 + label.length, 1) > MAX_NAME_LENGTH) return undefined;
  const name = nameOfLabels(labels);
  const above = findZoneAbove(store, name, isAnswered);
  if (!above || findDnssecZone(store, above.seq)?.signals !== 1) return undefined;
  return { zone: above.seq, owner_key: ownerKeyOf(name, above.apex) };
}
