/** Counts of checks and transfers from primaries. */
import type { MetricSample } from '../../base/metrics.js';
import { allConsumed } from '../../control/catalog-consumer/consumer.js';
import type { Store } from '../../store/driver.js';
import { allIncoming } from '../../store/secondary/incoming.js';
import { findZone } from '../../store/zones/zones.js';
import type { TransferFault } from './failure.js';
import type { TransferEnd } from './reading.js';

export interface IncomingCounts {
  /** Primaries that answered their SOA. */
  checks: number;
  transferred(kind: TransferEnd['kind'], records: number): void;
  failed(fault: TransferFault): void;
  samples(store: Store): MetricSample[];
}

export function createIncomingCounts(): IncomingCounts {
  const transfers = new Map<string, number>();
  const failures = new Map<string, number>();
  let records = 0;
  return {
    checks: 0,
    transferred(kind, more) {
      transfers.set(kind, (transfers.get(kind) ?? 0) + 1);
      records += more;
    },
    failed: (fault) => void failures.set(fault, (failures.get(fault) ?? 0) + 1),
    samples(store) {
      const sample = (name: string, help: string, value: number, labels = {}): MetricSample => {
        return { name, type: name.endsWith('_total') ? 'counter' : 'gauge', help, labels, value };
      };
      const states = new Map<string, number>(['current', 'failing', 'expired', 'waiting'].map((state) => [state, 0]));
      for (const { zone, serial, error } of allIncoming(store)) {
        const isExpired = findZone(store, zone)?.expired === 1;
        const state = serial === null ? 'waiting' : isExpired ? 'expired' : error === null ? 'current' : 'failing';
        states.set(state, states.get(state)! + 1);
      }
      return [
        ...[...states].map(([state, value]) =>
          sample('secondary_zones', 'Zones that have primaries', value, { state }),
        ),
        ...catalogSamples(store, sample),
        sample('incoming_checks_total', 'Answers of primaries to questions for their SOA', this.checks),
        ...[...transfers].map(([kind, value]) =>
          sample('incoming_transfers_total', 'Transfers from primaries that ended well', value, { kind }),
        ),
        ...[...failures].map(([fault, value]) =>
          sample('incoming_failures_total', 'Primaries that could not be used', value, { fault }),
        ),
        sample('incoming_records_total', 'Records in transfers from primaries', records),
      ];
    },
  };
}

type Sample = (name: string, help: string, value: number, labels?: Readonly<Record<string, string>>) => MetricSample;

/** Catalogs of other servers, and the zones in them. */
function catalogSamples(store: Store, sample: Sample): MetricSample[] {
  const all = allConsumed(store);
  const states = ['current', 'waiting', 'broken', 'held'] as const;
  const sum = (of: 'zones' | 'problems' | 'held' | 'removed'): number =>
    all.reduce((total, item) => total + item[of], 0);
  return [
    ...states.map((state) =>
      sample('consumed_catalogs', 'Catalog zones of other servers', all.filter((item) => item.state === state).length, {
        state,
      }),
    ),
    ...(['zones', 'problems', 'held', 'removed'] as const).map((state) =>
      sample('consumed_catalog_members', 'Members of catalog zones of other servers', sum(state), { state }),
    ),
  ];
}
