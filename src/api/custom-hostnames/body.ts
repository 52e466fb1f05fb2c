/** What these routes do in their own way: faults of bodies have a number of their own, and so has too many requests (v4: §10, §15.4). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../base/errors.js';
import { hostnameFailure, IssuanceRefused } from '../../hostnames/errors.js';
import { parseJson } from '../body.js';

/** The JSON object in a body. Throws 1400 for anything else. */
export function bodyOf(request: FastifyRequest): Readonly<Record<string, unknown>> {
  const value = parse((request.body ?? undefined) as Buffer | undefined);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw hostnameFailure('badJson', { reason: 'it is not an object' });
}

function parse(body: Buffer | undefined): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw hostnameFailure('badJson', { reason: error.chain?.[0]?.message ?? error.message });
  }
}

/** A refusal for too many certificates tells in headers when the next may be asked for. */
export function tellLimit(error: unknown, reply: FastifyReply): void {
  if (!(error instanceof IssuanceRefused)) return;
  reply.header('retry-after', error.retryAfterSeconds);
  reply.header('x-ratelimit-limit', error.limit.count);
  reply.header('x-ratelimit-remaining', 0);
  reply.header('x-ratelimit-reset', new Date(error.untilMs).toUTCString());
}
