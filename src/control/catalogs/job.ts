/** The job that keeps catalogs in line with the zones of their accounts. */
import { fromHex } from '../../base/bytes.js';
import type { JobKind, JobOutcome } from '../../jobs/kind.js';
import { findCatalogById } from '../../store/secondary/catalogs.js';
import { OPERATOR } from '../guard/actor.js';
import { commit } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { updateCatalog } from './update.js';

const DONE: JobOutcome = { done: true };

export function catalogJob(base: ContextBase): JobKind {
  return {
    async handler({ requireLease }, subject) {
      const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
      const { value } = await commit(ctx, (draft): JobOutcome => {
        requireLease();
        const catalog = findCatalogById(ctx.store, fromHex(subject)!);
        if (!catalog) return DONE;
        const { isPartial, endsAt } = updateCatalog(ctx, draft, catalog);
        if (isPartial) return { againAtMs: ctx.clock.nowMs() };
        return endsAt === undefined ? DONE : { againAtMs: Math.ceil(endsAt / 1000) };
      });
      return value;
    },
  };
}
