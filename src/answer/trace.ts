/** What the engine did for the last query, name by name. Used to explain an answer, never while answering. */
import { Where } from './search.js';
import type { Engine } from './state.js';

/**
 * The result for a name; `labels` counts those of the deciding name: the name, the zone cut, the DNAME, or the closest
 * encloser.
 */
export interface TracedName {
  readonly led: keyof typeof Where;
  readonly labels: number;
}

const KINDS = Object.keys(Where) as (keyof typeof Where)[];

/** The question's name, then the names of its chain that were looked up; empty when no zone answered. */
export function traceOf({ search }: Engine): TracedName[] {
  return Array.from({ length: search.names }, (_, i) => ({
    led: KINDS.find((kind) => Where[kind] === search.where[i])!,
    labels: search.whereLabels[i]!,
  }));
}
