/** Validates orders, authorizations and challenges (RFC 8555 §7.1) and converts them to our types. */
import { z } from 'zod';
import type { Authorization, Challenge, Order, RenewalWindow } from '../authority.js';
import { urlSchema } from './directory.js';
import { problemSchema, readObject, retryAfterMs } from './problem.js';
import type { Answer } from './transport.js';

/** RFC 3339, as milliseconds since 1970. */
const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

const orderSchema = z.object({
  status: z.enum(['pending', 'ready', 'processing', 'valid', 'invalid']),
  expires: time.optional(),
  identifiers: z.array(z.object({ value: z.string().toLowerCase() })).default([]),
  authorizations: z.array(urlSchema).min(1),
  finalize: urlSchema,
  certificate: urlSchema.optional(),
  error: problemSchema.optional(),
});

const challengeSchema = z
  .object({
    type: z.string(),
    url: urlSchema,
    status: z.enum(['pending', 'processing', 'valid', 'invalid']),
    /** base64url, because §8.1 makes it part of a path and of a record. */
    token: z.string().regex(/^[A-Za-z0-9_-]{1,256}$/),
    error: problemSchema.optional(),
  })
  .transform(({ error, ...rest }): Challenge => ({ ...rest, ...(error && { problem: error }) }));

const authorizationSchema = z.object({
  identifier: z.object({ value: z.string().toLowerCase() }),
  wildcard: z.boolean().default(false),
  status: z.enum(['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked']),
  expires: time.optional(),
  /** Challenges of future types may have no token; they are omitted. */
  challenges: z
    .array(z.looseObject({ token: z.unknown() }))
    .transform((challenges) => challenges.filter(({ token }) => token !== undefined))
    .pipe(z.array(challengeSchema)),
});

const renewalSchema = z.object({
  suggestedWindow: z
    .object({ start: time, end: time })
    .refine(({ start, end }) => start < end, 'ends before it starts'),
  explanationURL: z.string().max(2_048).optional(),
});

export function readOrder(answer: Answer, url: string, nowMs: number): Order {
  const order = readObject(answer, orderSchema, nowMs);
  return {
    url,
    status: order.status,
    names: order.identifiers.map(({ value }) => value),
    authorizations: order.authorizations,
    finalizeUrl: order.finalize,
    ...(order.expires !== undefined && { expiresMs: order.expires }),
    ...(order.certificate !== undefined && { certificateUrl: order.certificate }),
    ...(order.error && { problem: order.error }),
    ...waitOf(answer, nowMs),
  };
}

export function readAuthorization(answer: Answer, nowMs: number): Authorization {
  const { identifier, wildcard, status, expires, challenges } = readObject(answer, authorizationSchema, nowMs);
  return {
    url: answer.url,
    identifier: identifier.value,
    wildcard,
    status,
    challenges,
    ...(expires !== undefined && { expiresMs: expires }),
    ...waitOf(answer, nowMs),
  };
}

export function readChallenge(answer: Answer, nowMs: number): Challenge {
  return readObject(answer, challengeSchema, nowMs);
}

const MIN_RENEWAL_WAIT_MS = 60_000;
const MAX_RENEWAL_WAIT_MS = 86_400_000;
const DEFAULT_RENEWAL_WAIT_MS = 6 * 3_600_000;

/** RFC 9773 §4.2 and §4.3. Renewal information is requested again after one minute to one day. */
export function readRenewalWindow(answer: Answer, nowMs: number): RenewalWindow {
  const { suggestedWindow, explanationURL } = readObject(answer, renewalSchema, nowMs);
  const waitMs = retryAfterMs(answer, nowMs) ?? DEFAULT_RENEWAL_WAIT_MS;
  return {
    startMs: suggestedWindow.start,
    endMs: suggestedWindow.end,
    retryAfterMs: Math.min(Math.max(waitMs, MIN_RENEWAL_WAIT_MS), MAX_RENEWAL_WAIT_MS),
    ...(explanationURL !== undefined && { explanationUrl: explanationURL }),
  };
}

function waitOf(answer: Answer, nowMs: number): { readonly retryAfterMs?: number } {
  const waitMs = retryAfterMs(answer, nowMs);
  return waitMs === undefined ? {} : { retryAfterMs: waitMs };
}
