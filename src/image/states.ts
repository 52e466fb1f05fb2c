/** The health of origins and pools of load balancers, which changes without a change of any node. */
import { invariant } from '../base/errors.js';
import { switchWords } from './plan.js';
import type { ImageReader } from './reader.js';

/** Sets states by their places, at once for all readers: an answer that is being made meanwhile is made again. */
export function setStates({ control, states: words }: ImageReader, changes: ReadonlyMap<number, number>): void {
  const writes = [...changes].map(([at, value]) => ({ words, at, value }));
  for (const { at } of writes) invariant(at >= 0 && at < words.length, 'states are set inside their buffer');
  if (writes.length > 0) switchWords(control, writes);
}
