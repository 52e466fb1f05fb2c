/** The headers of a lockout (v4: §10.8). */
import type { FastifyReply } from 'fastify';
import { IssuanceRefused } from '../../control/certificates/issuance-limit.js';

/** A refusal for too many certificates tells in headers when the next may be asked for. */
export function tellLimit(error: unknown, reply: FastifyReply): void {
  if (!(error instanceof IssuanceRefused)) return;
  reply.header('retry-after', error.retryAfterSeconds);
  reply.header('x-ratelimit-limit', error.limit.count);
  reply.header('x-ratelimit-remaining', 0);
  reply.header('x-ratelimit-reset', new Date(error.untilMs).toUTCString());
}
