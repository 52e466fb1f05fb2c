/** What a session of a person needs beyond its permissions: a second factor where an account requires one, and a fresh proof. */
import type { FastifyRequest } from 'fastify';
import { methodsOf } from '../../sign-in/begin.js';
import { signInFailure } from '../../sign-in/failures.js';
import { findOwn, isFresh } from '../../sign-in/password.js';
import type { SignInServices } from '../../sign-in/services.js';
import { findPassword } from '../../store/access/passwords.js';
import { PREFIX } from '../connection.js';
import type { Caller } from '../request.js';

/** Below the base paths: what is behind these paths is changed only by who has just proved who they are. */
const GUARDED = [
  /^\/user\/(?:tokens|totp|passkeys|recovery_codes)(?:\/|$)/,
  /^\/accounts\/:account_id\/(?:tokens|members|iam|sso_connectors|alerting\/v3\/destinations|r2\/temp-access-credentials)(?:\/|$)/,
  /^\/(?:oidc_providers|user\/sso_link)(?:\/|$)/,
];
/** What a request without effect on anybody is sent to. */
const HARMLESS = /\/(?:verify|options|permission_groups|test)$/;
/** Someone with a stolen session could choose a first password, which would outlive the session. */
const PASSWORD = /^\/user\/password$/;
const DELETIONS = /^\/(?:zones\/:zone_id|accounts\/:account_id)$/;

/** Throws 403/10013 or 403/10014. Keys and tokens, and sessions that work with one, are not asked. */
export function requireFactors(
  { signIn }: { readonly signIn: SignInServices },
  request: FastifyRequest,
  { session, key, mustEnrol }: Caller,
): void {
  if (session === undefined && request.routeOptions.config.needsSession) throw signInFailure('onlyPeople');
  if (session === undefined || key !== undefined) return;
  if (mustEnrol && !request.routeOptions.config.enrols) throw signInFailure('mustEnrol');
  const isGuarded = needsProof(signIn, request);
  if (!isGuarded && !PASSWORD.test(pathOf(request))) return;
  const { store, clock } = signIn.base;
  const own = findOwn(store, session);
  if (!own || isFresh(own.session, clock.nowUs())) return;
  const hasPassword = findPassword(store, own.user.seq) !== undefined;
  // Changing a password requires the present one anyway.
  if (!isGuarded && hasPassword) return;
  const methods = [
    ...(signIn.settings.passwords && hasPassword ? ['password'] : []),
    ...methodsOf(store, own.user.seq),
  ];
  throw signInFailure('mustConfirm', {}, { chain: methods.map((message) => ({ code: 10014, message })) });
}

function needsProof({ settings }: SignInServices, request: FastifyRequest): boolean {
  const { method } = request;
  const path = pathOf(request);
  if (method === 'GET' || method === 'HEAD' || HARMLESS.test(path)) return false;
  // This request may end the duty of others to use a second factor.
  if (method === 'PUT' && path === '/accounts/:account_id') return true;
  return (
    (method === 'DELETE' && settings.confirmDeletions && DELETIONS.test(path)) || GUARDED.some((one) => one.test(path))
  );
}

function pathOf({ routeOptions: { url = '' } }: FastifyRequest): string {
  return url.replace(PREFIX, '');
}
