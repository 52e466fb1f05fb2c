/** The sweep by lifecycle rules: a few objects in a write, each looked at again in it, by the rules that hold then. */
import { type EntryRow, entriesFrom, findObject, type ObjectRow, setObjectClass } from '../../store/objects/objects.js';
import { rulesOfBucket } from '../../store/objects/rules.js';
import type { BeforeWrite, SweepPosition } from '../object-store.js';
import { type LocalStore, publish } from '../publish.js';
import { giveUpSome } from '../uploads/local-uploads.js';
import { coolingOf, expiryOf, type LifecyclePlan, type LifecycleRule, planOf, uploadAgeOf } from './lifecycle.js';
import { isLocked } from './locks.js';

/** Objects that are read at once, and comparisons of their keys with prefixes. */
const MOST_READ = 500;
const MOST_COMPARED = 50_000;
/** Objects that are changed in one write, and their parts, of which each is a row. */
const MOST_CHANGED = 100;
const MOST_PARTS = 1000;

/** Undefined at the end, and when there are no rules any more. */
export async function sweepByRules(
  local: LocalStore,
  bucket: number,
  position: SweepPosition | undefined,
  beforeWrite: BeforeWrite,
): Promise<SweepPosition | undefined> {
  const { store, clock } = local;
  const rules = rulesOfBucket<LifecycleRule>(store, bucket, 'lifecycle');
  if (!rules) return undefined;
  const from: SweepPosition =
    position?.rules === rules ? position : { rules, stage: 'uploads', after: undefined, done: position?.done ?? 0 };
  const plan = planOf(rules);
  if (from.stage === 'uploads') {
    const nowUs = clock.nowUs();
    const isOld = ({ key, started_at }: { readonly key: string; readonly started_at: number }): boolean =>
      started_at + uploadAgeOf(plan, key) <= nowUs;
    const given = await giveUpSome(local, bucket, isOld, beforeWrite);
    return given > 0 ? { ...from, done: from.done + given } : { ...from, stage: 'objects' };
  }
  const limit = Math.max(MOST_CHANGED, Math.min(MOST_READ, Math.floor(MOST_COMPARED / Math.max(1, plan.plans.length))));
  const page = nextPage(local, bucket, plan, from.after, limit);
  if (!page) return undefined;
  const due = page.rows.filter((row) => dueOf(plan, row, clock.nowUs()) !== undefined);
  const chosen = firstOf(due);
  const last = chosen.length < due.length ? chosen.at(-1)!.key : page.last;
  if (chosen.length === 0) return { ...from, after: last };
  const changed = await publish(local, (discard) => {
    beforeWrite();
    const now = rulesOfBucket<LifecycleRule>(store, bucket, 'lifecycle');
    if (!now) return 0;
    let count = 0;
    for (const { key } of chosen) {
      const row = findObject(store, bucket, key);
      const nowUs = clock.nowUs();
      const what = row && dueOf(planOf(now), row, nowUs);
      if (!row || what === undefined || (what === 'expiry' && isLocked(store, row, nowUs))) continue;
      if (what === 'expiry') discard.object(row);
      else setObjectClass(store, row.seq, 'InfrequentAccess');
      count++;
    }
    return count;
  });
  return { ...from, after: last, done: from.done + changed };
}

/** As many as one write changes, and at least one. */
function firstOf(due: readonly EntryRow[]): readonly EntryRow[] {
  let parts = 0;
  const end = due.findIndex((row, i) => {
    parts += row.parts ?? 1;
    return i > 0 && (i >= MOST_CHANGED || parts > MOST_PARTS);
  });
  return end < 0 ? due : due.slice(0, end);
}

function dueOf(
  plan: LifecyclePlan,
  row: Pick<ObjectRow, 'key' | 'uploaded_at' | 'storage_class'>,
  nowUs: number,
): 'expiry' | 'cooling' | undefined {
  const aged = { key: row.key, uploadedAt: row.uploaded_at };
  const expiry = expiryOf(plan, aged);
  if (expiry && expiry.at <= nowUs) return 'expiry';
  return row.storage_class === 'Standard' && coolingOf(plan, aged) <= nowUs ? 'cooling' : undefined;
}

/** The next objects that a rule may concern; undefined when there are none behind `after`. */
function nextPage(
  { store }: LocalStore,
  bucket: number,
  { prefixes }: LifecyclePlan,
  after: string | undefined,
  limit: number,
): { readonly rows: readonly EntryRow[]; readonly last: string } | undefined {
  for (const prefix of prefixes) {
    const isInside = after?.startsWith(prefix) === true;
    if (after !== undefined && !isInside && compare(prefix, after) < 0) continue;
    const read = entriesFrom(store, bucket, isInside ? after! : prefix, limit);
    const rows = read.filter(({ key }) => key.startsWith(prefix) && key !== after);
    if (rows.length > 0) return { rows, last: rows.at(-1)!.key };
  }
  return undefined;
}

function compare(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
