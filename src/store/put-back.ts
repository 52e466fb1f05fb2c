/**
 * The clock was put back, while the program ran or between two starts. Times in rows are not trusted then: what is measured from a
 * moment that lies in the future is measured from now on, and what is due at the end of an interval is due at the end of that interval.
 * Jobs have their own rule (jobs.ts), and so has what was signed (`newest_inception`, `not_before`).
 */
import { perStore, type Store } from './driver.js';

interface Since {
  readonly table: string;
  /** The column with the moment; microseconds since 1970, or milliseconds. */
  readonly column: string;
  readonly unit?: 'ms';
  /** Columns with moments that keep their distance from it. */
  readonly moved?: readonly string[];
  readonly where?: string;
}

const SINCE: readonly Since[] = [
  { table: 'sessions', column: 'created_at', moved: ['expires_at'] },
  { table: 'sessions', column: 'last_used_at' },
  { table: 'api_keys', column: 'last_used_at' },
  { table: 'invitations', column: 'invited_at', moved: ['expires_at'] },
  { table: 'zones', column: 'proof_lost_at' },
  { table: 'zone_settings', column: 'modified_at', where: "name = 'development_mode'" },
  { table: 'scans', column: 'began_at', unit: 'ms' },
  { table: 'record_sets', column: 'written_at' },
  { table: 'blob_garbage', column: 'noted_at' },
  { table: 'uploads', column: 'started_at' },
  { table: 'uploads', column: 'completed_at' },
  { table: 'bucket_rules', column: 'swept_at' },
  { table: 'open_conditions', column: 'since' },
  { table: 'held_balancers', column: 'tried_at', unit: 'ms', moved: ['again_at'] },
  { table: 'origin_states', column: 'changed_at' },
  { table: 'origin_states', column: 'confirmed_at' },
  { table: 'dnssec_zones', column: 'walked_at' },
  { table: 'dnssec_zones', column: 'ds_seen_at' },
  { table: 'dnssec_keys', column: 'state_at' },
  { table: 'dnssec_keys', column: 'until' },
  { table: 'dnssec_parents', column: 'since' },
  { table: 'dnssec_parents', column: 'checked_at' },
  { table: 'zone_outgoing', column: 'checked_at' },
  { table: 'zone_outgoing', column: 'transferred_at' },
  { table: 'zone_peers', column: 'seen_at' },
  { table: 'zone_incoming', column: 'checked_at', moved: ['expires_at', 'next_at'] },
  { table: 'zone_incoming', column: 'transferred_at' },
  { table: 'zone_primaries', column: 'seen_at' },
  { table: 'catalog_members', column: 'moved_at' },
  { table: 'removed_zones', column: 'removed_at', moved: ['kept_until'] },
  { table: 'custom_hostnames', column: 'moved_at' },
  { table: 'custom_hostnames', column: 'pointed_at' },
  { table: 'custom_hostnames', column: 'elsewhere_ms', unit: 'ms' },
  { table: 'certificate_requests', column: 'started_at', unit: 'ms' },
  { table: 'certificate_requests', column: 'dropped_at', unit: 'ms' },
  { table: 'certificate_orders', column: 'created_at', unit: 'ms' },
];

/** Of failed targets, the moment of the last attempt is not known, but no wait is longer; milliseconds. */
const LONGEST_RETRY_MS = 450_000;

const TARGETS = `UPDATE flatten_targets SET expires_at = expires_at - (resolved_at - ?), resolved_at = ?,
    refresh_at = CASE WHEN refresh_at > 0 THEN max(1, refresh_at - (resolved_at - ?) / 1000) ELSE refresh_at END
  WHERE resolved_at > ?`;
const FAILED_TARGETS = 'UPDATE flatten_targets SET refresh_at = ? WHERE failures > 0 AND refresh_at > ?';
const REMOVALS = 'UPDATE dnssec_parents SET remove_at = ? + ttl * 1000000 WHERE remove_at > ? + ttl * 1000000';

function sinceNow({ table, column, moved = [], where = 'true' }: Since): string {
  const set = moved.map((name) => `${name} = ${name} - (${column} - ?), `).join('');
  return `UPDATE ${table} SET ${set}${column} = ? WHERE ${column} > ? AND ${where}`;
}

const statements = perStore((store) => ({
  since: SINCE.map((since) => ({ ...since, update: store.prepare<number[]>(sinceNow(since)) })),
  targets: store.prepare<number[]>(TARGETS),
  failedTargets: store.prepare<[atMs: number, atMs: number]>(FAILED_TARGETS),
  removals: store.prepare<[nowUs: number, nowUs: number]>(REMOVALS),
}));

/** Brings such times back to now (`nowMs`: since 1970) if they are later by more than `toleranceMs`. Inside a write. */
export function boundTimes(store: Store, nowMs: number, toleranceMs: number): void {
  const nowUs = nowMs * 1000;
  const { since, targets, failedTargets, removals } = statements(store);
  for (const { update, unit, moved = [] } of since) {
    const perMs = unit === 'ms' ? 1 : 1000;
    update.run(...new Array<number>(moved.length + 1).fill(nowMs * perMs), (nowMs + toleranceMs) * perMs);
  }
  targets.run(nowUs, nowUs, nowUs, nowUs + toleranceMs * 1000);
  failedTargets.run(nowMs + LONGEST_RETRY_MS, nowMs + LONGEST_RETRY_MS);
  removals.run(nowUs, nowUs);
}
