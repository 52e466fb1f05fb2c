/** Rules as an owner writes them become rules as they are stored: with identifiers, and versions that count changes. */
import { toHex } from '../../base/bytes.js';
import { makeId } from '../../base/random.js';
import { inSlices } from '../../base/slices.js';
import type { Phase } from '../../rulesets/phases.js';
import { readRule, type StoredRule, type WrittenRule } from '../../rulesets/rule.js';
import type { Context } from '../kernel/context.js';
import { checked, invalid } from './errors.js';
import { requireShort } from './write.js';

export interface RulesPlace {
  readonly phase: Phase;
  /** Microseconds since 1970. */
  readonly now: number;
}

/** Each rule as it was read, or a function that throws its fault; none after a fault was read. */
export type ReadAhead = readonly (() => WrittenRule)[];

/** Reads rules in slices, before the write: compiling hundreds of them takes longer than all else, and others would wait. */
export async function readAhead({ clock }: Context, phase: Phase, input: unknown): Promise<ReadAhead> {
  if (!Array.isArray(input)) return [];
  requireShort(input);
  return inSlices(clock, readEach(phase, input));
}

function* readEach(phase: Phase, input: readonly unknown[]): Generator<undefined, ReadAhead> {
  const read: (() => WrittenRule)[] = [];
  for (const one of input) {
    try {
      const rule = readRule(phase, one);
      read.push(() => rule);
    } catch (error) {
      read.push(() => {
        throw error;
      });
      break;
    }
    yield;
  }
  return read;
}

/** All rules of a set; those that name a rule of `before`, by identifier or reference, are that one. `ahead`: from {@link readAhead}. */
export function readRules(
  ctx: Context,
  place: RulesPlace,
  input: unknown,
  before: readonly StoredRule[],
  ahead: ReadAhead,
): StoredRule[] {
  if (!Array.isArray(input)) throw invalid('/rules', 'rules must be a list');
  requireShort(input);
  const rules: StoredRule[] = [];
  const taken = new Set<string>();
  for (const [i, one] of input.entries()) {
    const written = checked(`/rules/${i}`, ahead[i] ?? (() => readRule(place.phase, one)));
    const known = knownRule(written, before, `/rules/${i}`);
    const rule = storedRule(ctx, place, written, known && !taken.has(known.id) ? known : undefined);
    taken.add(rule.id);
    rules.push(rule);
  }
  requireOwnRefs(rules);
  return rules;
}

/** A rule with this identifier must be there; a reference may be new. */
function knownRule({ id, ref }: WrittenRule, before: readonly StoredRule[], at: string): StoredRule | undefined {
  if (id === undefined) return before.find((rule) => rule.ref === ref);
  const known = before.find((rule) => rule.id === id);
  if (!known) throw invalid(`${at}/id`, `the ruleset has no rule '${id.slice(0, 64)}'; a new rule must not have an id`);
  return known;
}

/** Throws when two rules have the same reference. `at`: JSON pointer to one rule instead of to the list. */
export function requireOwnRefs(rules: readonly StoredRule[], at?: string): void {
  const refs = new Set<string>();
  for (const [i, { ref }] of rules.entries()) {
    if (refs.has(ref))
      throw invalid(`${at ?? `/rules/${i}`}/ref`, `the ruleset has a rule with ref '${ref.slice(0, 64)}' already`);
    refs.add(ref);
  }
}

/** The rule as it was, when nothing of it changed. */
export function storedRule(
  { clock, random }: Context,
  { now }: RulesPlace,
  { id: _, ref, ...written }: WrittenRule,
  known: StoredRule | undefined,
): StoredRule {
  if (!known) {
    const id = toHex(makeId(clock.nowUs(), random));
    return { id, version: '1', ...written, ref: ref ?? id, last_updated: now };
  }
  const same = { id: known.id, ...written, ref: ref ?? known.ref };
  const { version, last_updated: _at, ...was } = known;
  if (sameMembers(same, was)) return known;
  return { ...same, version: String(Number(version) + 1), last_updated: now };
}

/** Whatever the order in which members were written. */
function sameMembers(a: unknown, b: unknown): boolean {
  return JSON.stringify(ordered(a)) === JSON.stringify(ordered(b));
}

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, member]) => [name, ordered(member)]),
  );
}
