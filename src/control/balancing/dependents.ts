/** Load balancers whose answers depend on something that changes. */
import { loadBalancersOfPool } from '../../store/balancing/load-balancers.js';
import type { Draft } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';

/** Notes the owners of all load balancers that use a pool (store number), before it or its monitors change. */
export function noteBalancersOfPool({ store }: Context, draft: Draft, pool: number): void {
  for (const { zone, owner_key: ownerKey } of loadBalancersOfPool(store, pool)) {
    draft.noteBalancer(zone, new Uint8Array(ownerKey), false);
  }
}
