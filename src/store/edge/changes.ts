/** Changes for edge processes that are not in the change log: hostnames, certificates, settings outside DNS. */

import { allRows, valueOrZero } from '../columns.js';
import { perStore, type Store } from '../driver.js';

export interface EdgeChangeRow {
  readonly seq: number;
  /** `subject`: a host name, a zone's store number, or `kind:id` of a certificate's owner. */
  readonly kind: 'hostname' | 'zone' | 'certificate';
  readonly subject: string;
}

/** What a change is about. */
export type EdgeSubject = Pick<EdgeChangeRow, 'kind' | 'subject'>;

const statements = perStore((store) => ({
  lastOf: store.prepareTuples<[kind: string, subject: string], [number | null]>(
    'SELECT max(seq) FROM edge_changes WHERE kind = ? AND subject = ?',
  ),
  needed: store.prepareTuples<[], [number]>(
    `SELECT EXISTS (SELECT 1 FROM records WHERE proxied = 1) OR EXISTS (SELECT 1 FROM custom_hostnames)
       OR EXISTS (SELECT 1 FROM load_balancers WHERE proxied = 1)`,
  ),
}));

/** In order, no more than `limit`. */
export const edgeChangesAfter = allRows<[seq: number, limit: number], EdgeChangeRow>(
  'SELECT * FROM edge_changes WHERE seq > ? ORDER BY seq LIMIT ?',
);

/** Number of the newest; 0 when there is none. */
export const lastEdgeChange = valueOrZero<[]>('SELECT max(seq) FROM edge_changes');

/** Number of the newest about a subject; 0 when there is none, or it is no longer kept. */
export function lastEdgeChangeOf(store: Store, { kind, subject }: EdgeSubject): number {
  return statements(store).lastOf.get(kind, subject)?.[0] ?? 0;
}

/** At least this many changes are kept. A process that is further behind forgets everything. */
export const KEPT_EDGE_CHANGES = 50_000;

/** Whether any name could lead to an edge: something is proxied, or a custom hostname exists. */
export function isEdgeNeeded(store: Store): boolean {
  return statements(store).needed.get()![0] === 1;
}
