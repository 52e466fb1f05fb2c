/** The job that keeps catalogs in line with the zones of their accounts. */
import { fromHex } from '../../base/bytes.js';
import type { JobKind } from '../../jobs/kind.js';
import { OPERATOR } from '../guard/actor.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { updateCatalog } from './update.js';

export function catalogJob(base: ContextBase): JobKind {
  return {
    async handler(job, subject) {
      const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
      const endsAt = await updateCatalog(ctx, fromHex(subject)!, job);
      if (job.signal.aborted) return { againAtMs: ctx.clock.nowMs() };
      return endsAt === undefined ? { done: true } : { againAtMs: Math.ceil(endsAt / 1000) };
    },
  };
}
