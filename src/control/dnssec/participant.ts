/** Signs what a write changes in a signed zone, and leaves alone what was signed elsewhere. */

import { isSameDenial } from '../../dnssec/denial.js';
import type { Difference } from '../../serving/difference.js';
import { isPresigned } from '../../serving/signed.js';
import { zoneState } from '../../serving/zone-state.js';
import type { ChangeKind } from '../../store/log/changes.js';
import type { Context } from '../kernel/context.js';
import type { Participant, ZoneEnd } from '../kernel/participant.js';
import { soaDifference } from '../kernel/touched-zone.js';
import { dnssecFailure } from './errors.js';
import { signEdits } from './plan-signatures.js';
import { signZone } from './signing/sign-zone.js';
import { isCurrent, stageSignatures } from './stage-signatures.js';

export const signing: Participant<Context> = {
  add(ctx, end) {
    if (isPresigned(end.zone) && !end.touched.signing.prepared) return { kind: (found) => kindOfFixed(end, found) };
    return signZone(ctx, end);
  },
  stage: stageSignatures,
  sign: signEdits,
  fits: isCurrent,
};

/**
 * A zone that is signed elsewhere: nothing that it serves may change, not even its serial. Whether it is served may, and what
 * resolvers do not see.
 */
function kindOfFixed({ touched, row, zone }: ZoneEnd, difference: Difference | undefined): ChangeKind | undefined {
  const { before, serving, kind } = touched;
  const isSwitched = zoneState(before) !== zoneState(row);
  const isSame = isSwitched || (difference && difference.removed.length + difference.added.length === 0);
  if (!isSame || 'soaFrom' in soaDifference(serving, zone, row.serial) || !isSameDenial(serving.denial, zone.denial)) {
    throw dnssecFailure('presignedFixed', { zone: row.name });
  }
  return isSwitched ? kind : undefined;
}
