/** Reads rules as their owners write them. */
import { compileExpression } from '../expressions/compile.js';
import { type Members, objectOf, RuleFault } from './fault.js';
import { fieldsOf, RULE_LIMITS, readParameters } from './parameters.js';
import { PHASE_FACTS, type Phase } from './phases.js';

/** A rule as it is stored and shown (v4). */
export interface StoredRule {
  readonly id: string;
  readonly version: string;
  /** Microseconds since 1970. */
  readonly last_updated: number;
  readonly ref: string;
  readonly enabled: boolean;
  readonly action: string;
  readonly action_parameters?: unknown;
  readonly expression: string;
  readonly description?: string;
  readonly logging?: unknown;
}

const MEMBERS = ['action', 'action_parameters', 'description', 'enabled', 'expression', 'logging', 'ref'];
/** What only the server sets: clients send back what they read. */
const READ_ONLY = ['id', 'version', 'last_updated', 'categories'];
const LONGEST_TEXT = 500;

/** What the owner of a rule wrote, checked. */
export type WrittenRule = Pick<
  StoredRule,
  'action' | 'action_parameters' | 'enabled' | 'expression' | 'description' | 'logging'
> & {
  readonly id?: string;
  readonly ref?: string;
};

/** Throws {@link RuleFault} for what is not understood. */
export function readRule(phase: Phase, input: unknown): WrittenRule {
  const members = objectOf(input, '', [...MEMBERS, ...READ_ONLY]);
  const { action, expression, enabled = true, logging } = members;
  const expected = PHASE_FACTS[phase].action;
  if (action !== expected) {
    throw new RuleFault('/action', `the action of rules in the phase ${phase} must be ${expected}`);
  }
  if (typeof enabled !== 'boolean') throw new RuleFault('/enabled', 'enabled must be true or false');
  if (typeof expression !== 'string') throw new RuleFault('/expression', 'expression must be a text');
  const made = compileExpression(expression, fieldsOf(phase), RULE_LIMITS);
  if (!made.ok) throw new RuleFault('/expression', `${made.fault.message} at offset ${made.fault.offset}`, true);
  if (expression.trim() === '')
    throw new RuleFault('/expression', 'expression must say which requests the rule matches; true matches all');
  readParameters(phase, members.action_parameters);
  return {
    ...textMembers(members),
    ...{ action: expected, expression, enabled, action_parameters: members.action_parameters },
    ...(logging !== undefined && logging !== null && { logging: readLogging(logging) }),
  };
}

function textMembers(members: Members): Pick<WrittenRule, 'id' | 'ref' | 'description'> {
  const read: Record<string, string> = {};
  for (const name of ['id', 'ref', 'description']) {
    const value = members[name];
    if (value === undefined || value === null || (value === '' && name !== 'description')) continue;
    if (typeof value !== 'string' || value.length > LONGEST_TEXT) {
      throw new RuleFault(`/${name}`, `${name} must be a text of at most ${LONGEST_TEXT} characters`);
    }
    read[name] = value;
  }
  return read;
}

/** Nothing is logged; it is kept for clients that compare it. */
function readLogging(logging: unknown): unknown {
  const { enabled } = objectOf(logging, '/logging', ['enabled']);
  if (typeof enabled !== 'boolean') throw new RuleFault('/logging/enabled', 'enabled must be true or false');
  return { enabled };
}
