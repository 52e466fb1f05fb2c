/** The metrics of all edge processes together, and some of each. */
import type { MetricSample } from '../../base/metrics.js';

export interface MergedSamples {
  /** What a process (from 1 on) says of itself. */
  set(process: number, samples: readonly MetricSample[]): void;
  /** The process has ended: what it has counted stays counted, so that no sum ever shrinks. */
  end(process: number): void;
  samples(): MetricSample[];
}

/** Gauges of which the greatest counts; of all others, the sum. */
const GREATEST: ReadonlySet<string> = new Set(['edge_hosts', 'edge_behind', 'longest_turn_seconds']);

/** What is shown of each process, by its name there. */
const BY_PROCESS: Readonly<Record<string, string>> = {
  edge_requests_total: 'edge_process_requests_total',
  edge_connections: 'edge_process_connections',
  edge_resident_memory_bytes: 'edge_process_memory_bytes',
};
const HELP: Readonly<Record<string, string>> = {
  edge_process_requests_total: 'Requests answered, by edge process',
  edge_process_connections: 'Open connections of clients, by edge process',
  edge_process_memory_bytes: 'Memory, by edge process',
};

export function createMergedSamples(): MergedSamples {
  const running = new Map<number, readonly MetricSample[]>();
  /** What processes that have ended have counted, of each number. */
  const ended = new Map<number, readonly MetricSample[]>();
  const ofProcess = (number: number): MetricSample[] =>
    mergeSamples([...(ended.get(number) ?? []), ...(running.get(number) ?? [])]);
  return {
    set: (number, samples) => void running.set(number, samples),
    end(number) {
      ended.set(
        number,
        ofProcess(number).filter(({ type }) => type !== 'gauge'),
      );
      running.delete(number);
    },
    samples() {
      const numbers = [...new Set([...running.keys(), ...ended.keys()])];
      const each = numbers.map((number) => ({ number, samples: ofProcess(number) }));
      const processes: MetricSample = {
        ...{ name: 'edge_processes', type: 'gauge', help: 'Edge processes that run' },
        ...{ labels: {}, value: running.size },
      };
      return [
        ...mergeSamples(each.flatMap(({ samples }) => samples)),
        processes,
        ...each.flatMap(({ number, samples }) => mergeSamples(samples.flatMap((sample) => shown(number, sample)))),
      ];
    },
  };
}

function shown(process: number, { name, type, value }: MetricSample): MetricSample[] {
  const own = BY_PROCESS[name];
  return own === undefined ? [] : [{ name: own, type, help: HELP[own]!, labels: { process: String(process) }, value }];
}

/** Makes one of all samples of the same line. */
function mergeSamples(samples: readonly MetricSample[]): MetricSample[] {
  const lines = new Map<string, MetricSample>();
  for (const sample of samples) {
    const key = JSON.stringify([sample.name, sample.suffix, Object.entries(sample.labels).sort()]);
    const known = lines.get(key);
    lines.set(key, known ? { ...sample, value: together(known, sample) } : sample);
  }
  return [...lines.values()];
}

function together({ name, value }: MetricSample, other: MetricSample): number {
  return GREATEST.has(name) ? Math.max(value, other.value) : value + other.value;
}
