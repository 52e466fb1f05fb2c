/** Rules of buckets, as JSON lists. Each set is read once and kept until it changes. */

import { toHex } from '../../base/bytes.js';
import { changes, runs, valueIfAny } from '../columns.js';
import { perStore, type Store } from '../driver.js';
import { keptPerState } from '../state/kept.js';

export const RULE_KINDS = ['cors', 'lifecycle', 'lock'] as const;
export type RuleKind = (typeof RULE_KINDS)[number];

interface RuleRow {
  readonly rules: string;
  /** Differs after every change. */
  readonly revision: string;
}

/** Sets that are kept: each has up to 256 KiB. */
const MOST_KEPT = 200;

interface Kept {
  readonly revision: string;
  readonly rules: readonly unknown[];
}

const statements = perStore((store) => ({
  revision: store.prepareTuples<[bucket: number, kind: string], [revision: string]>(
    'SELECT revision FROM bucket_rules WHERE bucket = ? AND kind = ?',
  ),
  find: store.prepare<[bucket: number, kind: string], RuleRow>(
    'SELECT rules, revision FROM bucket_rules WHERE bucket = ? AND kind = ?',
  ),
  corsOfName: store.prepareTuples<
    [name: string, account: Uint8Array | null, account: Uint8Array | null, limit: number],
    [bucket: number]
  >(
    `SELECT buckets.seq FROM buckets JOIN bucket_rules ON bucket = buckets.seq AND kind = 'cors'
     WHERE name = ? AND jurisdiction = 'default'
       AND (? IS NULL OR account = (SELECT seq FROM accounts WHERE id = ?))
     ORDER BY buckets.seq LIMIT ?`,
  ),
  put: store.prepare<[bucket: number, kind: string, rules: string, revision: string, at: number]>(
    `INSERT INTO bucket_rules (bucket, kind, rules, revision, changed_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (bucket, kind) DO UPDATE SET rules = excluded.rules, revision = excluded.revision,
       changed_at = excluded.changed_at, swept_at = NULL`,
  ),
  setSwept: store.prepare<[at: number, bucket: number]>(
    "UPDATE bucket_rules SET swept_at = ? WHERE bucket = ? AND kind = 'lifecycle'",
  ),
}));

const kept = perStore((): Map<string, Kept> => new Map());

/** By state of the database, as long as nobody commits; undefined: there is no set. */
const revisions = keptPerState<{ readonly revision: string | undefined }>(1000);
const corsOfNames = keptPerState<readonly number[]>(1000);

/** The rules of a bucket (store number), the same list until they change; undefined when none were set. */
export function rulesOfBucket<Rule>(store: Store, bucket: number, kind: RuleKind): readonly Rule[] | undefined {
  const { revision, find } = statements(store);
  const place = `${bucket} ${kind}`;
  const { revision: current } = revisions(store, place, () => ({ revision: revision.get(bucket, kind)?.[0] }));
  if (current === undefined) return undefined;
  const all = kept(store);
  const known = all.get(place);
  if (known?.revision === current) return known.rules as readonly Rule[];
  const row = find.get(bucket, kind)!;
  const rules = JSON.parse(row.rules) as Rule[];
  all.delete(place);
  if (all.size >= MOST_KEPT) all.delete(all.keys().next().value!);
  all.set(place, { revision: row.revision, rules });
  return rules;
}

/**
 * Buckets (store numbers) with CORS rules that have this name in the default jurisdiction, in an account (identifier) or in any of them.
 */
export function bucketsWithCors(
  store: Store,
  name: string,
  account: Uint8Array | undefined,
  limit: number,
): readonly number[] {
  const place = `${limit} ${account ? toHex(account) : ''} ${name}`;
  return corsOfNames(store, place, () =>
    statements(store)
      .corsOfName.all(name, account ?? null, account ?? null, limit)
      .map(([bucket]) => bucket),
  );
}

/** `revision`: one that no set had before. */
export function putBucketRules(
  store: Store,
  bucket: number,
  kind: RuleKind,
  { rules, revision, at }: { readonly rules: string; readonly revision: string; readonly at: number },
): void {
  statements(store).put.run(bucket, kind, rules, revision, at);
}

export const removeBucketRules = runs<[bucket: number, kind: RuleKind]>(
  'DELETE FROM bucket_rules WHERE bucket = ? AND kind = ?',
);

/** When the sweep last looked at a bucket with lifecycle rules, in microseconds since 1970; null: not since they were set. */
export const lastSweepOf = valueIfAny<[bucket: number], number | null>(
  "SELECT swept_at FROM bucket_rules WHERE bucket = ? AND kind = 'lifecycle'",
);

export function setLastSweep(store: Store, bucket: number, at: number): void {
  statements(store).setSwept.run(at, bucket);
}

/** As if all lifecycle rules had just been set. Returns how many buckets have some. */
export const forgetSweeps = changes<[]>("UPDATE bucket_rules SET swept_at = NULL WHERE kind = 'lifecycle'");
