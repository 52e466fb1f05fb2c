/** What the API asks of what probes. */
import type { Previews } from './previews.js';
import type { LastResult } from './prober.js';

export interface PoolProbing {
  /** What results of this node are shown under. */
  readonly node: string;
  /** What this node last found of a pool (store number). */
  lastOf(pool: number): Promise<readonly LastResult[]>;
  readonly previews: Previews;
}
