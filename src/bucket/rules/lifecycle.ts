/** Lifecycle rules of a bucket: when objects expire or get another class, and when uploads are given up. Pure. */
import { badRule, requireAge, requireCount, requireDate, requirePrefix, ruleName, timeOf } from './check.js';

export type LifecycleCondition =
  | { readonly type: 'Age'; readonly maxAge: number }
  | { readonly type: 'Date'; readonly date: string };

export interface LifecycleRule {
  readonly id: string;
  readonly enabled: boolean;
  readonly conditions: { readonly prefix: string };
  /** S3 set it with `Prefix` instead of `Filter`, and shows it like that. */
  readonly hasPlainPrefix?: true;
  readonly deleteObjectsTransition?: { readonly condition: LifecycleCondition } | undefined;
  readonly abortMultipartUploadsTransition?:
    | { readonly condition: { readonly type: 'Age'; readonly maxAge: number } }
    | undefined;
  readonly storageClassTransitions?:
    | readonly { readonly condition: LifecycleCondition; readonly storageClass: 'InfrequentAccess' }[]
    | undefined;
}

/** In seconds: a week. */
export const UPLOAD_AGE = 7 * 86_400;

/** What holds in a bucket for which nobody has set rules. */
export const DEFAULT_RULES: readonly LifecycleRule[] = [
  {
    id: 'Default Multipart Abort Rule',
    enabled: true,
    conditions: { prefix: '' },
    abortMultipartUploadsTransition: { condition: { type: 'Age', maxAge: UPLOAD_AGE } },
  },
];

const MOST_RULES = 1000;

export function checkLifecycleRules(rules: readonly LifecycleRule[]): void {
  requireCount(rules, MOST_RULES);
  for (const [index, rule] of rules.entries()) {
    const name = ruleName(rule.id, index);
    if (rule.id === '') throw badRule(`${name} has no ID`);
    requirePrefix(rule.conditions.prefix, name);
    const uploads = rule.abortMultipartUploadsTransition;
    const conditions = [
      rule.deleteObjectsTransition?.condition,
      ...(rule.storageClassTransitions ?? []).map(({ condition }) => condition),
    ].filter((condition) => condition !== undefined);
    if (!uploads && conditions.length === 0) throw badRule(`${name} does nothing`);
    if (uploads) requireAge(uploads.condition.maxAge, name);
    for (const condition of conditions) {
      if (condition.type === 'Age') requireAge(condition.maxAge, name);
      else requireDate(condition.date, name);
    }
  }
}

/** What all rules of one prefix come to; times in microseconds. */
interface Plan {
  readonly prefix: string;
  readonly expiry: Moments;
  readonly cooling: Moments;
  readonly uploadAge: number;
}

/** The earliest of both counts. */
interface Moments {
  age: number;
  ageRule: string;
  date: number;
  dateRule: string;
}

const never = (): Moments => ({
  ...{ age: Number.POSITIVE_INFINITY, ageRule: '' },
  ...{ date: Number.POSITIVE_INFINITY, dateRule: '' },
});

export interface LifecyclePlan {
  /** One for each prefix. */
  readonly plans: readonly Plan[];
  /** Beginnings of all keys that a rule may concern, in the order of their octets; none begins with another one. */
  readonly prefixes: readonly string[];
}

const planned = new WeakMap<readonly LifecycleRule[], LifecyclePlan>();

export function planOf(rules: readonly LifecycleRule[]): LifecyclePlan {
  const known = planned.get(rules);
  if (known) return known;
  const plans = new Map<string, { -readonly [Member in keyof Plan]: Plan[Member] }>();
  for (const rule of rules) {
    if (!rule.enabled) continue;
    const { prefix } = rule.conditions;
    const plan = plans.get(prefix) ?? {
      prefix,
      expiry: never(),
      cooling: never(),
      uploadAge: Number.POSITIVE_INFINITY,
    };
    plans.set(prefix, plan);
    if (rule.deleteObjectsTransition) bring(plan.expiry, rule.deleteObjectsTransition.condition, rule.id);
    for (const { condition } of rule.storageClassTransitions ?? []) bring(plan.cooling, condition, rule.id);
    const uploads = rule.abortMultipartUploadsTransition;
    if (uploads) plan.uploadAge = Math.min(plan.uploadAge, uploads.condition.maxAge * 1_000_000);
  }
  const concerned = [...plans.values()].filter(({ expiry, cooling }) => isEver(expiry) || isEver(cooling));
  const plan = { plans: [...plans.values()], prefixes: withoutInner(concerned.map(({ prefix }) => prefix)) };
  planned.set(rules, plan);
  return plan;
}

function bring(moments: Moments, condition: LifecycleCondition, rule: string): void {
  if (condition.type === 'Age') {
    const age = condition.maxAge * 1_000_000;
    if (age < moments.age) Object.assign(moments, { age, ageRule: rule });
  } else {
    const date = timeOf(condition.date);
    if (date < moments.date) Object.assign(moments, { date, dateRule: rule });
  }
}

const isEver = ({ age, date }: Moments): boolean => Math.min(age, date) < Number.POSITIVE_INFINITY;

function withoutInner(prefixes: readonly string[]): string[] {
  const sorted = [...prefixes].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const outer: string[] = [];
  for (const prefix of sorted) if (outer.length === 0 || !prefix.startsWith(outer.at(-1)!)) outer.push(prefix);
  return outer;
}

export interface Aged {
  readonly key: string;
  /** Microseconds since 1970. */
  readonly uploadedAt: number;
}

/** When an object expires, and by which rule; undefined when no rule says so. */
export function expiryOf(
  { plans }: LifecyclePlan,
  { key, uploadedAt }: Aged,
): { readonly at: number; readonly rule: string } | undefined {
  let [at, rule] = [Number.POSITIVE_INFINITY, ''];
  for (const { prefix, expiry } of plans) {
    if (!key.startsWith(prefix)) continue;
    if (uploadedAt + expiry.age < at) [at, rule] = [uploadedAt + expiry.age, expiry.ageRule];
    if (expiry.date < at) [at, rule] = [expiry.date, expiry.dateRule];
  }
  return at === Number.POSITIVE_INFINITY ? undefined : { at, rule };
}

/** When an object gets the class InfrequentAccess; infinite when never. */
export function coolingOf({ plans }: LifecyclePlan, { key, uploadedAt }: Aged): number {
  let at = Number.POSITIVE_INFINITY;
  for (const { prefix, cooling } of plans) {
    if (key.startsWith(prefix)) at = Math.min(at, uploadedAt + cooling.age, cooling.date);
  }
  return at;
}

/** The age at which an upload is given up: that of the default rule, unless a rule of the bucket has another one. */
export function uploadAgeOf({ plans }: LifecyclePlan, key: string): number {
  let age = Number.POSITIVE_INFINITY;
  for (const { prefix, uploadAge } of plans) if (key.startsWith(prefix)) age = Math.min(age, uploadAge);
  return age === Number.POSITIVE_INFINITY ? UPLOAD_AGE * 1_000_000 : age;
}
