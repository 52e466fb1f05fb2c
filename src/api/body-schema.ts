/**
 * Checks bodies against the schemas of their routes, which are the only source for OpenAPI and for refusals. An invalid
 * body is refused with 9207 and the reason in its chain, unless the schema names another refusal (v4: §15).
 */
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Clock } from '../base/clock.js';
import type { AppError } from '../base/errors.js';
import { inSlices } from '../base/slices.js';
import { findChoice } from '../bucket/bucket-name.js';
import { bodyFailure, parseJson } from './body.js';

/** The problem with a body and its place. */
export interface BodyFault {
  /** JSON pointer; empty for the body itself. */
  readonly pointer: string;
  /** The member in readable form, such as `posts[1].ttl`. */
  readonly name: string;
  /** The expected value, such as `a string`. */
  readonly expected: string;
  /** Name and problem as a sentence without its full stop. */
  readonly text: string;
}

type Refuse = (fault: BodyFault) => AppError;

const refusals = z.registry<{ readonly refuse: Refuse }>();

/** Gives a schema its own refusal, which also applies to inner schemas without one. */
export function refusedWith<Schema extends z.ZodType>(schema: Schema, refuse: Refuse): Schema {
  refusals.add(schema, { refuse });
  return schema;
}

/** Accepts the text in any case and passes on the matching choice, which OpenAPI shows. */
export function anyCase<Choice extends string>(choices: readonly Choice[]) {
  return z
    .string()
    .refine((text) => findChoice(choices, text) !== undefined, { error: `one of ${choices.join(', ')}` })
    .meta({ enum: choices })
    .transform((text) => findChoice(choices, text)!);
}

/** A list with limits on its length; `what` names its items, such as `policies`. */
export function listOf<Item extends z.ZodType>(item: Item, least: number, most: number, what: string) {
  const error = `a list of ${least} to ${most} ${what}`;
  return z.array(item, { error }).min(least, { error }).max(most, { error });
}

/** The refusal of a body that is not JSON, by the schema of its route. */
export function refuseText(schema: z.ZodType, text: string): AppError {
  const { refuse } = refusals.get(schema) ?? {};
  return refuse ? refuse({ pointer: '', name: '', expected: 'JSON', text }) : bodyFailure(text);
}

export type Checked<Schema extends z.ZodType> =
  | { readonly value: z.output<Schema> }
  | { readonly error: AppError; readonly value?: undefined };

/** Bodies that {@link checkLargeBody} has checked. */
const checked = new WeakSet<object>();

/** The body in the schema's output form; throws the refusal of its first error. An empty body equals null. */
export function checkBody<Schema extends z.ZodType>(schema: Schema, body: unknown): Checked<Schema> {
  if (typeof body === 'object' && body !== null && checked.has(body)) return { value: body as z.output<Schema> };
  const value = body ?? undefined;
  const issue = firstIssueOfList(schema, value);
  if (issue) return { error: refusalOf(schema, issue) };
  const result = schema.safeParse(value, { error: expectedBy });
  return result.success ? { value: result.data } : { error: refusalOf(schema, result.error.issues[0]!) };
}

/** Items of a list that are checked in a millisecond or two. */
const FEW_ITEMS = 50;

/**
 * The same for a body with long lists, one item after the other, so that others get their turn in between. Its result passes {@link
 * checkBody} as it is.
 */
export async function checkLargeBody(schema: z.ZodType, body: unknown, clock: Clock): Promise<unknown> {
  const lists = longListsOf(schema, body);
  if (lists.length === 0) return body;
  const values: Record<string, unknown> = {};
  for (const { name, element, items } of lists)
    values[name] = await inSlices(clock, checkItems(schema, name, element, items));
  const rest = Object.fromEntries(lists.map(({ name }) => [name, []]));
  const found = checkBody(schema, { ...(body as object), ...rest });
  if ('error' in found) throw found.error;
  const value = { ...(found.value as object), ...values };
  checked.add(value);
  return value;
}

interface LongList {
  readonly name: string;
  readonly element: z.ZodType;
  readonly items: readonly unknown[];
}

/** The long lists of a body about whose lengths its schema says nothing. */
function longListsOf(schema: z.ZodType, body: unknown): LongList[] {
  if (!(schema instanceof z.ZodObject) || typeof body !== 'object' || body === null) return [];
  return Object.entries(schema.shape).flatMap(([name, member]) => {
    const items = (body as Record<string, unknown>)[name];
    const array = unwrapped(member as z.ZodType).at(-1);
    if (!(array instanceof z.ZodArray) || !Array.isArray(items) || items.length <= FEW_ITEMS) return [];
    return array.def.checks?.length ? [] : [{ name, element: array.element as z.ZodType, items }];
  });
}

function* checkItems(
  schema: z.ZodType,
  name: string,
  element: z.ZodType,
  items: readonly unknown[],
): Generator<undefined, unknown[]> {
  const values: unknown[] = [];
  for (const [i, item] of items.entries()) {
    const result = element.safeParse(item, { error: expectedBy });
    if (!result.success) {
      const [issue] = result.error.issues;
      throw refusalOf(schema, { ...issue!, path: [name, i, ...issue!.path] });
    }
    values.push(result.data);
    yield;
  }
  return values;
}

/** The body of a route with `rawBody`, whose handler checks something else first. Throws the refusal. */
export async function readBody<Schema extends z.ZodType>(
  request: FastifyRequest,
  schema: Schema,
): Promise<z.output<Schema>> {
  const read = await parseJson((request.body ?? undefined) as Buffer | undefined);
  if ('fault' in read) throw refuseText(schema, read.fault);
  const found = checkBody(schema, read.value);
  if ('error' in found) throw found.error;
  return found.value;
}

/**
 * Zod collects every error of a list before it returns, so the items of lists are checked one by one until the first
 * error.
 */
function firstIssueOfList(schema: z.ZodType, body: unknown): z.core.$ZodIssue | undefined {
  if (!(schema instanceof z.ZodObject) || typeof body !== 'object') return undefined;
  for (const [name, member] of Object.entries(schema.shape)) {
    const list = (body as Record<string, unknown>)[name];
    const array = unwrapped(member as z.ZodType).at(-1);
    if (!(array instanceof z.ZodArray) || !Array.isArray(list)) continue;
    for (const [i, item] of list.entries()) {
      const result = (array.element as z.ZodType).safeParse(item, { error: expectedBy });
      if (!result.success) return { ...result.error.issues[0]!, path: [name, i, ...result.error.issues[0]!.path] };
    }
  }
  return undefined;
}

/** A schema, and the inner schemas of wrappers that only make the value optional or nullable. */
function unwrapped(schema: z.ZodType): z.ZodType[] {
  const inner = schema instanceof z.ZodOptional || schema instanceof z.ZodNullable ? schema.unwrap() : undefined;
  return inner ? [schema, ...unwrapped(inner as z.ZodType)] : [schema];
}

function refusalOf(schema: z.ZodType, issue: z.core.$ZodIssue): AppError {
  const [unknown] = issue.code === 'unrecognized_keys' ? issue.keys : [];
  const path = unknown === undefined ? issue.path : [...issue.path, unknown];
  const pointer = path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
  const name = path.reduce<string>((text, step) => `${text}${printStep(step, text === '')}`, '').slice(0, 120);
  const expected = unknown === undefined ? issue.message : 'no member with this name';
  const known = unknown === undefined ? undefined : membersOf(schema, issue.path);
  const fault = { pointer, name, expected, text: textOf(name, expected, known) };
  const refuse = nearestRefusal(schema, path);
  return refuse ? refuse(fault) : bodyFailure(fault.text, pointer);
}

function printStep(step: PropertyKey, isFirst: boolean): string {
  return typeof step === 'number' ? `[${step}]` : `${isFirst ? '' : '.'}${String(step)}`;
}

const MISSING = 'there';

/** `known`: the allowed members, when an object has an unknown one. */
function textOf(name: string, expected: string, known: readonly string[] | undefined): string {
  if (name === '') return 'it is not a JSON object';
  if (known !== undefined) return `${name} is unknown: expected ${known.join(', ')}`;
  return expected === MISSING ? `${name} is missing` : `${name} must be ${expected}`;
}

/** The allowed members of an object with a strict schema. */
function membersOf(schema: z.ZodType, path: readonly PropertyKey[]): readonly string[] {
  const object = path.reduce<z.ZodType | undefined>(
    (outer, step) => outer && memberOf(unwrapped(outer).at(-1)!, step),
    schema,
  );
  const inner = object && unwrapped(object).at(-1);
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

/** The refusal of the innermost schema that has one, on the path to a member. */
function nearestRefusal(schema: z.ZodType, path: readonly PropertyKey[]): Refuse | undefined {
  let refuse: Refuse | undefined;
  let schemas = unwrapped(schema);
  for (const step of [...path, undefined]) {
    for (const one of schemas) refuse = refusals.get(one)?.refuse ?? refuse;
    const inner = step === undefined ? undefined : memberOf(schemas.at(-1)!, step);
    if (!inner) break;
    schemas = unwrapped(inner);
  }
  return refuse;
}

function memberOf(schema: z.ZodType, step: PropertyKey): z.ZodType | undefined {
  if (schema instanceof z.ZodObject) {
    // A shape is an object with a prototype, whose members are not schemas.
    return Object.hasOwn(schema.shape, step) ? (schema.shape[String(step)] as z.ZodType) : undefined;
  }
  if (schema instanceof z.ZodArray) return schema.element as z.ZodType;
  return schema instanceof z.ZodRecord ? (schema.valueType as z.ZodType) : undefined;
}

const NOUNS: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
};

/** The expected value for an issue whose schema does not name it. */
function expectedBy(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined ? MISSING : (NOUNS[issue.expected] ?? issue.expected);
    case 'invalid_value':
      if (issue.input === undefined) return MISSING;
      return `${issue.values.length > 1 ? 'one of ' : ''}${issue.values.join(', ')}`;
    case 'too_small':
      return issue.origin === 'string' ? `at least ${issue.minimum} characters long` : `at least ${issue.minimum}`;
    case 'too_big':
      return issue.origin === 'string' ? `at most ${issue.maximum} characters long` : `at most ${issue.maximum}`;
    default:
      return 'in another form';
  }
}
