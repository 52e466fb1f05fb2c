/** A version of a zone that its primary has signed: its signatures are verified before it is served with them. */
import { inSlices } from '../../base/slices.js';
import { nameOfOwnerKey } from '../../dns/name.js';
import type { RR } from '../../dns/rr.js';
import { servedTtl } from '../../dns/ttl.js';
import type { PlacedRR } from '../../dnssec/signed-zone.js';
import { findSigning } from '../../serving/signing.js';
import type { Store } from '../../store/driver.js';
import { recordsThatMayBeOwn, rowsOfSet } from '../../store/records/compare.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import {
  dropPresigned,
  giveStaged,
  type StagedPresigned,
  stagePresigned,
  takePresigned,
} from '../dnssec/presigned/take.js';
import { verifyPresigned } from '../dnssec/presigned/verify.js';
import { giveUp } from '../imports/stage.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { isOverride } from '../rules/of-primary.js';

/** What came cannot be served. The message says why, for people. */
export class NotServable extends Error {}

/**
 * All records of a signed version whose other records stand in a set; `proofs`: SOA, RRSIG, NSEC and NSEC3. Throws a
 * {@link NotServable} when a validating resolver would not accept it.
 */
export async function readSignedVersion(
  { store, clock }: Context,
  { apex, record_set: own }: ZoneRow,
  set: number,
  proofs: readonly RR[],
): Promise<readonly PlacedRR[]> {
  requireNoOverrides(store, own);
  const nowhere = { file: undefined, line: 1 };
  const records: PlacedRR[] = proofs.map((record) => ({ ...record, ...nowhere }));
  const readAll = function* (): Generator<undefined, void> {
    for (const { owner_key: ownerKey, type, ttl, rdata } of rowsOfSet(store, set)) {
      records.push({ owner: nameOfOwnerKey(ownerKey, apex), type, ttl: servedTtl(ttl), rdata, ...nowhere });
      yield;
    }
  };
  await inSlices(clock, readAll());
  // Checking a signature may take milliseconds.
  const issues = await inSlices(clock, verifyPresigned(apex, records, Math.floor(clock.nowMs() / 1000)), 1);
  const fault = issues.find(({ severity }) => severity === 'error');
  if (fault) throw new NotServable(`its signatures cannot be used: ${fault.message}`);
  return records;
}

function requireNoOverrides(store: Store, set: number): void {
  if (!recordsThatMayBeOwn(store, set).some(isOverride)) return;
  throw new NotServable('it is signed, but has records that were made here (secondary_overrides); delete them first');
}

/** Stores the signatures of a version aside. `row`: the zone as it will be. Throws a {@link NotServable}. */
export async function stageSigned(
  ctx: Context,
  { record_set: own }: ZoneRow,
  row: ZoneRow,
  records: readonly PlacedRR[],
): Promise<StagedPresigned> {
  requireNoOverrides(ctx.store, own);
  const staged = await stagePresigned(ctx, row, records);
  const [issue] = staged.issues;
  if (!issue) return staged;
  await giveUp(ctx, staged.set);
  throw new NotServable(issue.message);
}

/**
 * Gives the zone its signatures, or takes them away when it has none any more; inside the commit that stored its records. `staged`:
 * those that were stored before.
 */
export function applySigned(
  ctx: Context,
  draft: Draft,
  seq: number,
  signed: readonly PlacedRR[] | undefined,
  staged: StagedPresigned | undefined,
): void {
  const zone = draft.zone(seq)!;
  if (staged) giveStaged(ctx, draft, zone, staged);
  else if (signed) {
    const [issue] = takePresigned(ctx, draft, zone, signed);
    if (issue) throw new NotServable(issue.message);
  } else if (findSigning(ctx.store, seq).kind === 'elsewhere') dropPresigned(ctx, draft, zone);
}
