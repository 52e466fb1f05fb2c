/** How the nodes of a cluster agree on the state of an origin. Pure. */
import type { OriginState } from './origin-state.js';

/** What a live node has found. */
export interface NodeVote {
  readonly node: string;
  readonly region: string;
  readonly state: OriginState;
}

/**
 * What the nodes of each region say in their majority, and then what the regions say in theirs. Nodes and regions that know nothing
 * do not count. `before`: what stays where both sides are equal.
 */
export function agreedState(votes: readonly NodeVote[], before: OriginState): OriginState {
  const regions = Map.groupBy(votes, ({ region }) => region).values();
  return majority(
    [...regions].map((ofRegion) =>
      majority(
        ofRegion.map(({ state }) => state),
        before,
      ),
    ),
    before,
  );
}

function majority(states: readonly OriginState[], before: OriginState): OriginState {
  const healthy = states.filter((state) => state === 'healthy').length;
  const unhealthy = states.filter((state) => state === 'unhealthy').length;
  if (healthy !== unhealthy) return healthy > unhealthy ? 'healthy' : 'unhealthy';
  return healthy === 0 ? 'unknown' : before === 'unknown' ? 'unhealthy' : before;
}
