/** Schemas all resources share: identifiers, times, the envelope. They make the OpenAPI document and type the answers. */
import { z } from 'zod';

/** 32 lower-case hexadecimal digits; the only thing checked before a use case runs (v4: §1.3). */
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
    source: z
      .object({ pointer: z.string().describe('JSON pointer to the member at fault, such as `/ttl`') })
      .optional(),
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
    serial_from: z.int().nullable().describe('Null for a zone that is new'),
    serial_to: z.int().nullable().describe('Null for a zone that would be gone'),
    removed: z.array(z.string()).describe('Records resolvers would no longer get, as lines of a zone file'),
    added: z.array(z.string()),
    complete: z.boolean().describe('False when there is more than the lists tell'),
  })
  .meta({ id: 'Diff', description: 'Of a dry run only: what resolvers would see change.' });

export type Diff = z.output<typeof diff>;

export const failureEnvelope = z
  .object({
    result: z.null(),
    success: z.literal(false),
    errors: z.array(message).min(1),
    messages: z.array(message),
  })
  .meta({ id: 'Failure', description: 'A refusal; `errors` says why.' });

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
  per_page: z.string().optional().describe('Items a page; clamped to what the list allows'),
};

export const direction = z.enum(['asc', 'desc']).optional().describe('Direction of the order, `asc` unless given');
export const match = z
  .enum(['all', 'any'])
  .optional()
  .describe('Whether all filters must hold or any one, `all` unless given');
