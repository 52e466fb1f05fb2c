/** Refusals of an authority (RFC 8555 §6.7), and answers that violate the protocol, as typed errors. */
import { z } from 'zod';
import { parseHttpDate } from '../../http/date.js';
import { AuthorityError, type Problem } from '../authority.js';
import type { Answer } from './transport.js';

const URN = 'urn:ietf:params:acme:error:';
const MAX_TEXT = 1_000;
const MAX_RETRY_AFTER_MS = 30 * 86_400_000;

const text = z.string().transform((value) => value.slice(0, MAX_TEXT));
const type = text.transform((value) => (value.startsWith(URN) ? value.slice(URN.length) : value));

const subproblem = z
  .object({ type, detail: text.default(''), identifier: z.object({ value: text }).optional() })
  .transform(({ type, detail, identifier }) => ({ type, detail, ...(identifier && { identifier: identifier.value }) }));

/** A problem document; omitted members have the defaults of RFC 9457. */
export const problemSchema = z
  .object({
    type: type.default('about:blank'),
    detail: text.optional(),
    title: text.optional(),
    status: z.int().min(100).max(599).catch(0),
    subproblems: z.array(subproblem).default([]),
  })
  .transform(
    ({ type, detail, title, status, subproblems }): Problem => ({
      type,
      detail: detail ?? title ?? type,
      status,
      subproblems,
    }),
  );

/**
 * Milliseconds to wait, from seconds or a date (RFC 9110 §10.2.3); no more than 30 days. Undefined for any other value.
 */
export function retryAfterMs(answer: Answer, nowMs: number): number | undefined {
  const value = answer.header('retry-after')?.trim() ?? '';
  const dateS = parseHttpDate(value);
  const ms = /^\d{1,15}$/.test(value) ? Number(value) * 1000 : dateS === undefined ? undefined : dateS * 1000 - nowMs;
  return ms === undefined ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** The error for an answer with a status of 300 or above. */
export function refusal(answer: Answer, nowMs: number): AuthorityError {
  const document = answer.contentType === 'application/problem+json' ? parseJson(answer.body) : undefined;
  const problem = problemSchema.safeParse(document).data;
  if (problem === undefined) return unexpectedAnswer(answer, nowMs, 'no problem document');
  const waitMs = retryAfterMs(answer, nowMs);
  return new AuthorityError({
    ...problem,
    status: answer.status,
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
  });
}

/** `what`: what was found or missing, as part of a sentence. */
export function unexpectedAnswer(answer: Answer, nowMs: number, what: string): AuthorityError {
  const waitMs = retryAfterMs(answer, nowMs);
  const kind = answer.contentType === '' ? 'no content type' : answer.contentType;
  return new AuthorityError({
    type: 'unexpectedAnswer',
    detail: `${new URL(answer.url).host} gave an answer that is not of the ACME protocol (${answer.status}, ${kind}): ${what}.`,
    status: answer.status,
    subproblems: [],
    ...(waitMs !== undefined && { retryAfterMs: waitMs }),
  });
}

/** The object of a successful answer. Throws an {@link AuthorityError} for another media type or shape. */
export function readObject<Schema extends z.ZodType>(answer: Answer, schema: Schema, nowMs: number): z.output<Schema> {
  if (answer.contentType !== 'application/json') throw unexpectedAnswer(answer, nowMs, 'JSON was expected');
  const parsed = schema.safeParse(parseJson(answer.body));
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  throw unexpectedAnswer(answer, nowMs, path.length === 0 ? message : `${path.join('.')}: ${message}`);
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
