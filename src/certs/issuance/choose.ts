/** Chooses the authority: CAA is looked up before any authority is contacted, in the requested order. */
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
 * Authorities after the first one that may issue are not checked. Throws an AuthorityError when an authority must be
 * asked for its identity and refuses.
 */
export async function chooseFor(ctx: CertificateContext, row: RequestRow): Promise<AuthorityChoice> {
  const names: readonly string[] = JSON.parse(row.names);
  const lookups = await lookUpAll(ctx, names);
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
): Promise<ReadonlyMap<string, CaaLookup>> {
  const bases = [...new Set(names.map(baseName))];
  const found = await Promise.all(
    bases.map(async (name) => [name, await lookUpCaa(resolver, clock, name, { bypassCache: true })] as const),
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
