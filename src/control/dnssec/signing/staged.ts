/** Signatures that were made before the zone gets the records for which they are; see ../stage-signatures.ts. */
import { readSignedOwner, type SignedOwner } from '../../../serving/stored-signatures.js';
import { signatureOctets } from '../../../store/dnssec/signatures.js';
import { updateDnssecZone } from '../../../store/dnssec/zones.js';
import { dropRecordSet, useRecordSet } from '../../../store/records/record-sets.js';
import type { Context } from '../../kernel/context.js';
import type { StagedSignatures } from '../../kernel/touched-zone.js';
import { planRemoval } from '../../kernel/unused-records.js';
import { APEX } from './chain.js';
import type { SigningZone } from './signing-zone.js';

/** The apex as the zone had it signed until now. */
export interface GivenSignatures {
  readonly apexBefore: SignedOwner;
}

/** Gives them to the zone, instead of those that it has; inside the write. Undefined when they were given up meanwhile. */
export function giveSignatures(
  ctx: Context,
  { row }: SigningZone,
  { set }: StagedSignatures,
): GivenSignatures | undefined {
  const { store } = ctx;
  if (!useRecordSet(store, set)) return undefined;
  const apexBefore = readSignedOwner(signatureOctets(store, row.zone, APEX)!);
  updateDnssecZone(store, row.zone, { signature_set: set });
  if (!dropRecordSet(store, row.signature_set)) planRemoval(ctx);
  return { apexBefore };
}
