/** Page rules (v4): a pattern of URLs, and where matching requests lead, or settings that hold for them instead of the zone's. */

import { FaultFound } from '../expressions/limits.js';
import {
  fillTemplate,
  type Parts,
  type Template,
  templateOf,
  wildcardCaptures,
  wildcardParts,
} from '../expressions/wildcards.js';
import { withinWork } from '../expressions/work.js';
import { type Members, objectOf, RuleFault } from './fault.js';
import { faultOfTarget } from './parameters.js';
import type { Subject } from './subject.js';
import { safeLocation } from './urls.js';

/** A page rule as it is stored and shown. Times are microseconds since 1970. */
export interface StoredPageRule extends WrittenPageRule {
  readonly id: string;
  readonly created_on: number;
  readonly modified_on: number;
}

/** What the owner of a page rule wrote, checked. */
export interface WrittenPageRule {
  readonly targets: readonly [PageTarget];
  readonly actions: readonly PageAction[];
  readonly priority: number;
  readonly status: 'active' | 'disabled';
}

interface PageTarget {
  readonly target: 'url';
  readonly constraint: { readonly operator: 'matches'; readonly value: string };
}

type PageAction =
  | { readonly id: 'forwarding_url'; readonly value: Forwarding }
  | { readonly id: string; readonly value?: unknown };

interface Forwarding {
  readonly url: string;
  readonly status_code: 301 | 302;
}

/** Settings that a page rule can replace. */
const SETTINGS: readonly string[] = ['always_use_https', 'browser_cache_ttl', 'cache_level', 'ssl'];

/** As the vendor has them. */
const MOST_STARS = 4;
const LONGEST_PATTERN = 1024;
const HIGHEST_PRIORITY = 1_000_000;
const MEMBERS = ['targets', 'actions', 'priority', 'status', 'id', 'created_on', 'modified_on'];

/** Checks the value of a setting; undefined: it has no such value. */
export type ReadSetting = (name: string, value: unknown) => unknown;

/** Throws {@link RuleFault} for what is not understood. `priority`: unless it says one. */
export function readPageRule(input: unknown, priority: number, readSetting: ReadSetting): WrittenPageRule {
  const members = objectOf(input, '', MEMBERS);
  const { status = 'disabled', priority: own = priority } = members;
  if (status !== 'active' && status !== 'disabled') throw new RuleFault('/status', 'status must be active or disabled');
  if (!Number.isInteger(own) || (own as number) < 1 || (own as number) > HIGHEST_PRIORITY) {
    throw new RuleFault('/priority', `priority must be a number from 1 to ${HIGHEST_PRIORITY}`);
  }
  const target = readTarget(members);
  const actions = readActions(members, patternOf(target.constraint.value).parts.length - 1, readSetting);
  return { targets: [target], actions, priority: own as number, status };
}

function readTarget({ targets }: Members): PageTarget {
  const [first, ...others] = Array.isArray(targets) ? (targets as unknown[]) : [];
  if (first === undefined || others.length > 0) throw new RuleFault('/targets', 'targets must have one target');
  const { target, constraint } = objectOf(first, '/targets/0', ['target', 'constraint']);
  if (target !== 'url') throw new RuleFault('/targets/0/target', 'target must be url');
  const at = '/targets/0/constraint';
  const { operator, value } = objectOf(constraint, at, ['operator', 'value']);
  if (operator !== 'matches') throw new RuleFault(`${at}/operator`, 'operator must be matches');
  if (typeof value !== 'string' || value === '' || value.length > LONGEST_PATTERN || /[^\x21-\x7e]/.test(value)) {
    throw new RuleFault(`${at}/value`, `value must be a pattern of at most ${LONGEST_PATTERN} characters of ASCII`);
  }
  return { target, constraint: { operator, value } };
}

function readActions({ actions }: Members, stars: number, readSetting: ReadSetting): readonly PageAction[] {
  if (!Array.isArray(actions) || actions.length === 0)
    throw new RuleFault('/actions', 'actions must have one action or more');
  const read = actions.map((one: unknown, i) => readAction(one, `/actions/${i}`, stars, readSetting));
  const ids = new Set(read.map(({ id }) => id));
  if (ids.size < read.length) throw new RuleFault('/actions', 'each action may be there only once');
  if (ids.has('forwarding_url') && ids.size > 1) {
    throw new RuleFault(
      '/actions',
      'forwarding_url must be the only action: nothing else happens to what is forwarded',
    );
  }
  return read;
}

function readAction(input: unknown, at: string, stars: number, readSetting: ReadSetting): PageAction {
  const { id, value } = objectOf(input, at, ['id', 'value']);
  if (id === 'forwarding_url') return { id, value: readForwarding(value, `${at}/value`, stars) };
  if (typeof id !== 'string' || !SETTINGS.includes(id)) {
    throw new RuleFault(`${at}/id`, `the action '${String(id).slice(0, 64)}' is not part of this service`);
  }
  // It has no value at the vendor.
  if (id === 'always_use_https' && (value === undefined || value === null)) return { id };
  const known = readSetting(id, value);
  if (known === undefined) throw new RuleFault(`${at}/value`, `it is not a value of ${id}`);
  return { id, value: known };
}

function readForwarding(input: unknown, at: string, stars: number): Forwarding {
  const { url, status_code: status } = objectOf(input, at, ['url', 'status_code']);
  if (status !== 301 && status !== 302) throw new RuleFault(`${at}/status_code`, 'status_code must be 301 or 302');
  if (typeof url !== 'string') throw new RuleFault(`${at}/url`, 'url must be a text');
  const fault = faultOfTarget(url.replace(/\$\d/g, 'x'), false);
  if (fault) throw new RuleFault(`${at}/url`, fault);
  orFault(`${at}/url`, () => templateOf(url, stars, 0, true));
  return { url, status_code: status };
}

function orFault<Made>(at: string, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (error instanceof FaultFound) throw new RuleFault(at, error.fault.message);
    throw error;
  }
}

interface Pattern {
  readonly parts: Parts;
  /** Whether it says the scheme. */
  readonly hasScheme: boolean;
}

/** A pattern without a path is that of the path `/`; hosts have no cases. */
function patternOf(value: string): Pattern {
  const [, scheme = '', rest = ''] = /^(https?:\/\/)?(.*)$/i.exec(value)!;
  const slash = rest.indexOf('/');
  const [host, path] = slash < 0 ? [rest, '/'] : [rest.slice(0, slash), rest.slice(slash)];
  const whole = `${scheme.toLowerCase()}${host.toLowerCase()}${path}`;
  const at = '/targets/0/constraint/value';
  const parts = orFault(at, () => wildcardParts(whole.replaceAll('\\', '\\\\'), 0));
  if (parts.length > MOST_STARS + 1) throw new RuleFault(at, `a pattern may have at most ${MOST_STARS} stars`);
  return { parts, hasScheme: scheme !== '' };
}

export interface CompiledPageRule {
  readonly id: string;
  readonly pattern: Pattern;
  readonly forward: { readonly template: Template; readonly status: number } | undefined;
  /** By name. */
  readonly settings: Readonly<Record<string, unknown>>;
}

/** In the order in which they are looked at. */
export function inOrder(rules: readonly StoredPageRule[]): StoredPageRule[] {
  return rules.toSorted((a, b) => b.priority - a.priority || b.modified_on - a.modified_on);
}

/** The active ones; the first that matches counts. Those that this program does not understand are left out. */
export function compilePageRules(rules: readonly StoredPageRule[]): readonly CompiledPageRule[] {
  return inOrder(rules).flatMap((rule) => {
    if (rule.status !== 'active') return [];
    try {
      return [compilePageRule(rule)];
    } catch (error) {
      if (error instanceof RuleFault) return [];
      throw error;
    }
  });
}

/** The values of settings were checked when the rule was stored. */
const asStored: ReadSetting = (_, value) => value;

function compilePageRule({ id, targets, actions: stored }: StoredPageRule): CompiledPageRule {
  const pattern = patternOf(readTarget({ targets }).constraint.value);
  const stars = pattern.parts.length - 1;
  const actions = readActions({ actions: stored }, stars, asStored);
  const forwarding = actions.find((action) => action.id === 'forwarding_url')?.value as Forwarding | undefined;
  const settings = actions.filter((action) => action.id !== 'forwarding_url');
  return {
    ...{ id, pattern },
    forward: forwarding && {
      template: templateOf(forwarding.url, stars, 0, true),
      status: forwarding.status_code,
    },
    settings: Object.fromEntries(settings.map(({ id: name, value = 'on' }) => [name, value])),
  };
}

export interface PageMatch {
  readonly rule: CompiledPageRule;
  /** Where it leads; undefined: nowhere else. */
  readonly location: string | undefined;
}

/** The page rule of a request: it is about the URL that the client asked for, whatever was rewritten. */
export function pageRuleOf(rules: readonly CompiledPageRule[], subject: Subject): PageMatch | undefined {
  return rules.length === 0 ? undefined : withinWork(subject, () => firstMatch(rules, subject));
}

function firstMatch(rules: readonly CompiledPageRule[], { request }: Subject): PageMatch | undefined {
  const plain = `${request.host}${request.target}`;
  const full = `${request.scheme}://${plain}`;
  for (const rule of rules) {
    const { pattern, forward } = rule;
    const captures = wildcardCaptures(pattern.parts, pattern.hasScheme ? full : plain, true);
    if (!captures) continue;
    return { rule, location: forward && safeLocation(fillTemplate(forward.template, captures)) };
  }
  return undefined;
}
