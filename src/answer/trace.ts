/** What the engine did for the last query it answered, name by name: for those who explain an answer, not on its way. */
import { Where } from './solve.js';
import type { Engine } from './state.js';

/** Where a name led; `labels` counts those of what decides: the name, the cut, the DNAME, or the closest encloser. */
export interface TracedName {
  readonly led: keyof typeof Where;
  readonly labels: number;
}

const KINDS = Object.keys(Where) as (keyof typeof Where)[];

/** The question's name, then those of its chain that were looked for; none when no zone answered. */
export function traceOf({ search }: Engine): TracedName[] {
  return Array.from({ length: search.names }, (_, i) => ({
    led: KINDS.find((kind) => Where[kind] === search.where[i])!,
    labels: search.whereLabels[i]!,
  }));
}
