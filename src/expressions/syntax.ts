/** What an expression is made of, once it is parsed. */

export type Comparator = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge' | 'contains' | 'wildcard' | 'strict wildcard';
export type Joint = 'and' | 'or' | 'xor';

export interface Literal {
  readonly type: 'text' | 'number' | 'address';
  readonly value: string;
  readonly offset: number;
}

/** A value of a list: one literal, or all numbers from it to `last`. */
export interface ListValue {
  readonly first: Literal;
  readonly last?: Literal;
}

/** A field, and of a map the values of one key: one of them, or each. */
export interface FieldUse {
  readonly name: string;
  readonly offset: number;
  readonly key?: string;
  readonly index?: number | 'each';
}

/** What has a value: a field, a literal, or what a function makes of others. */
export type Value =
  | ({ readonly kind: 'field' } & FieldUse)
  | ({ readonly kind: 'literal' } & Literal)
  | { readonly kind: 'call'; readonly name: string; readonly offset: number; readonly args: readonly Value[] };

/** What is compared. */
type Compared = Exclude<Value, { readonly kind: 'literal' }>;

export type Comparison =
  | { readonly kind: 'compare'; readonly of: Compared; readonly by: Comparator; readonly value: Literal }
  | { readonly kind: 'in'; readonly of: Compared; readonly values: readonly ListValue[] }
  | { readonly kind: 'truth'; readonly of: Compared };

export type Expression =
  | Comparison
  | { readonly kind: 'constant'; readonly holds: boolean }
  | { readonly kind: 'any' | 'all'; readonly of: Comparison }
  | { readonly kind: 'not'; readonly of: Expression }
  | { readonly kind: Joint; readonly of: readonly Expression[] };
