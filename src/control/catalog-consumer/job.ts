/** The job that follows catalogs of other servers. */
import { fromHex } from '../../base/bytes.js';
import type { JobKind, JobOutcome } from '../../jobs/kind.js';
import { findConsumedCatalogById } from '../../store/secondary/consumed-catalogs.js';
import { commitAlone } from '../write/commit.js';
import type { ContextBase } from '../write/context.js';
import { contextOf, followCatalog } from './follow.js';

const DONE: JobOutcome = { done: true };
/** Milliseconds until members that could not become zones are tried again. */
const AGAIN_MS = 3_600_000;

export function consumerJob(base: ContextBase): JobKind {
  return {
    async handler({ requireLease }, subject) {
      const { store, clock } = base;
      const known = findConsumedCatalogById(store, fromHex(subject)!);
      if (!known) return DONE;
      const ctx = contextOf(base, known);
      const { value } = await commitAlone(ctx, (draft): JobOutcome => {
        requireLease();
        const catalog = findConsumedCatalogById(store, known.id);
        if (!catalog) return DONE;
        const { isPartial, hasProblems } = followCatalog(ctx, draft, catalog);
        if (isPartial) return { againAtMs: clock.nowMs() };
        return hasProblems ? { againAtMs: clock.nowMs() + AGAIN_MS } : DONE;
      });
      return value;
    },
  };
}
