/** Watches whether any name could lead to an edge, so that one runs only then. */
import type { Clock } from '../../base/clock.js';
import type { Store } from '../../store/driver.js';
import { isEdgeNeeded } from '../../store/edge/changes.js';

const LOOK_MS = 100;

/** Reports the state at once and whenever it changes. The returned function stops that. */
export function watchEdgeNeed(store: Store, clock: Clock, tell: (needed: boolean) => void): () => void {
  let known = isEdgeNeeded(store);
  tell(known);
  return clock.every(LOOK_MS, () => {
    const needed = isEdgeNeeded(store);
    if (needed === known) return;
    known = needed;
    tell(needed);
  });
}
