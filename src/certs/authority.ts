/**
 * The interface of a certificate authority in the terms of RFC 8555, for the built-in one and those reached by ACME.
 * Orders, authorizations and challenges are identified by their URLs. Every method reads the current state, so that a
 * process that was killed continues where the authority is.
 */
import { createHash } from 'node:crypto';

/** Names of authorities in the v4 API. */
export const AUTHORITY_NAMES = ['google', 'lets_encrypt', 'ssl_com', 'digicert'] as const;
export type AuthorityName = (typeof AUTHORITY_NAMES)[number];

/** Whether the issuer of a certificate (its distinguished name) is the authority of an installation of this program. */
export function isBuiltInIssuer(issuer: string): boolean {
  return /\bO=Zoneplane$/.test(issuer);
}

/** Domains that identify each authority in CAA records (RFC 8659 §4.2), for directories that name none. */
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
   * Without `urn:ietf:params:acme:error:`, such as `caa`, `rateLimited`, `rejectedIdentifier`; otherwise the whole
   * type. Two are our own: `connection` (no answer in time) and `unexpectedAnswer` (an answer that violates the
   * protocol).
   */
  readonly type: string;
  readonly detail: string;
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly subproblems: readonly { readonly type: string; readonly detail: string; readonly identifier?: string }[];
  /** The earliest time of a retry, in milliseconds from the answer. */
  readonly retryAfterMs?: number;
}

/** The authority refused, or could not be reached; then `problem.type` is `connection`. */
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
  /** Milliseconds to wait before the next poll. */
  readonly retryAfterMs?: number;
}

export interface Order {
  readonly url: string;
  readonly status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';
  /** The ordered names; empty if the authority does not repeat them. */
  readonly names: readonly string[];
  readonly expiresMs?: number;
  /** URLs. */
  readonly authorizations: readonly string[];
  readonly finalizeUrl: string;
  /** URL of the certificate; present when the order is valid. */
  readonly certificateUrl?: string;
  readonly problem?: Problem;
  /** Milliseconds to wait before the next poll. */
  readonly retryAfterMs?: number;
}

/** When to renew (RFC 9773). */
export interface RenewalWindow {
  readonly startMs: number;
  readonly endMs: number;
  /** Milliseconds until the next poll. */
  readonly retryAfterMs: number;
  /** A page for people that explains the window. */
  readonly explanationUrl?: string;
}

export interface OrderOptions {
  /** Identifier of the certificate that the new one replaces (RFC 9773 §5). */
  readonly replaces?: string;
  /** A profile from the directory. */
  readonly profile?: string;
  /** When the certificate is to end at the latest, milliseconds since 1970 (RFC 8555 §7.4). */
  readonly notAfterMs?: number;
}

/** Every method throws an {@link AuthorityError} when the authority refuses or cannot be reached. */
export interface Authority {
  readonly name: AuthorityName;
  /** Domains that identify this authority in CAA records (RFC 8659 §4.2). */
  caaIdentities(): Promise<readonly string[]>;
  /** The ordering account, as CAA records may require it in `accounturi` (RFC 8657 §3). */
  accountUri(): Promise<string>;
  /** `names`: host names in A-labels, lower case, a wildcard with `*.`. */
  createOrder(names: readonly string[], options?: OrderOptions): Promise<Order>;
  /**
   * Pending and ready orders for exactly these names, newest first, for finding out whether an order was created. Empty
   * if the authority lists none, which RFC 8555 §7.1.2.1 allows.
   */
  unfinishedOrders(names: readonly string[]): Promise<readonly Order[]>;
  order(url: string): Promise<Order>;
  authorization(url: string): Promise<Authorization>;
  /** The key authorization of a token (RFC 8555 §8.1): the body for http-01; see {@link dnsChallengeValue} for dns-01. */
  keyAuthorization(token: string): string;
  /** Tells the authority that the response is in place. */
  respond(challengeUrl: string): Promise<Challenge>;
  /** `csr`: PKCS #10, DER. */
  finalize(order: Order, csr: Uint8Array): Promise<Order>;
  /** The chain in PEM, the end-entity certificate first. */
  certificate(certificateUrl: string): Promise<string>;
  /** `certificate`: DER. `reason`: RFC 5280 §5.3.1. Revoking a revoked certificate is not an error. */
  revoke(certificate: Uint8Array, reason?: number): Promise<void>;
  /** Undefined if the authority has no renewal information. */
  renewalInfo(certificate: Uint8Array): Promise<RenewalWindow | undefined>;
}
