/**
 * The CAA check when the built-in authority issues (RFC 8659 §3): looked up again, for each name with the method that
 * proved control.
 */
import type { Clock } from '../../base/clock.js';
import type { Resolver } from '../../resolver/resolve.js';
import type { StoredAuthorization, StoredOrder } from '../../store/certs/authority.js';
import { type AuthorityName, CAA_IDENTITIES, type Problem } from '../authority.js';
import { type CaaLookup, decideCaa } from '../caa.js';
import { lookUpCaa } from '../caa-lookup.js';
import { accountUriOf } from './order-view.js';
import { refusal } from './refusal.js';

interface CaaCheck {
  readonly resolver: Resolver;
  readonly clock: Clock;
}

/** Throws an AuthorityError: `caa` if a name forbids issuance, `dns` if the result is unknown. */
export async function checkCaa({ resolver, clock }: CaaCheck, name: AuthorityName, order: StoredOrder): Promise<void> {
  const issuer = { identities: CAA_IDENTITIES[name], accountUri: accountUriOf(name) };
  const lookups = new Map<string, Promise<CaaLookup>>();
  const lookUp = (identifier: string): Promise<CaaLookup> => {
    const known = lookups.get(identifier) ?? lookUpCaa(resolver, clock, identifier, { bypassCache: true });
    lookups.set(identifier, known);
    return known;
  };
  const problems: Problem['subproblems'][number][] = [];
  for (const authorization of order.authorizations) {
    const { identifier, wildcard } = authorization;
    const methods = methodsOf(authorization);
    const verdict = decideCaa(await lookUp(identifier), issuer, { wildcard: wildcard === 1, methods });
    if (verdict.outcome === 'permitted') continue;
    const type = verdict.outcome === 'forbidden' ? 'caa' : 'dns';
    problems.push({ type, detail: verdict.because, identifier: wildcard === 1 ? `*.${identifier}` : identifier });
  }
  const [first] = problems.filter(({ type }) => type === 'caa').concat(problems);
  if (first) throw refusal(first.type, first.type === 'caa' ? 403 : 400, first.detail, problems);
}

function methodsOf({ challenges }: StoredAuthorization) {
  return challenges.filter(({ status }) => status === 'valid').map(({ type }) => type);
}
