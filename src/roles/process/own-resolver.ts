/** The one resolver of a process, as the settings say. */
import type { Clock } from '../../base/clock.js';
import { systemRandom } from '../../base/random.js';
import type { Settings } from '../../config/schema.js';
import { createResolver, type Resolver } from '../../resolver/resolve.js';
import type { ResolverMetrics } from '../../resolver/resolver-metrics.js';
import { createUpstream } from '../../resolver/upstream.js';
import type { ServingSettings } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { upstreamServers } from './control-base.js';

export interface ResolverParts {
  readonly store: Store;
  readonly clock: Clock;
  /** What own zones serve. */
  readonly settings: ServingSettings;
}

/** Asks own zones first, then the upstream servers of the settings. */
export function createOwnResolver(
  settings: Settings,
  { store, clock, settings: serving }: ResolverParts,
  metrics?: ResolverMetrics,
): Resolver {
  const upstream = createUpstream({ servers: upstreamServers(settings), clock });
  return createResolver({ store, clock, upstream, serving, random: systemRandom, ...(metrics && { metrics }) });
}
