/** What transfers from primaries need in the admin process. */
import type { MetricSample } from '../../base/metrics.js';
import type { Settings } from '../../config/schema.js';
import type { ContextBase } from '../../control/kernel/context.js';
import { createIncomingCounts } from '../../transfer/in/metrics.js';
import type { RefreshParts } from '../../transfer/in/refresh.js';
import type { Vault } from '../../vault/vault.js';
import { readBundle } from './certificates.js';

export interface Incoming extends RefreshParts {
  samples(): MetricSample[];
}

/** Throws a UserError for unusable settings. */
export function createIncoming(settings: Settings, base: ContextBase, vault: Vault): Incoming {
  const counts = createIncomingCounts();
  return { base, vault, authorities: readBundle(settings.caBundle), counts, samples: () => counts.samples(base.store) };
}
