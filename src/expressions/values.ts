/** Values of expressions: fields, literals, and what functions make of them. */
import { type FieldTable, fieldOf } from './fields.js';
import { type CompiledValue, callOf } from './functions.js';
import type { Value } from './syntax.js';
import { networkOf, numberOf } from './tests.js';

/** Throws FaultFound. */
export function compileValue<S>(value: Value, fields: FieldTable<S>): CompiledValue<S> {
  if (value.kind === 'literal') return literalOf(value);
  if (value.kind === 'call')
    return callOf(
      value,
      value.args.map((argument) => compileValue(argument, fields)),
    );
  const field = fieldOf(value, fields);
  const { offset } = value;
  if (field.type === 'absent') {
    const type = field.is === 'map' ? 'text' : field.is;
    return { type, of: () => undefined, isAbsent: true, offset };
  }
  if (field.type !== 'map') return { ...field, offset } as CompiledValue<S>;
  const { key, index } = value;
  return { type: 'text', of: (subject) => field.of(subject, key!)?.[index as number], offset };
}

function literalOf<S>(value: Extract<Value, { readonly kind: 'literal' }>): CompiledValue<S> {
  const { type, value: text, offset } = value;
  if (type === 'text') return { type, of: () => text, literal: text, offset };
  if (type === 'number') {
    const number = numberOf(value);
    return { type, of: () => number, literal: number, offset };
  }
  const { address } = networkOf(value);
  return { type, of: () => address, literal: address, offset };
}
