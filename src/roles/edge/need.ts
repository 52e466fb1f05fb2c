/** Watches whether any name could lead to an edge, so that one runs only then. */
import type { Clock } from '../../base/clock.js';
import type { Store } from '../../store/driver.js';
import { isEdgeNeeded } from '../../store/edge/changes.js';

/** Milliseconds between two looks without a commit that was announced: a safety net. */
const LOOK_MS = 5000;

export interface EdgeNeed {
  /** Looks again: something was committed. */
  look(): void;
  close(): void;
}

/** Reports the state at once and whenever it changes. */
export function watchEdgeNeed(store: Store, clock: Clock, tell: (needed: boolean) => void): EdgeNeed {
  let known = isEdgeNeeded(store);
  tell(known);
  const look = (): void => {
    const needed = isEdgeNeeded(store);
    if (needed === known) return;
    known = needed;
    tell(needed);
  };
  return { look, close: clock.inStep(LOOK_MS, look) };
}
