/** Reports of what a zone was asked: counts by dimensions and intervals, from stored rows and from what is not stored yet. */
import { RCODE_MNEMONICS } from '../dns/codes.js';
import { typeMnemonic } from '../dns/rr/registry.js';
import type { Store } from '../store/driver.js';
import { queriesBetween } from '../store/zones/queries.js';
import { type Detail, factsOf, type Pending, partsOf, readDetail } from './detail.js';

/** What is counted by name, and what by network. Values are texts; an empty one is not known, or too rare. */
export const NAME_DIMENSIONS = ['queryName', 'queryType', 'responseCode', 'tcp', 'ipVersion', 'protocol'] as const;
export const NETWORK_DIMENSION = 'sourceNetwork';
export const COMMON_DIMENSIONS = ['responseCached', 'dayOfWeek'] as const;
export const DIMENSIONS = [...NAME_DIMENSIONS, NETWORK_DIMENSION, ...COMMON_DIMENSIONS] as const;
export type Dimension = (typeof DIMENSIONS)[number];

export type Values = Readonly<Partial<Record<Dimension, string>>>;

export interface Asked {
  readonly dimensions: readonly Dimension[];
  /** Whether names or networks are counted. */
  readonly kind: 'names' | 'networks';
  /** Seconds of the rows that are read; `since` and `until` are whole spans. */
  readonly span: number;
  readonly since: number;
  readonly until: number;
  readonly isWanted: (values: Values) => boolean;
  /** The number of the interval of a time; 0 where there is one. */
  readonly intervalOf: (seconds: number) => number;
  readonly intervals: number;
}

export interface Group {
  readonly values: readonly string[];
  /** For each interval. */
  readonly counts: number[];
}

const PROTOCOLS = ['UDP', 'TCP', 'DoT', 'DoH'];

/** One group for each combination of values that was counted. */
export function groupQueries(store: Store, zone: number, pending: readonly Pending[], asked: Asked): Group[] {
  const { dimensions, kind, span, since, until, isWanted, intervalOf, intervals } = asked;
  const groups = new Map<string, Group>();
  const add = (begins: number, detail: Detail): void => {
    const common = { responseCached: 'Uncached', dayOfWeek: String(new Date(begins * 1000).getUTCDay() || 7) };
    let left = detail.total;
    const count = (values: Values, queries: number): void => {
      if (queries <= 0 || !isWanted(values)) return;
      const group = dimensions.map((dimension) => values[dimension] ?? '');
      const key = JSON.stringify(group);
      const known = groups.get(key) ?? { values: group, counts: new Array<number>(intervals).fill(0) };
      groups.set(key, known);
      known.counts[intervalOf(begins)]! += queries;
    };
    for (const [key, queries] of detail[kind]) {
      left -= queries;
      count({ ...common, ...(kind === 'names' ? valuesOf(key) : { [NETWORK_DIMENSION]: key }) }, queries);
    }
    count(common, left);
  };
  for (const { begins, total, detail } of queriesBetween(store, zone, span, since, until)) {
    add(begins, readDetail(total, detail));
  }
  for (const { begins, detail } of pending) {
    const at = Math.floor(begins / span) * span;
    if (at >= since && at < until) add(at, detail);
  }
  return [...groups.values()];
}

function valuesOf(key: string): Values {
  const { name, facts } = partsOf(key);
  const { type, rcode, transport, isIPv6 } = factsOf(facts);
  return {
    queryName: name,
    queryType: type === 0 ? '' : typeMnemonic(type),
    responseCode: RCODE_MNEMONICS[rcode] ?? `RCODE${rcode}`,
    tcp: transport === 0 ? '0' : '1',
    ipVersion: isIPv6 ? '6' : '4',
    protocol: PROTOCOLS[transport]!,
  };
}

/** Whole spans that contain a time. */
export function wholeSpans(since: number, until: number, span: number): readonly [since: number, until: number] {
  return [Math.floor(since / span) * span, Math.ceil(until / span) * span];
}
