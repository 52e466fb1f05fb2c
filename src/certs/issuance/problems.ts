/** What an authority's refusal or failure means for a certificate: its text, who must act, and what to do. */
import type { Problem } from '../authority.js';
import type { CertificateError } from '../certificates.js';

/** Texts of the v4 API. */
const TEXTS = {
  lookup: 'Certificate authority encountered a SERVFAIL during DNS lookup, please check your DNS reachability.',
  caa: 'CAA records block issuance. Please remove all CAA records or add records for this authority.',
  rateLimited:
    'The authority has rate limited these domains. Please wait for the rate limit to expire or try another authority.',
  rejected: 'The certificate authority will not issue for this domain.',
  internal: 'Internal error with Certificate Authority. Please check later.',
} as const;

/**
 * `caa`: use the next authority, if there is one. `later`: continue the same order. `anew`: the order is lost, create
 * another one. `trouble`: the authority is unavailable; continue the same order.
 */
export interface ProblemMeaning {
  readonly kind: 'caa' | 'later' | 'anew' | 'trouble';
  readonly error: CertificateError;
  /** The shortest wait, milliseconds. */
  readonly waitMs?: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TROUBLE: ReadonlySet<string> = new Set(['connection', 'serverInternal', 'unexpectedAnswer', 'badNonce']);
const REJECTED: ReadonlySet<string> = new Set(['rejectedIdentifier', 'unsupportedIdentifier']);
/** Problems with proving control, which the owner of the name must fix. */
const UNPROVED: ReadonlySet<string> = new Set(['unauthorized', 'incorrectResponse', 'tls', 'connection']);
/** Problems that the operator of this service must fix. */
const OPERATOR: ReadonlySet<string> = new Set([
  'userActionRequired',
  'externalAccountRequired',
  'invalidProfile',
  'invalidContact',
  'unsupportedContact',
  'accountDoesNotExist',
]);

/** For an answer to one of our requests. */
export function meaningOf(problem: Problem): ProblemMeaning {
  const types = [problem.type, ...problem.subproblems.map(({ type }) => type)];
  const wait = problem.retryAfterMs === undefined ? {} : { waitMs: problem.retryAfterMs };
  if (types.includes('caa')) return { kind: 'caa', error: customer(TEXTS.caa) };
  if (types.some((type) => REJECTED.has(type))) {
    return { kind: 'later', error: { message: TEXTS.rejected, actor: 'ca' }, waitMs: DAY_MS };
  }
  if (types.includes('rateLimited')) {
    return { kind: 'later', error: { message: TEXTS.rateLimited, actor: 'ca' }, waitMs: HOUR_MS, ...wait };
  }
  if (types.includes('dns')) return { kind: 'later', error: lookupError(), ...wait };
  if (TROUBLE.has(problem.type) || problem.status === 0 || problem.status >= 500) {
    if (OPERATOR.has(problem.type)) return { kind: 'trouble', error: provider(problem.detail) };
    return { kind: 'trouble', error: { message: TEXTS.internal, actor: 'ca' }, ...wait };
  }
  if (problem.type === 'orderNotReady') {
    return { kind: 'later', error: { message: TEXTS.internal, actor: 'ca' }, waitMs: 5_000, ...wait };
  }
  return { kind: 'anew', error: provider(problem.detail), ...wait };
}

/** For an order or challenge that failed permanently: in every case another order is needed. */
export function meaningOfFailed(problem: Problem): ProblemMeaning {
  const types = [problem.type, ...problem.subproblems.map(({ type }) => type)];
  if (!types.includes('caa') && types.some((type) => UNPROVED.has(type))) {
    return { kind: 'anew', error: customer(problem.detail) };
  }
  const meaning = meaningOf(problem);
  return meaning.kind === 'caa' ? meaning : { ...meaning, kind: 'anew' };
}

/** The CAA records or the token of a name could not be looked up. */
export function lookupError(): CertificateError {
  return customer(TEXTS.lookup);
}

const UNSEEN = 'The token cannot be looked at from here: ';

/** The web server of a name cannot be asked from here. `reason`: a sentence. */
export function unseenError(reason: string): CertificateError {
  return { message: `${UNSEEN}${reason}`, actor: 'provider' };
}

/** `errors`: JSON, as it is stored. */
export function isUnseenError(errors: string): boolean {
  return errors.includes(UNSEEN);
}

/** `host`: the first name of the certificate. `because`, `add`, `remove`: see authority-choice.ts. */
export function caaErrors(
  host: string,
  because: string,
  add: readonly string[],
  remove: readonly string[],
): CertificateError[] {
  const remedies = [
    ...(add.length > 0 ? [`To permit it, add: ${add.join(' or ')}.`] : []),
    ...(remove.length > 0 ? [`Remove: ${remove.join(', ')}.`] : []),
  ];
  return [
    customer(`caa_error: ${host}`),
    customer([TEXTS.caa, because, ...remedies].filter((text) => text !== '').join(' ')),
  ];
}

function customer(message: string): CertificateError {
  return { message, actor: 'customer' };
}

function provider(message: string): CertificateError {
  return { message, actor: 'provider' };
}
