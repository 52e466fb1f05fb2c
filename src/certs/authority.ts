/**
 * What a certificate authority is to the rest of the house, in the words of RFC 8555: the one reached by ACME and the one
 * that is built in. An order, an authorization and a challenge are known by their URLs; every method reads the state anew, so
 * that a process that was killed goes on where the authority is.
 */
import { createHash } from 'node:crypto';

/** Names of authorities on the wire of the v4 API. */
export type AuthorityName = 'google' | 'lets_encrypt' | 'ssl_com' | 'digicert';

/** Domains that name each authority in CAA records (RFC 8659 §4.2), for where its directory names none. */
export const CAA_IDENTITIES: Readonly<Record<AuthorityName, readonly string[]>> = {
  google: ['pki.goog'],
  lets_encrypt: ['letsencrypt.org'],
  ssl_com: ['ssl.com'],
  digicert: ['digicert.com'],
};

/** The value of the TXT record for dns-01 (RFC 8555 §8.4). */
export function dnsChallengeValue(keyAuthorization: string): string {
  return createHash('sha256').update(keyAuthorization).digest('base64url');
}

export type ChallengeType = 'dns-01' | 'http-01';

/** A problem document (RFC 9457, RFC 8555 §6.7). */
export interface Problem {
  /**
   * Without `urn:ietf:params:acme:error:`, such as `caa`, `rateLimited`, `rejectedIdentifier`; else the whole type. Two are our
   * own: `connection` (no answer, or none in time) and `unexpectedAnswer` (one that is not of the protocol).
   */
  readonly type: string;
  readonly detail: string;
  /** HTTP status; 0 where there was no answer at all. */
  readonly status: number;
  readonly subproblems: readonly { readonly type: string; readonly detail: string; readonly identifier?: string }[];
  /** When to try again at the earliest, in milliseconds from the answer. */
  readonly retryAfterMs?: number;
}

/** The authority refused, or could not be reached: `problem.type` is `connection` then. */
export class AuthorityError extends Error {
  constructor(
    readonly problem: Problem,
    options?: ErrorOptions,
  ) {
    super(problem.detail, options);
    this.name = 'AuthorityError';
  }
}

export interface Challenge {
  readonly type: string;
  readonly url: string;
  readonly token: string;
  readonly status: 'pending' | 'processing' | 'valid' | 'invalid';
  readonly problem?: Problem;
}

export interface Authorization {
  readonly url: string;
  /** Host name in A-labels, lower case, without `*.`. */
  readonly identifier: string;
  readonly wildcard: boolean;
  readonly status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked';
  readonly expiresMs?: number;
  readonly challenges: readonly Challenge[];
  /** How long to wait before asking again, in milliseconds. */
  readonly retryAfterMs?: number;
}

export interface Order {
  readonly url: string;
  readonly status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';
  readonly expiresMs?: number;
  /** URLs. */
  readonly authorizations: readonly string[];
  readonly finalizeUrl: string;
  /** Where the certificate is; present when the order is valid. */
  readonly certificateUrl?: string;
  readonly problem?: Problem;
  /** How long to wait before asking again, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** When to renew (RFC 9773). */
export interface RenewalWindow {
  readonly startMs: number;
  readonly endMs: number;
  /** When to ask again, in milliseconds from now. */
  readonly retryAfterMs: number;
  /** A page for people that says why the window is as it is. */
  readonly explanationUrl?: string;
}

export interface OrderOptions {
  /** Identifier of the certificate that the new one replaces (RFC 9773 §5). */
  readonly replaces?: string;
  /** A profile that the directory offers. */
  readonly profile?: string;
}

/** Every method throws an {@link AuthorityError} when the authority refuses or is away. */
export interface Authority {
  readonly name: AuthorityName;
  /** Domains that CAA records name to let this authority issue (RFC 8659 §4.2). */
  caaIdentities(): Promise<readonly string[]>;
  /** The account that orders, as a CAA record may ask for it in `accounturi` (RFC 8657 §3). */
  accountUri(): Promise<string>;
  /** `names`: host names in A-labels, lower case, a wildcard with `*.`. */
  createOrder(names: readonly string[], options?: OrderOptions): Promise<Order>;
  order(url: string): Promise<Order>;
  authorization(url: string): Promise<Authorization>;
  /** The key authorization of a token (RFC 8555 §8.1): the body for http-01; see {@link dnsChallengeValue} for dns-01. */
  keyAuthorization(token: string): string;
  /** Tells the authority that the response is in place. */
  respond(challengeUrl: string): Promise<Challenge>;
  /** `csr`: PKCS #10, DER. */
  finalize(order: Order, csr: Uint8Array): Promise<Order>;
  /** The chain, PEM, the certificate itself first. */
  certificate(certificateUrl: string): Promise<string>;
  /** `certificate`: DER. `reason`: RFC 5280 §5.3.1. One that is revoked already is no error. */
  revoke(certificate: Uint8Array, reason?: number): Promise<void>;
  /** Undefined where the authority has no renewal information. */
  renewalInfo(certificate: Uint8Array): Promise<RenewalWindow | undefined>;
}
