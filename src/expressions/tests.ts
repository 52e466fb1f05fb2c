/** What a value has to fulfil: the comparisons of the language. */
import { type Network, parseNetwork, unmappedIP } from '../base/ip.js';
import { containsOf } from './addresses.js';
import { FaultFound } from './limits.js';
import type { Comparison, ListValue, Literal } from './syntax.js';
import { wildcardTest } from './wildcards.js';
import { spend } from './work.js';

export type ValueType = 'text' | 'number' | 'truth' | 'address';

/** What a value has to fulfil. */
export function testOf(comparison: Comparison, type: ValueType): (value: never) => boolean {
  if (comparison.kind === 'truth') {
    if (type !== 'truth') throw new FaultFound(comparison.of.offset, `'${comparison.of.name}' cannot be compared`);
    return (value: boolean) => value;
  }
  if (type === 'truth') {
    throw new FaultFound(comparison.of.offset, `'${comparison.of.name}' is true or false, so it must stand alone`);
  }
  if (comparison.kind === 'in') return listTest(comparison.values, type);
  const { by, value } = comparison;
  if (by === 'contains') {
    if (type !== 'text') throw new FaultFound(value.offset, "'contains' is for texts");
    const part = textOf(value);
    return (text: string) => {
      spend(text.length * part.length);
      return text.includes(part);
    };
  }
  if (by === 'wildcard' || by === 'strict wildcard') {
    if (type !== 'text') throw new FaultFound(value.offset, `'${by}' is for texts`);
    return wildcardTest(textOf(value), by === 'strict wildcard', value.offset);
  }
  if (by === 'eq' || by === 'ne') {
    const equal = equalTest(value, type) as (value: unknown) => boolean;
    return by === 'eq' ? equal : (other: unknown) => !equal(other);
  }
  if (type !== 'number') throw new FaultFound(value.offset, `'${by}' is for numbers`);
  return orderTest(by, numberOf(value));
}

function orderTest(by: 'lt' | 'le' | 'gt' | 'ge', bound: number): (value: number) => boolean {
  if (by === 'lt') return (value) => value < bound;
  if (by === 'le') return (value) => value <= bound;
  if (by === 'gt') return (value) => value > bound;
  return (value) => value >= bound;
}

function equalTest(literal: Literal, type: 'text' | 'number' | 'address'): (value: never) => boolean {
  if (type === 'address') {
    const network = networkOf(literal);
    if (network.bits !== network.address.length * 8) {
      throw new FaultFound(literal.offset, 'a network must stand in a list: ip.src in {192.0.2.0/24}');
    }
    const wanted = unmappedIP(network.address);
    return (value: Uint8Array) => Buffer.compare(unmappedIP(value), wanted) === 0;
  }
  const wanted = type === 'text' ? textOf(literal) : numberOf(literal);
  return (value: string | number) => value === wanted;
}

/** Units of work for each character. */
const HASHING = 2;

function listTest(values: readonly ListValue[], type: 'text' | 'number' | 'address'): (value: never) => boolean {
  const range = type === 'number' ? undefined : values.find(({ last }) => last)?.last;
  if (range) throw new FaultFound(range.offset, 'only numbers have ranges');
  if (type === 'text') {
    const texts = new Set(values.map(({ first }) => textOf(first)));
    return (value: string) => {
      spend(value.length * HASHING);
      return texts.has(value);
    };
  }
  if (type === 'address') return containsOf(values.map(({ first }) => networkOf(first)));
  const ranges = values.map(({ first, last }) => ({ from: numberOf(first), to: numberOf(last ?? first) }));
  const wrong = ranges.findIndex(({ from, to }) => from > to);
  if (wrong >= 0) throw new FaultFound(values[wrong]!.first.offset, 'a range must begin with its smaller number');
  return (value: number) => ranges.some(({ from, to }) => from <= value && value <= to);
}

function textOf({ type, value, offset }: Literal): string {
  if (type !== 'text') throw new FaultFound(offset, `expected a text in quotes, not ${value}`);
  return value;
}

export function numberOf({ type, value, offset }: Literal): number {
  if (type !== 'number') throw new FaultFound(offset, 'expected a whole number');
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new FaultFound(offset, 'the number is too large');
  return number;
}

export function networkOf({ type, value, offset }: Literal): Network {
  const network = type === 'address' ? parseNetwork(value) : undefined;
  if (!network) throw new FaultFound(offset, 'expected an address or a network such as 192.0.2.0/24');
  return network;
}
