/**
 * The job that looks for the proofs of zones: of zones without one until there is one, and every day whether one that was found
 * is still there (docs/tenants.md). The operator's word needs none.
 */
import { fromHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import type { JobKind } from '../../jobs/kind.js';
import { isProven } from '../../serving/name-owner.js';
import { findZoneById, type ZoneRow } from '../../store/zones/zones.js';
import { OPERATOR } from '../guard/actor.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { judge, lookForProof } from './activation.js';
import { FIRST_LOOK_MS } from './proof-schedule.js';

/** The longest time between two looks at a zone without a proof; otherwise they wait for as long as the zone is old. */
const MOST_MS = 6 * 3_600_000;
const DAY_MS = 86_400_000;

export function proofJob(base: ContextBase): JobKind {
  return {
    atOnce: 8,
    async handler({ clock, requireLease }, subject) {
      const { store, random } = base;
      const zone = findZoneById(store, fromHex(subject)!);
      if (!zone || zone.type === 'internal' || (zone.proven_by === 'operator' && zone.status === 'active'))
        return { done: true };
      const ctx: Context = {
        ...base,
        // Nothing is proven by who runs this.
        actor: { ...OPERATOR, superAdministrator: false },
        requestId: random.uuid(),
        source: 'service',
      };
      const evidence = await lookForProof(ctx, zone);
      const after = await judgeUnlessHeld(ctx, zone, evidence, requireLease);
      if (!after) return { done: true };
      const ageMs = clock.nowMs() - after.created_at / 1000;
      const waitMs = isProven(after) ? DAY_MS : Math.min(MOST_MS, Math.max(FIRST_LOOK_MS, ageMs));
      return { againAtMs: clock.nowMs() + waitMs };
    },
  };
}

async function judgeUnlessHeld(
  ctx: Context,
  zone: ZoneRow,
  evidence: Awaited<ReturnType<typeof lookForProof>>,
  guard: () => void,
): Promise<ZoneRow | undefined> {
  try {
    return await judge(ctx, zone, evidence, guard);
  } catch (error) {
    // Another account holds the name: it stays as it is until that ends.
    if (error instanceof AppError) return findZoneById(ctx.store, zone.id);
    throw error;
  }
}
