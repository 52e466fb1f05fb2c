/** From a request to a sign-in, and back: the cookie of a session that has begun. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Begun, BegunSession } from '../../sign-in/begin.js';
import type { PasskeyItem } from '../../sign-in/enrol.js';
import { providerId } from '../../sign-in/oidc/providers.js';
import type { FactorInput } from '../../sign-in/prove.js';
import type { SignInServices, Visitor } from '../../sign-in/services.js';
import { allProviders } from '../../store/access/oidc.js';
import { setSessionCookie } from '../sessions/cookie.js';
import type { Session } from '../sessions/schema.js';
import { sessionView } from '../sessions/view.js';
import { printTime } from '../times.js';
import type { FactorBody, Passkey, SignedIn } from './schema.js';

export function visitorOf({ clientAddress, id, headers }: FastifyRequest): Visitor {
  const { 'user-agent': userAgent = '', host } = headers;
  return { address: clientAddress, requestId: id, userAgent, ...(host !== undefined && { host }) };
}

/** Those at which one can sign in. */
export function providersOf({ base: { store }, settings }: SignInServices): { id: string; name: string }[] {
  if (settings.publicUrl === undefined) return [];
  return allProviders(store).map((row) => ({ id: providerId(row), name: row.name }));
}

/** Its shape was checked; what it means is for the package that reads it. */
export function factorOf(body: FactorBody): FactorInput {
  return body as unknown as FactorInput;
}

export function passkeyView({ id, name, createdAt, lastUsedAt }: PasskeyItem): Passkey {
  const used = lastUsedAt === null ? null : printTime(lastUsedAt);
  return { id, name, created_on: printTime(createdAt), last_used_on: used };
}

/** Sets the cookie. */
export function sessionBegun(
  { base: { store, clock } }: SignInServices,
  request: FastifyRequest,
  reply: FastifyReply,
  { session, secret }: BegunSession,
): { readonly session: Session } {
  const seconds = Math.floor((session.expiresAt - clock.nowUs()) / 1_000_000);
  setSessionCookie(store, request, reply, { secret, seconds });
  return { session: sessionView(session, session.id) };
}

/** Sets the cookie, or says what is missing. */
export function signInBegun(
  services: SignInServices,
  request: FastifyRequest,
  reply: FastifyReply,
  result: Begun,
): SignedIn {
  if ('challenge' in result) return { challenge: result.challenge, methods: [...result.methods] };
  return sessionBegun(services, request, reply, result);
}
