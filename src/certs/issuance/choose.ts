/** Chooses the authority: what CAA forbids is not contacted; in the requested order. */
import { withLimit } from '../../base/lifecycle.js';
import type { RequestRow } from '../../store/certs/requests.js';
import type { AuthorityName, ChallengeType } from '../authority.js';
import { CAA_IDENTITIES } from '../authority.js';
import {
  type AuthorityChoice,
  baseName,
  type Candidate,
  candidateNames,
  chooseAuthority,
  decideForNames,
} from '../authority-choice.js';
import { asksForAccount, type CaaIssuer, type CaaLookup } from '../caa.js';
import { lookUpCaa } from '../caa-lookup.js';
import type { CertificateContext } from './context.js';

const METHODS: readonly ChallengeType[] = ['dns-01', 'http-01'];

/**
 * Authorities after the first one that may issue are not checked. `patienceMs`: lookups that take longer count as
 * unknown. Throws an AuthorityError when an authority must be asked for its identity and refuses.
 */
export async function chooseFor(
  ctx: CertificateContext,
  row: RequestRow,
  patienceMs?: number,
): Promise<AuthorityChoice> {
  const names: readonly string[] = JSON.parse(row.names);
  const lookups = await lookUpAll(ctx, names, patienceMs);
  const refused: readonly string[] = JSON.parse(row.refused);
  const requested = row.authority === '' ? undefined : (row.authority as AuthorityName);
  const candidates: Candidate[] = [];
  for (const authority of candidateNames(requested, ctx.defaultOrder)) {
    const issuer = await issuerOf(ctx, authority, [...lookups.values()]);
    const decision = decideForNames(names, lookups, issuer, METHODS);
    candidates.push({ authority, decision, refusedByCaa: refused.includes(authority) });
    if (chooseAuthority(candidates).kind !== 'blocked') break;
  }
  return chooseAuthority(candidates);
}

async function lookUpAll(
  { resolver, clock }: CertificateContext,
  names: readonly string[],
  patienceMs: number | undefined,
): Promise<ReadonlyMap<string, CaaLookup>> {
  const bases = [...new Set(names.map(baseName))];
  const found = await Promise.all(
    bases.map(async (name): Promise<readonly [string, CaaLookup]> => {
      const lookup = lookUpCaa(resolver, clock, name, { bypassCache: true });
      const known = patienceMs === undefined ? await lookup : await withLimit(clock, patienceMs, lookup);
      return [name, known ?? { kind: 'unknown', name, reason: 'looking them up takes long' }];
    }),
  );
  return new Map(found);
}

/** Contacts the authority only if the records depend on its answer. */
async function issuerOf(
  { authorities }: CertificateContext,
  name: AuthorityName,
  lookups: readonly CaaLookup[],
): Promise<CaaIssuer> {
  if (!lookups.some(({ kind }) => kind === 'set')) return { identities: CAA_IDENTITIES[name] };
  const authority = await authorities.of(name);
  const identities = await authority.caaIdentities();
  return lookups.some(asksForAccount) ? { identities, accountUri: await authority.accountUri() } : { identities };
}
