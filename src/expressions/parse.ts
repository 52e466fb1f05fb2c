/**
 * Parses the language of conditions: comparisons of fields and of what functions make of them, joined by `and`, `xor`, `or` and `not`,
 * which bind in this order, `not` the closest. It refuses what it does not know, with the offset.
 */
import { type ExpressionLimits, FaultFound } from './limits.js';
import type { Comparator, Comparison, Expression, FieldUse, Joint, ListValue, Literal, Value } from './syntax.js';
import { type Token, tokensOf } from './tokens.js';

const JOINTS: Readonly<Record<string, Joint>> = {
  and: 'and',
  '&&': 'and',
  or: 'or',
  '||': 'or',
  xor: 'xor',
  '^^': 'xor',
};
const COMPARATORS: Readonly<Record<string, Comparator>> = {
  ...{ eq: 'eq', '==': 'eq', ne: 'ne', '!=': 'ne', lt: 'lt', '<': 'lt', le: 'le', '<=': 'le' },
  ...{ gt: 'gt', '>': 'gt', ge: 'ge', '>=': 'ge', contains: 'contains', wildcard: 'wildcard' },
};
const REFUSED: ReadonlySet<string> = new Set(['matches', '~']);
const RESERVED: ReadonlySet<string> = new Set([
  ...['and', 'or', 'xor', 'not', 'in', 'any', 'all'],
  ...Object.keys(COMPARATORS),
  ...REFUSED,
  'strict',
]);
const CONSTANTS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);
/** A list index beyond this is a mistake. */
const MOST_INDEX = 255;

/** Throws {@link FaultFound}. A text of nothing but spaces gives undefined. */
export function parseExpression(text: string, limits: ExpressionLimits): Expression | undefined {
  if (text.length > limits.length) {
    throw new FaultFound(limits.length, `an expression may have at most ${limits.length} characters`);
  }
  const tokens = tokensOf(text);
  if (tokens.length === 1) return undefined;
  const parser = new Parser(tokens, limits);
  return parser.whole();
}

/** An expression that makes a value, such as the target of a redirect. Throws {@link FaultFound}. */
export function parseValue(text: string, limits: ExpressionLimits): Value {
  if (text.length > limits.length) {
    throw new FaultFound(limits.length, `an expression may have at most ${limits.length} characters`);
  }
  return new Parser(tokensOf(text), limits).wholeValue();
}

/** Levels of operators, the loosest first. */
const LEVELS: readonly Joint[] = ['or', 'xor', 'and'];

class Parser {
  private at = 0;
  private nodes = 0;
  private calls = 0;
  private depth = 0;

  constructor(
    private readonly tokens: readonly Token[],
    private readonly limits: ExpressionLimits,
  ) {}

  whole(): Expression {
    const expression = this.joined(0);
    const rest = this.peek();
    if (rest.kind !== 'end') throw new FaultFound(rest.offset, `expected 'and', 'or' or the end, not ${shown(rest)}`);
    return expression;
  }

  private joined(level: number): Expression {
    const joint = LEVELS[level];
    if (joint === undefined) return this.unary();
    const first = this.joined(level + 1);
    const parts = [first];
    while (JOINTS[this.peek().value] === joint && isOperator(this.peek())) {
      this.countNode(this.next());
      parts.push(this.joined(level + 1));
    }
    return parts.length === 1 ? first : { kind: joint, of: parts };
  }

  private unary(): Expression {
    const token = this.peek();
    const negates = (token.kind === 'word' && token.value === 'not') || (token.kind === 'sign' && token.value === '!');
    if (!negates && !isSign(token, '(')) return this.comparison();
    this.next();
    this.countNode(token);
    if (++this.depth > this.limits.depth) {
      throw new FaultFound(token.offset, `an expression may be at most ${this.limits.depth} levels deep`);
    }
    const inner = negates ? this.unary() : this.joined(0);
    if (!negates) this.expect(')');
    this.depth--;
    return negates ? { kind: 'not', of: inner } : inner;
  }

  wholeValue(): Value {
    const value = this.value();
    const rest = this.peek();
    if (rest.kind !== 'end') throw new FaultFound(rest.offset, `expected the end, not ${shown(rest)}`);
    return value;
  }

  private comparison(): Expression {
    const token = this.peek();
    const { value } = token;
    if (this.isCall() && (value === 'any' || value === 'all')) {
      this.next();
      this.next();
      const of = this.simple(true);
      this.expect(')');
      this.countNode(token);
      return { kind: value, of };
    }
    const constant = token.kind === 'word' && !this.isCall() ? CONSTANTS.get(value) : undefined;
    if (constant === undefined) return this.simple(false);
    this.countNode(this.next());
    return { kind: 'constant', holds: constant };
  }

  /** Whether the next word is the name of a function. */
  private isCall(): boolean {
    const follows = this.tokens[this.at + 1];
    return this.peek().kind === 'word' && follows !== undefined && isSign(follows, '(');
  }

  /** `isEach`: inside of `any` or `all`, where the field stands for each value of a list. */
  private simple(isEach: boolean): Comparison {
    const of = this.isCall() ? this.call() : ({ kind: 'field', ...this.field() } as const);
    this.countNode(this.peek());
    const isList = of.kind === 'field' && of.index === 'each';
    if (isEach && !isList) throw new FaultFound(of.offset, "'any' and 'all' need a field with [*]");
    if (!isEach && isList) throw new FaultFound(of.offset, "a field with [*] may stand only in 'any' or 'all'");
    const token = this.peek();
    if (REFUSED.has(token.value) && isOperator(token)) {
      throw new FaultFound(token.offset, `'${token.value}' is not available here; 'wildcard', 'contains' and 'in' are`);
    }
    if (token.kind === 'word' && token.value === 'in') {
      this.next();
      return { kind: 'in', of, values: this.list() };
    }
    const by = this.comparator();
    return by ? { kind: 'compare', of, by, value: this.literal() } : { kind: 'truth', of };
  }

  private comparator(): Comparator | undefined {
    const token = this.peek();
    if (token.kind === 'word' && token.value === 'strict') {
      this.next();
      const second = this.next();
      if (second.kind === 'word' && second.value === 'wildcard') return 'strict wildcard';
      throw new FaultFound(second.offset, `expected 'wildcard' after 'strict', not ${shown(second)}`);
    }
    const by = isOperator(token) ? COMPARATORS[token.value] : undefined;
    if (by) this.next();
    return by;
  }

  private call(): Extract<Value, { kind: 'call' }> {
    const { value: name, offset } = this.next();
    if (RESERVED.has(name)) throw new FaultFound(offset, `'${name}' cannot stand here`);
    if (++this.calls > this.limits.calls) {
      const most = this.limits.calls;
      const why =
        most === 0 ? `the function '${name}' is not available here` : `an expression may use at most ${most} functions`;
      throw new FaultFound(offset, why);
    }
    this.expect('(');
    if (++this.depth > this.limits.depth) {
      throw new FaultFound(offset, `an expression may be at most ${this.limits.depth} levels deep`);
    }
    const args: Value[] = [];
    while (!isSign(this.peek(), ')')) {
      if (args.length > 0) this.expect(',');
      args.push(this.value());
    }
    this.next();
    this.depth--;
    return { kind: 'call', name, offset, args };
  }

  private value(): Value {
    this.countNode(this.peek());
    const { kind } = this.peek();
    if (this.isCall()) return this.call();
    if (kind !== 'word') return { kind: 'literal', ...this.literal() };
    const field = this.field();
    if (field.index === 'each') throw new FaultFound(field.offset, "a field with [*] may stand only in 'any' or 'all'");
    return { kind: 'field', ...field };
  }

  private field(): FieldUse {
    const { kind, value: name, offset } = this.next();
    if (kind !== 'word' || RESERVED.has(name)) {
      throw new FaultFound(offset, `expected a field, not ${kind === 'end' ? 'the end' : `'${name}'`}`);
    }
    if (!isSign(this.peek(), '[')) return { name, offset };
    this.next();
    const key = this.next();
    if (key.kind !== 'text') throw new FaultFound(key.offset, 'expected a key in quotes');
    this.expect(']');
    return { name, offset, key: key.value, ...this.index() };
  }

  private index(): { readonly index?: number | 'each' } {
    if (isSign(this.peek(), '[*]')) {
      this.next();
      return { index: 'each' };
    }
    if (!isSign(this.peek(), '[')) return {};
    this.next();
    const { kind, value, offset } = this.next();
    const index = Number(value);
    if (kind !== 'number' || index < 0 || index > MOST_INDEX) {
      throw new FaultFound(offset, `an index is '*' or a number up to ${MOST_INDEX}`);
    }
    this.expect(']');
    return { index };
  }

  private list(): ListValue[] {
    const open = this.peek();
    if (isSign(open, '$')) throw new FaultFound(open.offset, 'named lists are not available here');
    this.expect('{');
    const values: ListValue[] = [];
    while (!isSign(this.peek(), '}')) {
      const first = this.literal();
      if (isSign(this.peek(), '..')) {
        this.next();
        values.push({ first, last: this.literal() });
      } else values.push({ first });
      if (values.length > this.limits.listValues) {
        throw new FaultFound(first.offset, `a list has at most ${this.limits.listValues} values`);
      }
    }
    this.next();
    if (values.length === 0) throw new FaultFound(open.offset, 'a list has one value or more');
    return values;
  }

  private literal(): Literal {
    const { kind, value, offset } = this.next();
    if (kind === 'text' || kind === 'number' || kind === 'address') return { type: kind, value, offset };
    throw new FaultFound(offset, `expected a value, not ${kind === 'end' ? 'the end' : `'${value}'`}`);
  }

  private countNode({ offset }: Token): void {
    if (++this.nodes > this.limits.nodes) {
      throw new FaultFound(offset, `an expression may have at most ${this.limits.nodes} comparisons and operators`);
    }
  }

  private expect(sign: string): void {
    const token = this.next();
    if (!isSign(token, sign)) throw new FaultFound(token.offset, `expected '${sign}', not ${shown(token)}`);
  }

  private peek(): Token {
    return this.tokens[this.at]!;
  }

  /** The end is never passed. */
  private next(): Token {
    const token = this.peek();
    if (token.kind !== 'end') this.at++;
    return token;
  }
}

function isSign(token: Token, sign: string): boolean {
  return token.kind === 'sign' && token.value === sign;
}

function isOperator({ kind }: Token): boolean {
  return kind === 'word' || kind === 'sign';
}

function shown({ kind, value }: Token): string {
  return kind === 'end' ? 'the end' : `'${value}'`;
}
