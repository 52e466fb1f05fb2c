/** How many probes there were, and what they found. */
import type { MetricSample } from '../base/metrics.js';
import type { ProbeResult } from './probes/result.js';

export interface ProbeCounts {
  transitions: number;
  /** Probes that were not made: no place was free in time, or the one before still ran. */
  skipped: number;
  count(type: string, result: ProbeResult): void;
  samples(states: Readonly<Record<'unknown' | 'healthy' | 'unhealthy', number>>): MetricSample[];
}

export function createProbeCounts(): ProbeCounts {
  const probes = new Map<string, number>();
  const failures = new Map<string, number>();
  const add = (counts: Map<string, number>, name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  return {
    transitions: 0,
    skipped: 0,
    count(type, { pass, reason }) {
      add(probes, type);
      if (!pass) add(failures, reason);
    },
    samples(states) {
      const counter = (name: string, help: string, labels: Record<string, string>, value: number): MetricSample => {
        return { name, type: 'counter', help, labels, value };
      };
      return [
        ...[...probes].map(([type, value]) => counter('probes_total', 'Probes of origins', { type }, value)),
        ...[...failures].map(([reason, value]) =>
          counter('probe_failures_total', 'Probes of origins that failed', { reason }, value),
        ),
        counter('probes_skipped_total', 'Probes of origins that were not made in time', {}, this.skipped),
        counter('probe_transitions_total', 'Origins that became healthy or unhealthy', {}, this.transitions),
        ...Object.entries(states).map(
          ([state, value]): MetricSample => ({
            name: 'probe_targets',
            type: 'gauge',
            help: 'What is probed, by its state',
            labels: { state },
            value,
          }),
        ),
      ];
    },
  };
}
