/** Which authority a certificate is asked from: in the order given, and from one to the next only where CAA forbids. */
import type { AuthorityName, ChallengeType } from './authority.js';
import { type CaaIssuer, type CaaLookup, type CaaVerdict, decideCaa } from './caa.js';

/** What CAA says about one authority and all names of a certificate. */
export interface CaaDecision {
  readonly outcome: CaaVerdict['outcome'];
  /** Why, in sentences: of the names that decided. */
  readonly because: string;
  /** Lines of zone files that would permit it; empty unless it is forbidden. */
  readonly add: readonly string[];
  /** Lines that forbid it whatever else there is. */
  readonly remove: readonly string[];
  /** By name: the methods with which control over it may be proved. */
  readonly methods: ReadonlyMap<string, readonly ChallengeType[]>;
}

/**
 * `names`: those of the certificate, wildcards with `*.`; `lookups`: by name without `*.`. A wildcard can only be validated by
 * dns-01 (RFC 8555 §8.3).
 */
export function decideForNames(
  names: readonly string[],
  lookups: ReadonlyMap<string, CaaLookup>,
  issuer: CaaIssuer,
  methods: readonly ChallengeType[],
): CaaDecision {
  const verdicts = names.map((name) => {
    const wildcard = name.startsWith('*.');
    const lookup = lookups.get(baseName(name)) ?? { kind: 'unknown', name, reason: 'nobody has asked yet' };
    return decideCaa(lookup, issuer, { wildcard, methods: wildcard ? ['dns-01'] : methods });
  });
  const forbidden = verdicts.filter((verdict) => verdict.outcome === 'forbidden');
  // One name that is forbidden decides, however little is known about the others.
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

/** The name whose CAA records and whose control count: `*.example.test` → `example.test`. */
export function baseName(name: string): string {
  return name.startsWith('*.') ? name.slice(2) : name;
}

export interface Candidate {
  readonly authority: AuthorityName;
  readonly decision: CaaDecision;
  /** The authority itself refused with `caa`, whatever the records seem to say. */
  readonly refusedByCaa?: boolean;
}

export type AuthorityChoice =
  | { readonly kind: 'use'; readonly authority: AuthorityName; readonly decision: CaaDecision }
  /** Whether this one may issue is not known yet: nobody else is asked meanwhile. */
  | { readonly kind: 'wait'; readonly authority: AuthorityName; readonly because: string }
  /** Every candidate is forbidden. */
  | { readonly kind: 'blocked'; readonly candidates: readonly Candidate[] };

/** The authorities that may be asked, in order: the one that was asked for and no other, or else those of the default. */
export function candidateNames(
  requested: AuthorityName | undefined,
  defaultOrder: readonly AuthorityName[],
): readonly AuthorityName[] {
  return requested === undefined ? defaultOrder : [requested];
}

/** The first candidate that may issue. Only a CAA block leads to the next one, never an outage or an uncertainty. */
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
