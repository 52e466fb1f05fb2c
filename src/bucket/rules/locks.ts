/**
 * Locks of a bucket: which objects can be neither deleted nor replaced. The one rule, which every write asks that removes an object
 * (publish.ts), when it commits. What any rule locks is locked.
 */
import type { Store } from '../../store/driver.js';
import { rulesOfBucket } from '../../store/objects/rules.js';
import { objectFailure } from '../errors.js';
import { badRule, requireAge, requireCount, requireDate, requirePrefix, ruleName, timeOf } from './check.js';

export interface LockRule {
  readonly id: string;
  readonly enabled: boolean;
  /** Of the keys; absent: all of them. */
  readonly prefix?: string | undefined;
  readonly condition:
    | { readonly type: 'Age'; readonly maxAgeSeconds: number }
    | { readonly type: 'Date'; readonly date: string }
    | { readonly type: 'Indefinite' };
}

export interface LockedObject {
  readonly bucket: number;
  readonly key: string;
  /** Microseconds since 1970. */
  readonly uploaded_at: number;
}

const MOST_RULES = 1000;

export function checkLockRules(rules: readonly LockRule[]): void {
  requireCount(rules, MOST_RULES);
  for (const [index, { id, prefix = '', condition }] of rules.entries()) {
    const name = ruleName(id, index);
    if (id === '') throw badRule(`${name} has no ID`);
    requirePrefix(prefix, name);
    if (condition.type === 'Age') requireAge(condition.maxAgeSeconds, name);
    if (condition.type === 'Date') requireDate(condition.date, name);
  }
}

/** What all rules of one prefix come to: times in microseconds; infinite for ever. */
interface Plan {
  readonly prefix: string;
  readonly age: number;
  readonly date: number;
}

const planned = new WeakMap<readonly LockRule[], readonly Plan[]>();

function plansOf(rules: readonly LockRule[]): readonly Plan[] {
  const known = planned.get(rules);
  if (known) return known;
  const plans = new Map<string, Plan>();
  for (const { enabled, prefix = '', condition } of rules) {
    if (!enabled) continue;
    const { age, date } = plans.get(prefix) ?? { age: 0, date: 0 };
    const until =
      condition.type === 'Date'
        ? { age, date: Math.max(date, timeOf(condition.date)) }
        : { date, age: Math.max(age, condition.type === 'Age' ? condition.maxAgeSeconds * 1_000_000 : Infinity) };
    plans.set(prefix, { prefix, ...until });
  }
  const made = [...plans.values()];
  planned.set(rules, made);
  return made;
}

export function isLocked(store: Store, { bucket, key, uploaded_at }: LockedObject, nowUs: number): boolean {
  const rules = rulesOfBucket<LockRule>(store, bucket, 'lock');
  if (!rules) return false;
  return plansOf(rules).some(
    ({ prefix, age, date }) => (nowUs < uploaded_at + age || nowUs < date) && key.startsWith(prefix),
  );
}

/** Throws 403. */
export function requireUnlocked(store: Store, object: LockedObject | undefined, nowUs: number): void {
  if (object && isLocked(store, object, nowUs)) throw objectFailure('locked');
}
