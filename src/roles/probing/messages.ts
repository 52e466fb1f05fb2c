/** Messages between the admin process and the one that probes, over the IPC channel of a forked Node process. */
import type { MetricSample } from '../../base/metrics.js';
import type { Settings } from '../../config/schema.js';
import type { ProbingNode } from '../../monitoring/plan.js';
import type { LastResult, Transition } from '../../monitoring/prober.js';
import type { Target } from '../../monitoring/probes/probe.js';
import type { ProbeResult } from '../../monitoring/probes/result.js';

/** To the process that probes. */
export type ProbingOrder =
  | { readonly kind: 'start'; readonly settings: Settings; readonly node: ProbingNode }
  /** Something was committed. */
  | { readonly kind: 'look' }
  /** What was last found of a pool (store number)? */
  | { readonly kind: 'last'; readonly id: number; readonly pool: number }
  /** Probes once. */
  | { readonly kind: 'once'; readonly id: number; readonly targets: readonly Target[] };

/** From it. */
export type ProbingNotice =
  | { readonly kind: 'ready' }
  | { readonly kind: 'found'; readonly transitions: readonly Transition[] }
  | { readonly kind: 'last'; readonly id: number; readonly results: readonly LastResult[] }
  /** In the order of the targets. */
  | { readonly kind: 'once'; readonly id: number; readonly results: readonly ProbeResult[] }
  | { readonly kind: 'samples'; readonly samples: readonly MetricSample[] };
