/** The job that follows catalogs of other servers. */
import { fromHex } from '../../base/bytes.js';
import { betweenWrites } from '../../base/slices.js';
import type { JobContext, JobKind, JobOutcome } from '../../jobs/kind.js';
import { countConsumedMembers, findConsumedCatalogById } from '../../store/secondary/consumed-catalogs.js';
import { commitAlone } from '../kernel/commit.js';
import type { ContextBase } from '../kernel/context.js';
import { contextOf, followPart, type Progress } from './follow.js';
import { readVersion } from './version.js';

const DONE: JobOutcome = { done: true };
/** Milliseconds until members that could not become zones are tried again. */
const AGAIN_MS = 3_600_000;

export function consumerJob(base: ContextBase): JobKind {
  return {
    async handler(job, subject) {
      const { store, clock } = base;
      const id = fromHex(subject)!;
      const isStale = await follow(base, job, id);
      if (isStale) return { againAtMs: clock.nowMs() };
      const catalog = findConsumedCatalogById(store, id);
      const hasProblems = catalog !== undefined && countConsumedMembers(store, catalog.seq).problems > 0;
      return hasProblems ? { againAtMs: clock.nowMs() + AGAIN_MS } : DONE;
    },
  };
}

/** Follows the stored version, commit by commit. True when it has to be read again. */
async function follow(base: ContextBase, { requireLease, signal }: JobContext, id: Uint8Array): Promise<boolean> {
  const { store } = base;
  const known = findConsumedCatalogById(store, id);
  if (!known) return false;
  const ctx = contextOf(base, known);
  const version = await readVersion(ctx, known);
  if (!version) return false;
  let progress: Progress = { done: 0, isStale: false };
  do {
    if (signal.aborted) return true;
    if (progress.done > 0) await betweenWrites();
    const from = progress;
    const { value } = await commitAlone(ctx, (draft): Progress => {
      requireLease();
      const catalog = findConsumedCatalogById(store, id);
      return catalog ? followPart(ctx, draft, catalog, version, from) : { ...from, done: version.steps.length };
    });
    if (value.done === from.done && value.isStale) return true;
    progress = value;
  } while (progress.done < version.steps.length);
  return progress.isStale;
}
