/** Orders, authorizations and challenges of the built-in authority in the form for its clients, and their URLs. */
import { fromHex, toHex } from '../../base/bytes.js';
import type { AuthorizationRow, ChallengeRow, StoredAuthorization, StoredOrder } from '../../store/certs/authority.js';
import type { AuthorityName, Authorization, Challenge, Order, Problem } from '../authority.js';
import { refusal } from './refusal.js';

type Kind = 'order' | 'finalize' | 'certificate' | 'authorization' | 'challenge';

const URL_FORM = /^embedded:([a-z_]+)\/([a-z]+)\/([0-9a-f]{32})$/;

function urlOf(authority: AuthorityName, kind: Kind, id: Uint8Array): string {
  return `embedded:${authority}/${kind}/${toHex(id)}`;
}

/** The URI of the only account, that of this installation. */
export function accountUriOf(authority: AuthorityName): string {
  return `embedded:${authority}/account`;
}

/** The identifier in a URL. Throws an AuthorityError when the URL is not of this kind and authority. */
export function idOf(authority: AuthorityName, kind: Kind, url: string): Uint8Array {
  const [, name, found, id] = URL_FORM.exec(url) ?? [];
  if (name !== authority || found !== kind) throw unknownUrl(kind);
  return fromHex(id!)!;
}

export function unknownUrl(kind: Kind): Error {
  return refusal('malformed', 404, `There is no such ${kind}.`);
}

/** Unsettled orders expire at their time (RFC 8555 §7.1.6). */
export function isExpired(
  { status, expires_at }: { readonly status: string; readonly expires_at: number },
  nowMs: number,
) {
  return (status === 'pending' || status === 'ready') && expires_at <= nowMs;
}

export function viewOrder(authority: AuthorityName, row: StoredOrder, nowMs: number): Order {
  const expired = isExpired(row, nowMs);
  const problem = expired ? refusal('malformed', 403, 'The order has expired.').problem : problemOf(row);
  return {
    url: urlOf(authority, 'order', row.id),
    status: expired ? 'invalid' : row.status,
    names: JSON.parse(row.names),
    expiresMs: row.expires_at,
    authorizations: row.authorizations.map(({ id }) => urlOf(authority, 'authorization', id)),
    finalizeUrl: urlOf(authority, 'finalize', row.id),
    ...(row.certificate === null ? {} : { certificateUrl: urlOf(authority, 'certificate', row.id) }),
    ...(problem === undefined ? {} : { problem }),
  };
}

/** The reason why the order is invalid: the problem of the failed challenge. */
function problemOf({ status, authorizations }: StoredOrder): Problem | undefined {
  if (status !== 'invalid') return undefined;
  const failed = authorizations.flatMap(({ challenges }) => challenges).find(({ problem }) => problem !== null);
  return failed && JSON.parse(failed.problem!);
}

export function viewAuthorization(authority: AuthorityName, row: StoredAuthorization, nowMs: number): Authorization {
  return {
    url: urlOf(authority, 'authorization', row.id),
    identifier: row.identifier,
    wildcard: row.wildcard === 1,
    status: authorizationStatus(row, nowMs),
    expiresMs: row.expires_at,
    challenges: row.challenges.map((challenge) => viewChallenge(authority, challenge)),
  };
}

function authorizationStatus(row: AuthorizationRow & { readonly expires_at: number }, nowMs: number) {
  return row.status !== 'invalid' && row.expires_at <= nowMs ? 'expired' : row.status;
}

export function viewChallenge(authority: AuthorityName, { id, type, token, status, problem }: ChallengeRow): Challenge {
  return {
    type,
    url: urlOf(authority, 'challenge', id),
    token,
    status,
    ...(problem === null ? {} : { problem: JSON.parse(problem) as Problem }),
  };
}
