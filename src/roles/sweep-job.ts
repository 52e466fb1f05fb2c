/** Removes bodies without an object: those that nobody needs any more every hour, and those that crashes leave behind every day. */
import type { ObjectStore } from '../bucket/object-store.js';
import type { JobKind } from '../jobs/kind.js';
import type { Store } from '../store/driver.js';
import { hasGarbage } from '../store/objects/objects.js';
import { hasUploads } from '../store/objects/uploads.js';

export interface SweepParts {
  readonly objects: Pick<ObjectStore, 'sweep'>;
  readonly store: Store;
  /** Whether bodies of objects are where other nodes may be reading them. */
  readonly sharesBodies: boolean;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Until unused bodies are looked for again while a backup is being made. */
const HELD_MS = 600_000;

export function sweepJob(parts: SweepParts): JobKind {
  let sweptMs: number | undefined;
  return {
    async handler({ clock }) {
      const nowMs = clock.nowMs();
      const isDue = sweptMs === undefined || Math.abs(nowMs - sweptMs) >= DAY_MS;
      // What is deleted meanwhile counts for its account until it is removed.
      if (!isDue && !mayHaveGarbage(parts)) return { againAtMs: nowMs + HOUR_MS };
      const isDone = await parts.objects.sweep();
      if (isDone) sweptMs = nowMs;
      return { againAtMs: clock.nowMs() + (isDone ? HOUR_MS : HELD_MS) };
    },
  };
}

/** Bodies that other nodes may be reading, and those of parts, are removed by sweeps alone. */
function mayHaveGarbage({ sharesBodies, store }: SweepParts): boolean {
  return sharesBodies || hasUploads(store) || hasGarbage(store);
}
