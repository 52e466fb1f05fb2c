/** Signing in at a provider: the browser goes there, and comes back with a code. */
import { timingSafeEqual } from 'node:crypto';
import { toHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { hashSecret, makeSecret } from '../../control/access/keys.js';
import { commit } from '../../control/kernel/commit.js';
import { useProof } from '../../store/access/challenges.js';
import { endProviderSessions, type ProviderRow } from '../../store/access/oidc.js';
import type { UserRow } from '../../store/access/users.js';
import { type Begun, begin } from '../begin.js';
import { signInFailure } from '../failures.js';
import { findOwn, isFresh, noteWrong } from '../password.js';
import { contextFor, type SignInServices, type Visitor } from '../services.js';
import { type Claimed, judgeClaims } from './claims.js';
import { type Handshake, JWT_TIMESTAMP_CHECK, type ProviderClient } from './client.js';
import { NOBODY, userOf } from './people.js';
import { providerId, reasonOf, requireProvider } from './providers.js';

const LIFE_US = 600_000_000;

/** Kept by the browser while it is at the provider. */
interface Kept extends Handshake {
  readonly provider: string;
  readonly to: string;
  readonly endsAt: number;
  /** The session of the person to whom the provider's person is to be linked. */
  readonly session?: string;
}

/** A path of this site and nothing else: no other host, however browsers read it. */
const OWN_PATH = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1000}$/;

export function ownPath(text: string | undefined): string {
  return text !== undefined && OWN_PATH.test(text) ? text : '/';
}

function callbackOf({ settings: { publicUrl } }: SignInServices, provider: string): string {
  if (publicUrl === undefined) throw signInFailure('noPublicUrl');
  return `${publicUrl}/client/v4/user/sign_in/oidc/${provider}/callback`;
}

/** Where the browser goes, and what it keeps. `session`: of a person who links the provider to themself. */
export async function beginAtProvider(
  services: SignInServices,
  id: string,
  { to, session }: { readonly to: string; readonly session?: string },
): Promise<{ readonly location: string; readonly kept: string }> {
  const { base } = services;
  const provider = requireProvider(base.store, id);
  const redirect = callbackOf(services, id);
  const [state, nonce, verifier] = [makeSecret(base), makeSecret(base), makeSecret(base) + makeSecret(base)] as const;
  const client = await clientOf(services, provider);
  const location = await client.authorizationUrl(redirect, provider.scopes, { state, nonce, verifier });
  const endsAt = base.clock.nowUs() + LIFE_US;
  const kept: Kept = { provider: id, state, nonce, verifier, to, endsAt, ...(session !== undefined && { session }) };
  const text = Buffer.from(JSON.stringify(kept)).toString('base64url');
  return { location: location.href, kept: `${text}.${toHex(hashSecret(base.store, `oidc ${text}`))}` };
}

async function clientOf({ providers, base }: SignInServices, provider: ProviderRow): Promise<ProviderClient> {
  try {
    return await providers(provider);
  } catch (error) {
    base.log.warn({ provider: provider.name, reason: reasonOf(error) }, 'an identity provider cannot be asked');
    throw signInFailure('providerAway', { reason: 'try again, or sign in another way' });
  }
}

function readKept({ base: { store, clock } }: SignInServices, text: string, id: string): Kept {
  const [body = '', seal = ''] = text.split('.', 2);
  const [own, right] = [Buffer.from(seal, 'hex'), Buffer.from(hashSecret(store, `oidc ${body}`))];
  if (own.length !== right.length || !timingSafeEqual(own, right)) throw signInFailure('expired');
  const kept = JSON.parse(Buffer.from(body, 'base64url').toString()) as Kept;
  const leftUs = kept.endsAt - clock.nowUs();
  if (kept.provider !== id || leftUs <= 0 || leftUs > LIFE_US) throw signInFailure('expired');
  return kept;
}

/** The browser is back. `query`: what it brings; `kept`: what it kept. */
export async function finishAtProvider(
  services: SignInServices,
  visitor: Visitor,
  id: string,
  { query, kept: text }: { readonly query: string; readonly kept: string },
): Promise<{ readonly begun: Begun; readonly to: string }> {
  const { base } = services;
  const { store } = base;
  const provider = requireProvider(store, id);
  const kept = readKept(services, text, id);
  const claimed = await exchange(services, visitor, provider, kept, `${callbackOf(services, id)}?${query}`);
  const ctx = contextFor(services, visitor, NOBODY);
  const { value: user } = await commit(ctx, (draft): UserRow => {
    if (!useProof(store, hashSecret(store, `oidc state ${kept.state}`), kept.endsAt)) throw signInFailure('expired');
    return userOf(ctx, draft, provider, claimed, requireLinking(services, kept));
  });
  const how = claimed.withSecondFactor ? 'oidc mfa' : 'oidc';
  const { subject, session = null } = claimed;
  const proof = { how, provider: provider.id, provider_subject: subject, provider_session: session };
  return { begun: await begin(services, visitor, user, proof), to: kept.to };
}

/** The person who links; throws when that session is over or was begun long ago. */
function requireLinking({ base: { store, clock } }: SignInServices, { session }: Kept): UserRow | undefined {
  if (session === undefined) return undefined;
  const own = findOwn(store, session);
  if (!own || own.session.credential !== null || own.user.suspended === 1) throw signInFailure('expired');
  // It was fresh when the browser left; that lasts no longer than the way to the provider and back.
  if (!isFresh(own.session, clock.nowUs() - LIFE_US) && !isFresh(own.session, clock.nowUs()))
    throw signInFailure('mustConfirm');
  return own.user;
}

async function exchange(
  services: SignInServices,
  visitor: Visitor,
  provider: ProviderRow,
  kept: Kept,
  current: string,
): Promise<Claimed> {
  const client = await clientOf(services, provider);
  const rules = {
    ...{ issuer: provider.issuer, clientId: provider.client_id, nonce: kept.nonce, groupsClaim: provider.groups_claim },
    domains: JSON.parse(provider.domains) as string[],
    ...{ trustsEmail: provider.trusts_email === 1, trustsFactors: provider.trusts_factors === 1 },
  };
  try {
    const { claims, algorithm } = await client.exchange(new URL(current), kept);
    const judged = judgeClaims(claims, algorithm, rules, services.base.clock.nowMs() / 1000);
    if ('isOfAnotherTime' in judged) throw clocksApart(services);
    if ('reason' in judged) throw signInFailure('badStatement', judged);
    return judged;
  } catch (error) {
    noteWrong(services, visitor, 'oidc', undefined);
    if (error instanceof AppError) throw error;
    services.base.log.warn({ provider: provider.name, reason: reasonOf(error) }, 'a sign-in at a provider failed');
    if ((error as { readonly code?: unknown }).code === JWT_TIMESTAMP_CHECK) throw clocksApart(services);
    throw signInFailure('badStatement', { reason: 'it could not be checked' });
  }
}

/** Tells this server's time, so that administrators can see which clock is wrong. */
function clocksApart({ base: { clock } }: SignInServices): Error {
  return signInFailure('clocksApart', { time: new Date(clock.nowMs()).toISOString() });
}

const LOGOUT = 'http://schemas.openid.net/event/backchannel-logout';
const LONGEST_LOGOUT_SECONDS = 300;

/** A provider says that somebody signed out there (OpenID Connect Back-Channel Logout §2.6). Throws 400. */
export async function endByProvider(
  services: SignInServices,
  visitor: Visitor,
  id: string,
  token: string,
): Promise<void> {
  const { base } = services;
  const provider = requireProvider(base.store, id);
  const client = await clientOf(services, provider);
  const claims = await client.verify(token).catch(() => {
    throw signInFailure('badInput', { reason: 'The logout token does not count.' });
  });
  const { events, sub, sid, nonce, jti, iat } = claims as Record<string, unknown>;
  const isLogout = typeof events === 'object' && events !== null && LOGOUT in events && nonce === undefined;
  const isRecent = typeof iat === 'number' && Math.abs(iat - base.clock.nowMs() / 1000) <= LONGEST_LOGOUT_SECONDS;
  if (!isLogout || !isRecent || typeof jti !== 'string' || (typeof sub !== 'string' && typeof sid !== 'string')) {
    throw signInFailure('badInput', { reason: 'The logout token does not count.' });
  }
  const ctx = contextFor(services, visitor, NOBODY);
  await commit(ctx, (draft) => {
    const proof = hashSecret(base.store, `oidc logout ${providerId(provider)} ${jti}`);
    if (!useProof(base.store, proof, draft.now + 2 * LONGEST_LOGOUT_SECONDS * 1_000_000)) return;
    const named = {
      session: typeof sid === 'string' ? sid : undefined,
      subject: typeof sub === 'string' ? sub : undefined,
    };
    const ended = endProviderSessions(base.store, provider.id, named);
    draft.event({ kind: 'sso.logout', id: provider.id, name: provider.name, after: { sessionsEnded: ended } });
  });
}
