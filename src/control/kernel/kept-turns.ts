/** Turns that last as long as the store, for use cases that have no other object that lasts. */
import { createTurns, type TurnLimits, type Turns } from '../../base/turns.js';
import { perStore } from '../../store/driver.js';
import type { ContextBase } from './context.js';

/** They use the clock of the first caller. */
export function keptTurns(limits: TurnLimits): (base: Pick<ContextBase, 'store' | 'clock'>) => Turns {
  const known = perStore(() => ({ turns: undefined as Turns | undefined }));
  return ({ store, clock }) => {
    const own = known(store);
    own.turns ??= createTurns(limits, clock);
    return own.turns;
  };
}
