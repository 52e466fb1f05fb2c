/** What becomes of the signatures of an imported zone file: left out, taken over, or replaced by our own with the same keys. */

import { dirname, resolve } from 'node:path';
import { equalBytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import type { Issue } from '../../base/result.js';
import { inSlices } from '../../base/slices.js';
import { readZone } from '../../dns/zonefile/parser.js';
import type { ZoneText } from '../../dns/zonefile/source.js';
import type { PlacedRR } from '../../dnssec/signed-zone.js';
import type { KeyMaterial } from '../../dnssec/signing-key.js';
import { findSigning } from '../../serving/signing.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { signWithKeys } from '../dnssec/key-files.js';
import { dropPresigned, takePresigned } from '../dnssec/presigned/take.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { zoneFailure } from '../rules/zone-failures.js';

/** A key from a file, for the zone that its DNSKEY record names. */
export interface OfferedKey {
  /** Lower-case wire name. */
  readonly apex: Uint8Array;
  readonly key: KeyMaterial;
}

export type SignatureTreatment =
  /** The file must have none. */
  | { readonly kind: 'refuse' }
  | { readonly kind: 'strip' }
  /** Serve them as they are. */
  | { readonly kind: 'presigned' }
  /** Leave them out, and sign with those of these keys that belong to the zone. */
  | { readonly kind: 'sign'; readonly keys: readonly OfferedKey[] };

/** What was found out about the signatures before anything is stored. */
export interface ReadSignatures {
  readonly treatment: SignatureTreatment;
  /** All records, for a zone that is served with its signatures. */
  readonly records: readonly PlacedRR[];
  /** Keys of this zone. */
  readonly keys: readonly KeyMaterial[];
  readonly issues: readonly Issue[];
}

/** Reads in slices. What verifies is loaded only for a zone that is served with its signatures. */
export async function readSignatures(
  clock: Clock,
  source: ZoneText,
  apex: Uint8Array,
  treatment: SignatureTreatment,
): Promise<ReadSignatures> {
  if (treatment.kind === 'presigned') {
    const { verifyPresigned } = await import('../dnssec/presigned/verify.js');
    const records = await inSlices(clock, recordsOf(source, apex));
    const nowS = Math.floor(clock.nowMs() / 1000);
    return { treatment, records, keys: [], issues: await inSlices(clock, verifyPresigned(apex, records, nowS)) };
  }
  if (treatment.kind !== 'sign') return { treatment, records: [], keys: [], issues: [] };
  const keys = treatment.keys.filter((offered) => equalBytes(offered.apex, apex)).map(({ key }) => key);
  if (keys.length > 0) return { treatment, records: [], keys, issues: [] };
  const issue: Issue = { severity: 'error', code: 'no-keys', message: 'the directory has no keys of this zone' };
  return { treatment, records: [], keys, issues: [issue] };
}

function* recordsOf(source: ZoneText, apex: Uint8Array): Generator<undefined, PlacedRR[]> {
  const include = 'file' in source ? { includeDirectory: dirname(resolve(source.file)) } : {};
  const records: PlacedRR[] = [];
  for (const batch of readZone(source, { origin: apex, ...include }).records()) {
    for (const { owner, type, ttl = 0, rdata, file, line } of batch)
      records.push({ owner, type, ttl, rdata, file, line });
    yield;
  }
  return records;
}

/**
 * Gives the zone its signatures, in the commit in which it has got its records. Returns errors with which the commit has to be
 * undone.
 * `isNew`: whether the zone was added in it.
 */
export function applySignatures(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  { treatment, records, keys }: ReadSignatures,
): readonly Issue[] {
  const wasPresigned = findSigning(ctx.store, zone.seq).kind === 'elsewhere';
  if (treatment.kind === 'presigned') return takePresigned(ctx, draft, zone, records);
  if (treatment.kind === 'refuse') {
    // The file has none, and the zone would lose those that it has.
    if (wasPresigned) throw zoneFailure('importUnsigned', { name: zone.name });
    return [];
  }
  if (wasPresigned) dropPresigned(ctx, draft, zone);
  if (treatment.kind === 'sign') signWithKeys(ctx, draft, draft.zone(zone.seq)!, keys);
  return [];
}
