/**
 * Chooses the authority of a certificate: in the given order, and the next one only when CAA forbids the previous one.
 */
import type { AuthorityName, ChallengeType } from './authority.js';
import { type CaaIssuer, type CaaLookup, type CaaVerdict, decideCaa } from './caa.js';

/** The CAA result for one authority and all names of a certificate. */
export interface CaaDecision {
  readonly outcome: CaaVerdict['outcome'];
  /** The reasons of the deciding names, in sentences. */
  readonly because: string;
  /** Zone file lines that would permit issuance; empty unless it is forbidden. */
  readonly add: readonly string[];
  /** Zone file lines that forbid issuance regardless of other records. */
  readonly remove: readonly string[];
  /** By name: the permitted methods for proving control over it. */
  readonly methods: ReadonlyMap<string, readonly ChallengeType[]>;
}

/**
 * `names`: those of the certificate, wildcards with `*.`; `lookups`: by name without `*.`. A wildcard can only be
 * validated by dns-01 (RFC 8555 §8.3).
 */
export function decideForNames(
  names: readonly string[],
  lookups: ReadonlyMap<string, CaaLookup>,
  issuer: CaaIssuer,
  methods: readonly ChallengeType[],
): CaaDecision {
  const verdicts = names.map((name) => {
    const wildcard = name.startsWith('*.');
    const lookup = lookups.get(baseName(name)) ?? { kind: 'unknown', name, reason: 'they have not been looked up yet' };
    return decideCaa(lookup, issuer, { wildcard, methods: wildcard ? ['dns-01'] : methods });
  });
  const forbidden = verdicts.filter((verdict) => verdict.outcome === 'forbidden');
  // One forbidden name decides, even if results for others are unknown.
  const outcome =
    forbidden.length > 0
      ? 'forbidden'
      : verdicts.some((verdict) => verdict.outcome === 'unknown')
        ? 'unknown'
        : 'permitted';
  const deciding = verdicts.filter((verdict) => verdict.outcome === outcome);
  return {
    outcome,
    because: unique(deciding.map(({ because }) => because)).join(' '),
    add: unique(forbidden.flatMap(({ add }) => add)),
    remove: unique(forbidden.flatMap(({ remove }) => remove)),
    methods: new Map(
      names.map((name, at) => {
        const verdict = verdicts[at]!;
        return [name, verdict.outcome === 'permitted' ? verdict.methods : []];
      }),
    ),
  };
}

/** The name whose CAA records and control count: `*.example.test` → `example.test`. */
export function baseName(name: string): string {
  return name.startsWith('*.') ? name.slice(2) : name;
}

export interface Candidate {
  readonly authority: AuthorityName;
  readonly decision: CaaDecision;
  /** Whether the authority itself refused with `caa`, whatever the records say. */
  readonly refusedByCaa?: boolean;
}

export type AuthorityChoice =
  | { readonly kind: 'use'; readonly authority: AuthorityName; readonly decision: CaaDecision }
  /** Whether this one may issue is not known yet; no other authority is tried meanwhile. */
  | { readonly kind: 'wait'; readonly authority: AuthorityName; readonly because: string }
  /** Every candidate is forbidden. */
  | { readonly kind: 'blocked'; readonly candidates: readonly Candidate[] };

/** The authorities to try, in order: only the requested one, or the default ones. */
export function candidateNames(
  requested: AuthorityName | undefined,
  defaultOrder: readonly AuthorityName[],
): readonly AuthorityName[] {
  return requested === undefined ? defaultOrder : [requested];
}

/**
 * The first candidate that may issue. Only a CAA refusal leads to the next one, never an outage or an unknown result.
 */
export function chooseAuthority(candidates: readonly Candidate[]): AuthorityChoice {
  for (const { authority, decision, refusedByCaa = false } of candidates) {
    if (refusedByCaa || decision.outcome === 'forbidden') continue;
    if (decision.outcome === 'unknown') return { kind: 'wait', authority, because: decision.because };
    return { kind: 'use', authority, decision };
  }
  return { kind: 'blocked', candidates };
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
