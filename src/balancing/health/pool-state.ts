/** The state of a pool, from those of its enabled origins. Pure. */
import type { OriginState } from './origin-state.js';

export type PoolState = 'unknown' | 'healthy' | 'degraded' | 'critical';

/** `origins`: of those that are enabled. An origin whose state is unknown counts as down. */
export function poolState(origins: readonly OriginState[], minimumOrigins: number): PoolState {
  if (origins.every((state) => state === 'unknown')) return 'unknown';
  const up = origins.filter((state) => state === 'healthy').length;
  if (up < minimumOrigins) return 'critical';
  return up === origins.length ? 'healthy' : 'degraded';
}

/** Whether a pool whose origins are probed gets traffic. Without a minimum it always does. */
export function isPoolUp(state: PoolState, minimumOrigins: number): boolean {
  return state === 'healthy' || state === 'degraded' || (state === 'unknown' && minimumOrigins === 0);
}
