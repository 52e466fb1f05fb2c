/**
 * Decides who may issue for a name by its CAA records: RFC 8659, with the parameters of RFC 8657. Pure; caa-lookup.ts
 * looks the records up.
 */
import { latin1Bytes, quoteText } from '../dns/presentation.js';
import { type CaaProperty, type IssueValue, isCriticalUnknown, readIssueValue } from '../policy-records/caa.js';
import type { ChallengeType } from './authority.js';

/** The result of searching from a name towards the root (RFC 8659 §3). Names are without the final dot. */
export type CaaLookup =
  | {
      readonly kind: 'set';
      /** The name at which the search found the records. */
      readonly name: string;
      /** The owner of the records: `name`, or the target of its aliases. */
      readonly owner: string;
      readonly records: readonly CaaProperty[];
    }
  | { readonly kind: 'none' }
  /** `name` could not be looked up, so it is unknown whether the authority may issue. */
  | { readonly kind: 'unknown'; readonly name: string; readonly reason: string };

/** The authority that wants to issue. */
export interface CaaIssuer {
  /** Domains that identify it. */
  readonly identities: readonly string[];
  /** The ordering account; without it, no record that requires an account is satisfied. */
  readonly accountUri?: string;
}

export type CaaVerdict =
  /** `methods`: those of the given methods that may be used for validation (RFC 8657 §4). */
  | { readonly outcome: 'permitted'; readonly because: string; readonly methods: readonly ChallengeType[] }
  | {
      readonly outcome: 'forbidden';
      readonly because: string;
      /** Records that would permit issuance, as zone file lines. */
      readonly add: readonly string[];
      /** Records that forbid issuance regardless of other records. */
      readonly remove: readonly string[];
    }
  /** Not a refusal: try again later. */
  | { readonly outcome: 'unknown'; readonly because: string };

type CaaSet = Extract<CaaLookup, { kind: 'set' }>;

const LABEL = '[A-Za-z0-9](?:-*[A-Za-z0-9])*';
/** RFC 8657 §4. */
const METHODS = new RegExp(`^${LABEL}(?:,${LABEL})*$`);

const NOBODY: IssueValue = { domain: '', parameters: [] };

/**
 * Whether `issuer` may issue for a name with these records. `wildcard`: the certificate is for `*.` below the name.
 * `methods`: the available methods for proving control; one permitted method is enough.
 */
export function decideCaa(
  lookup: CaaLookup,
  issuer: CaaIssuer,
  { wildcard, methods }: { readonly wildcard: boolean; readonly methods: readonly ChallengeType[] },
): CaaVerdict {
  if (lookup.kind === 'none') return { outcome: 'permitted', because: 'There are no CAA records.', methods };
  if (lookup.kind === 'unknown') {
    return {
      outcome: 'unknown',
      because: `The CAA records of ${lookup.name} could not be looked up: ${lookup.reason}.`,
    };
  }
  const foreign = lookup.records.filter(isCriticalUnknown);
  if (foreign.length > 0) return forbiddenByForeign(lookup, foreign);
  const tag = wildcard && lookup.records.some(hasTag('issuewild')) ? 'issuewild' : 'issue';
  const values = lookup.records.filter(hasTag(tag)).map(({ value }) => permittedBy(value));
  if (values.length === 0) {
    return { outcome: 'permitted', because: `The CAA records at ${place(lookup)} restrict no authority.`, methods };
  }
  const permitted = methods.filter((method) => values.some((value) => permits(value, issuer, method)));
  if (permitted.length > 0) {
    const because = `The CAA records at ${place(lookup)} permit ${issuer.identities.join(' or ')}.`;
    return { outcome: 'permitted', because, methods: permitted };
  }
  return forbiddenByIssue(lookup, tag, values, issuer, methods);
}

/** Whether the decision depends on the ordering account. */
export function asksForAccount(lookup: CaaLookup): boolean {
  return (
    lookup.kind === 'set' &&
    lookup.records.some(({ value }) => permittedBy(value).parameters.some(([tag]) => tag === 'accounturi'))
  );
}

/** `customer.test. CAA 0 issue "ca.test"`: a zone file line. */
function printCaa(owner: string, { flags, tag, value }: CaaProperty): string {
  return `${owner}. CAA ${flags} ${tag} ${quoteText(latin1Bytes(value))}`;
}

/** Tags are compared without regard to case (RFC 8659 §4.1). */
function hasTag(tag: string): (record: CaaProperty) => boolean {
  return (record) => record.tag.toLowerCase() === tag;
}

/** A value that violates the grammar permits no authority (RFC 8659 §4.2). */
function permittedBy(text: string): IssueValue {
  return readIssueValue(text) ?? NOBODY;
}

function permits(value: IssueValue, issuer: CaaIssuer, method: ChallengeType): boolean {
  return (
    names(value, issuer) &&
    satisfies(value, 'accounturi', (uri) => uri === issuer.accountUri) &&
    satisfies(value, 'validationmethods', (list) => METHODS.test(list) && list.split(',').includes(method))
  );
}

function names({ domain }: IssueValue, { identities }: CaaIssuer): boolean {
  return domain !== '' && identities.some((identity) => identity.toLowerCase() === domain);
}

/** A repeated parameter cannot be satisfied (RFC 8657 §3, §4). */
function satisfies({ parameters }: IssueValue, tag: string, holds: (value: string) => boolean): boolean {
  const given = parameters.filter(([name]) => name === tag);
  return given.length === 0 || (given.length === 1 && holds(given[0]![1]));
}

function place({ name, owner }: CaaSet): string {
  return name === owner ? owner : `${owner}, where ${name} leads,`;
}

function forbiddenByForeign(set: CaaSet, foreign: readonly CaaProperty[]): CaaVerdict {
  const tags = foreign.map(({ tag }) => tag).join(', ');
  return {
    outcome: 'forbidden',
    because: `The CAA records at ${place(set)} have an unknown critical property (${tags}).`,
    add: [],
    remove: foreign.map((record) => printCaa(set.owner, record)),
  };
}

function forbiddenByIssue(
  set: CaaSet,
  tag: 'issue' | 'issuewild',
  values: readonly IssueValue[],
  issuer: CaaIssuer,
  methods: readonly ChallengeType[],
): CaaVerdict {
  const [identity] = issuer.identities;
  const meant = values.find((value) => names(value, issuer));
  const has = (parameter: string): boolean => meant?.parameters.some(([name]) => name === parameter) ?? false;
  // Restrictions by the name's owner are kept.
  const parts = [identity!];
  if (has('accounturi') && issuer.accountUri !== undefined) parts.push(`accounturi=${issuer.accountUri}`);
  if (has('validationmethods')) parts.push(`validationmethods=${methods.join(',')}`);
  const others = [...new Set(values.map(({ domain }) => domain).filter((domain) => domain !== ''))];
  const because = meant
    ? `permit ${identity} only with another account or method of validation`
    : others.length > 0
      ? `permit only ${others.join(', ')}, not ${identity}`
      : 'permit no authority';
  return {
    outcome: 'forbidden',
    because: `The CAA records at ${place(set)} ${because} (${tag}).`,
    add: [printCaa(set.owner, { flags: 0, tag, value: parts.join('; ') })],
    remove: [],
  };
}
