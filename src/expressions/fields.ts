/** The fields of the language: the caller gives a name, a type, and how the value is found in what is examined. */
import { FaultFound } from './limits.js';
import type { FieldUse } from './syntax.js';

/** A field of the language: its type, and its value in a subject; undefined: it has none there. */
export type Field<S> =
  | { readonly type: 'text'; readonly of: (subject: S) => string | undefined }
  | { readonly type: 'number'; readonly of: (subject: S) => number | undefined }
  | { readonly type: 'truth'; readonly of: (subject: S) => boolean | undefined }
  /** 4 or 16 octets. */
  | { readonly type: 'address'; readonly of: (subject: S) => Uint8Array | undefined }
  /** Texts by key; a key may have several. */
  | { readonly type: 'map'; readonly of: (subject: S, key: string) => readonly string[] | undefined }
  /** It is known, but has no value in any subject. */
  | { readonly type: 'absent'; readonly is: FieldType };

export type FieldTable<S> = Readonly<Record<string, Field<S>>>;

type FieldType = Exclude<Field<never>['type'], 'absent'>;

/** All fields of `types`; those that `present` lacks are known but have no value in any subject. */
export function fieldTable<S, T extends Readonly<Record<string, FieldType>>>(
  types: T,
  present: { readonly [K in keyof T]?: Extract<Field<S>, { readonly type: T[K] }> } = {},
): FieldTable<S> {
  const absent = Object.entries(types).map(([name, is]) => [name, { type: 'absent', is }] as const);
  return { ...Object.fromEntries(absent), ...present };
}

/** The field of this name, if it is used as its type allows. Throws {@link FaultFound}. */
export function fieldOf<S>(use: FieldUse, fields: FieldTable<S>): Field<S> {
  const found = Object.hasOwn(fields, use.name) ? fields[use.name] : undefined;
  if (!found) throw new FaultFound(use.offset, `the field '${use.name}' is not known`);
  const type = found.type === 'absent' ? found.is : found.type;
  if (use.key !== undefined && type !== 'map') throw new FaultFound(use.offset, `'${use.name}' has no keys`);
  if (use.key === undefined && type === 'map') {
    throw new FaultFound(use.offset, `'${use.name}' needs a key, such as ${use.name}["name"]`);
  }
  if (type === 'map' && use.index === undefined) {
    throw new FaultFound(use.offset, `the values of a key are a list: [0] is the first, [*] each`);
  }
  return found;
}
