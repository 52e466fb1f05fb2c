/**
 * Makes a condition, or a value, out of an expression and a table of fields. A field without a value makes its comparison false,
 * whichever comparison it is; a function of one has no value either.
 */
import { type FieldTable, fieldOf } from './fields.js';
import { DEFAULT_LIMITS, type ExpressionFault, type ExpressionLimits, FaultFound } from './limits.js';
import { parseExpression, parseValue } from './parse.js';
import type { Comparison, Expression } from './syntax.js';
import { testOf } from './tests.js';
import { compileValue } from './values.js';

export type Condition<S> = (subject: S) => boolean;

export type Compiled<S> =
  | { readonly ok: true; readonly holds: Condition<S> }
  | { readonly ok: false; readonly fault: ExpressionFault };

export type CompiledText<S> =
  | { readonly ok: true; readonly of: (subject: S) => string | undefined }
  | { readonly ok: false; readonly fault: ExpressionFault };

const NEVER = (): boolean => false;
const ALWAYS = (): boolean => true;

/** Nothing to examine is always true. */
export function compileExpression<S>(
  text: string,
  fields: FieldTable<S>,
  limits: ExpressionLimits = DEFAULT_LIMITS,
): Compiled<S> {
  return orFault(() => {
    const expression = parseExpression(text, limits);
    return { ok: true, holds: expression ? conditionOf(expression, fields) : ALWAYS } as const;
  });
}

/** An expression whose value is a text. */
export function compileText<S>(
  text: string,
  fields: FieldTable<S>,
  limits: ExpressionLimits = DEFAULT_LIMITS,
): CompiledText<S> {
  return orFault(() => {
    const made = compileValue(parseValue(text, limits), fields);
    if (made.type !== 'text') {
      throw new FaultFound(
        0,
        `the value is not a text but ${made.type === 'address' ? 'an' : 'a'} ${made.type}; to_string() makes a text of it`,
      );
    }
    return { ok: true, of: made.of } as const;
  });
}

function orFault<Made>(make: () => Made): Made | { readonly ok: false; readonly fault: ExpressionFault } {
  try {
    return make();
  } catch (error) {
    if (error instanceof FaultFound) return { ok: false, fault: error.fault };
    throw error;
  }
}

function conditionOf<S>(expression: Expression, fields: FieldTable<S>): Condition<S> {
  switch (expression.kind) {
    case 'constant':
      return expression.holds ? ALWAYS : NEVER;
    case 'not': {
      const inner = conditionOf(expression.of, fields);
      return (subject) => !inner(subject);
    }
    case 'and':
      return joined(expression.of, fields, false);
    case 'or':
      return joined(expression.of, fields, true);
    case 'xor': {
      const parts = expression.of.map((part) => conditionOf(part, fields));
      return (subject) => parts.filter((part) => part(subject)).length % 2 === 1;
    }
    case 'any':
    case 'all':
      return listCondition(expression.of, expression.kind === 'any', fields);
    default:
      return comparisonCondition(expression, fields);
  }
}

/** Parts in order, until one `decides`. */
function joined<S>(of: readonly Expression[], fields: FieldTable<S>, decides: boolean): Condition<S> {
  const parts = of.map((part) => conditionOf(part, fields));
  return (subject) => {
    for (let i = 0; i < parts.length; i++) if (parts[i]!(subject) === decides) return decides;
    return !decides;
  };
}

function listCondition<S>(comparison: Comparison, isAny: boolean, fields: FieldTable<S>): Condition<S> {
  const { of } = comparison;
  if (of.kind === 'call') throw new FaultFound(of.offset, "'any' and 'all' need a field with [*]");
  const field = fieldOf(of, fields);
  const test = testOf(comparison, 'text') as (value: unknown) => boolean;
  if (field.type !== 'map') return NEVER;
  const key = of.key!;
  return (subject) => {
    const values = field.of(subject, key);
    if (!values || values.length === 0) return false;
    return isAny ? values.some(test) : values.every(test);
  };
}

function comparisonCondition<S>(comparison: Comparison, fields: FieldTable<S>): Condition<S> {
  const made = compileValue(comparison.of, fields);
  const test = testOf(comparison, made.type) as (value: unknown) => boolean;
  if (made.isAbsent) return NEVER;
  const read = made.of as (subject: S) => unknown;
  return (subject) => {
    const value = read(subject);
    return value !== undefined && test(value);
  };
}
