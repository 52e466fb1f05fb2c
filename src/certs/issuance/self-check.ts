/**
 * Checks whether the authority would find what a challenge requires. We check first, because failures count against us
 * there.
 */
import type { StoredChallengeRow } from '../../store/certs/orders.js';
import type { CertificateContext } from './context.js';

/** `unseen`: we cannot look at it from here, which says nothing about the authority. */
export type Sight =
  | { readonly kind: 'in place' | 'missing' | 'unknown' }
  | { readonly kind: 'unseen'; readonly reason: string };

const IN_PLACE: Sight = { kind: 'in place' };
const MISSING: Sight = { kind: 'missing' };
const UNKNOWN: Sight = { kind: 'unknown' };

/** Never rejects because of the network. */
export async function lookForChallenge(
  { resolver, fetchToken }: Pick<CertificateContext, 'resolver' | 'fetchToken'>,
  { type, identifier, token, value }: StoredChallengeRow,
): Promise<Sight> {
  if (type === 'http-01') {
    const body = await fetchToken(identifier, token);
    if (typeof body === 'object') return { kind: 'unseen', reason: body.reason };
    return body?.trimEnd() === value ? IN_PLACE : MISSING;
  }
  const name = `_acme-challenge.${identifier}`;
  const { status, records } = await resolver.resolve(name, 'TXT', { bypassCache: true });
  if (records.some(({ content }) => content === value)) return IN_PLACE;
  return status === 'servfail' || status === 'timeout' ? UNKNOWN : MISSING;
}
