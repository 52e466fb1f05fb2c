/** What the statement of a provider must say (OpenID Connect Core §3.1.3.7), beside its signature. Pure. */

/** As somebody at a provider. */
export interface Claimed {
  readonly subject: string;
  /** Session of the provider. */
  readonly session: string | undefined;
  /** Only if the provider says that it is proved, or its word counts. */
  readonly email: string | undefined;
  /** Undefined: the provider does not say. */
  readonly groups: readonly string[] | undefined;
  readonly withSecondFactor: boolean;
}

export interface ClaimRules {
  readonly issuer: string;
  readonly clientId: string;
  readonly nonce: string;
  readonly groupsClaim: string;
  readonly domains: readonly string[];
  readonly trustsEmail: boolean;
  readonly trustsFactors: boolean;
}

type Claims = Readonly<Record<string, unknown>>;

export const ALGORITHMS = ['RS256', 'PS256', 'ES256', 'EdDSA', 'Ed25519'];
const SKEW_SECONDS = 300;
const MOST_GROUPS = 1000;
const SECOND_FACTORS = ['mfa', 'otp', 'hwk', 'swk', 'fpt', 'face', 'iris', 'sms'];

/** The claims of a statement, or why it is refused; `isOfAnotherTime`: maybe a clock is wrong. `algorithm`: of its signature. */
export function judgeClaims(
  claims: Claims,
  algorithm: string | undefined,
  rules: ClaimRules,
  nowSeconds: number,
): Claimed | { readonly reason: string } | { readonly isOfAnotherTime: true } {
  const { iss, sub, aud, azp, exp, iat, nonce } = claims;
  const audience = Array.isArray(aud) ? aud : [aud];
  if (algorithm === undefined || !ALGORITHMS.includes(algorithm))
    return { reason: 'it is signed in a way that is not accepted' };
  if (iss !== rules.issuer) return { reason: 'it is of another issuer' };
  if (!audience.includes(rules.clientId)) return { reason: 'it is for another client' };
  if ((audience.length > 1 || azp !== undefined) && azp !== rules.clientId)
    return { reason: 'it was given to another client' };
  if (typeof sub !== 'string' || sub === '' || sub.length > 255) return { reason: 'it names nobody' };
  if (typeof exp !== 'number' || typeof iat !== 'number')
    return { reason: 'it lacks the times of its issue and expiry' };
  if (exp <= nowSeconds - SKEW_SECONDS || Math.abs(iat - nowSeconds) > SKEW_SECONDS) return { isOfAnotherTime: true };
  if (nonce !== rules.nonce) return { reason: 'it answers another question' };
  return {
    subject: sub,
    session: typeof claims['sid'] === 'string' ? claims['sid'].slice(0, 255) : undefined,
    email: emailOf(claims, rules),
    groups: groupsOf(claims, rules.groupsClaim),
    withSecondFactor: rules.trustsFactors && isListed(claims['amr'], SECOND_FACTORS),
  };
}

function emailOf(
  { email, email_verified: isVerified }: Claims,
  { domains, trustsEmail }: ClaimRules,
): string | undefined {
  if (typeof email !== 'string' || email.length > 254) return undefined;
  const address = email.trim().normalize('NFC');
  const domain = address.slice(address.lastIndexOf('@') + 1).toLowerCase();
  const isOfDomain = domains.includes(domain);
  if (domains.length > 0 && !isOfDomain) return undefined;
  // A text that says "true" is not proof: some providers let people write it.
  return isVerified === true || (trustsEmail && isOfDomain) ? address : undefined;
}

function isListed(value: unknown, wanted: readonly string[]): boolean {
  return Array.isArray(value) && value.some((entry) => wanted.includes(entry as string));
}

/** A list or one text, at a path with dots. A list that was too long for the statement is elsewhere, and counts as not said. */
function groupsOf(claims: Claims, path: string): readonly string[] | undefined {
  let value: unknown = claims;
  for (const part of Object.hasOwn(claims, path) ? [path] : path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Claims)[part];
  }
  const list = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(list) || list.length > MOST_GROUPS) return undefined;
  return list.filter((entry): entry is string => typeof entry === 'string');
}
