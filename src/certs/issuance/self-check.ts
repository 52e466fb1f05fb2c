/**
 * Checks whether the authority would find what a challenge requires. We check first, because failures count against us
 * there.
 */
import type { StoredChallengeRow } from '../../store/certs/orders.js';
import type { CertificateContext } from './context.js';

export type Sight = 'in place' | 'missing' | 'unknown';

/** Never rejects because of the network. */
export async function lookForChallenge(
  { resolver, fetchToken }: Pick<CertificateContext, 'resolver' | 'fetchToken'>,
  { type, identifier, token, value }: StoredChallengeRow,
): Promise<Sight> {
  if (type === 'http-01') return (await fetchToken(identifier, token))?.trimEnd() === value ? 'in place' : 'missing';
  const name = `_acme-challenge.${identifier}`;
  const { status, records } = await resolver.resolve(name, 'TXT', { bypassCache: true });
  if (records.some(({ content }) => content === value)) return 'in place';
  return status === 'servfail' || status === 'timeout' ? 'unknown' : 'missing';
}
