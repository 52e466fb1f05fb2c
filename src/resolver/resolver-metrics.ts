/** Metrics of the resolver. */
import type { MetricSample } from '../base/metrics.js';
import type { UpstreamStatus } from './answer.js';

/**
 * How an outside answer was obtained: from the cache, by a query, by joining a running query, or refused because no
 * turn came.
 */
export type Acquisition = 'known' | 'asked' | 'joined' | 'refused';

export interface ResolverGauges {
  readonly known: number;
  readonly running: number;
  readonly waiting: number;
}

export interface ResolverMetrics {
  countAcquisition(acquisition: Acquisition): void;
  /** Counts an outside query that has ended. */
  countOutcome(status: UpstreamStatus): void;
  /** Counts a name that our own zones answered. */
  countOwn(): void;
  /** Sets the functions that read the gauges and the turns at questions. */
  observe(read: () => ResolverGauges, turns: () => readonly MetricSample[]): void;
  samples(): MetricSample[];
}

export function createResolverMetrics(): ResolverMetrics {
  const acquisitions: Record<Acquisition, number> = { known: 0, asked: 0, joined: 0, refused: 0 };
  const outcomes: Record<UpstreamStatus, number> = { ok: 0, nodata: 0, nxdomain: 0, servfail: 0, timeout: 0 };
  let own = 0;
  let read = (): ResolverGauges => ({ known: 0, running: 0, waiting: 0 });
  let turns = (): readonly MetricSample[] => [];
  return {
    countAcquisition(acquisition) {
      acquisitions[acquisition]++;
    },
    countOutcome(status) {
      outcomes[status]++;
    },
    countOwn() {
      own++;
    },
    observe(reader, turnReader) {
      read = reader;
      turns = turnReader;
    },
    samples() {
      const { known, running, waiting } = read();
      return [
        ...Object.entries(acquisitions).map(([how, value]) =>
          counter('resolver_lookups_total', 'Names looked up outside, by how the answer was obtained.', { how }, value),
        ),
        counter('resolver_own_total', 'Names looked up in our own zones.', {}, own),
        ...Object.entries(outcomes).map(([status, value]) =>
          counter('resolver_questions_total', 'Queries to outside resolvers, by outcome.', { status }, value),
        ),
        gauge('resolver_known_answers', 'Answers kept.', known),
        gauge('resolver_questions_running', 'Queries in progress.', running),
        gauge('resolver_questions_waiting', 'Queries waiting for their turn.', waiting),
        ...turns(),
      ];
    },
  };
}

function counter(name: string, help: string, labels: Record<string, string>, value: number): MetricSample {
  return { name, type: 'counter', help, labels, value };
}

function gauge(name: string, help: string, value: number): MetricSample {
  return { name, type: 'gauge', help, labels: {}, value };
}
