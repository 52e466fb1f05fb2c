/**
 * Schemas that all resources share: identifiers, times, the envelope. They define the OpenAPI document and the types of
 * answers.
 */
import { z } from 'zod';

/** 32 lower-case hexadecimal digits; checked before the use case runs (v4: §1.3). */
export const identifier = (what: string) =>
  z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .describe(`Identifier of the ${what}: 32 lower-case hexadecimal digits`);

export const time = z.string().meta({ format: 'date-time', examples: ['2024-05-05T12:00:00.123456Z'] });

export const message = z
  .object({
    code: z.int(),
    message: z.string(),
    type: z.null().optional(),
    source: z.object({ pointer: z.string().describe('JSON pointer to the invalid member, such as `/ttl`') }).optional(),
    error_chain: z
      .array(z.object({ code: z.int(), message: z.string() }))
      .readonly()
      .optional(),
  })
  .meta({ id: 'Message' });

const resultInfo = z
  .object({
    page: z.int(),
    per_page: z.int(),
    count: z.int().describe('Items on this page'),
    total_count: z.int().describe('Items on all pages'),
    total_pages: z.int(),
  })
  .meta({ id: 'ResultInfo' });

export const diff = z
  .object({
    serial_from: z.int().nullable().describe('Null for a new zone'),
    serial_to: z.int().nullable().describe('Null for a zone that would be deleted'),
    removed: z.array(z.string()).describe('Records that resolvers would no longer get, as zone file lines'),
    added: z.array(z.string()),
    complete: z.boolean().describe('False when the lists are incomplete'),
  })
  .meta({ id: 'Diff', description: 'Only for dry runs: the difference that resolvers would see.' });

export type Diff = z.output<typeof diff>;

export const failureEnvelope = z
  .object({
    result: z.null(),
    success: z.literal(false),
    errors: z.array(message).min(1),
    messages: z.array(message),
  })
  .meta({ id: 'Failure', description: 'A refusal; `errors` contains the reasons.' });

/** The envelope around one result. */
export function envelope<Result extends z.ZodType>(result: Result) {
  return z.object({
    result,
    success: z.literal(true),
    errors: z.array(message),
    messages: z.array(message),
    diff: diff.optional(),
  });
}

/** The envelope around one page of a list. */
function listEnvelope<Item extends z.ZodType>(item: Item) {
  return z.object({
    result: z.array(item),
    success: z.literal(true),
    errors: z.array(message),
    messages: z.array(message),
    result_info: resultInfo.optional(),
  });
}

/** The responses of a route, refusals included. */
export function answers<Body extends z.ZodType>(body: Body) {
  return { 200: body, '4xx': failureEnvelope, '5xx': failureEnvelope } as const;
}

/** A route that answers one result. */
export const answersOne = <Result extends z.ZodType>(result: Result) => answers(envelope(result));
/** A route that answers a list. */
export const answersList = <Item extends z.ZodType>(item: Item) => answers(listEnvelope(item));

/** `{"id": …}`, the answer to deletions. */
export const onlyId = z.object({ id: z.string() });

export const pageQuery = {
  page: z.string().optional().describe('Page, from 1'),
  per_page: z.string().optional().describe('Items per page; clamped to the limits of the list'),
};

export const direction = z.enum(['asc', 'desc']).optional().describe('Sort direction; default `asc`');
export const match = z
  .enum(['all', 'any'])
  .optional()
  .describe('Whether all filters or any one must match; default `all`');
