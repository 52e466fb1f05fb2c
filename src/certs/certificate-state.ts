/** The reported state of an owner's certificate: its status, the validation records, its errors, and what is served. */
import { type IssuedRow, issuedFor } from '../store/certs/issued.js';
import { challengesOfOrder, findOrderUnderWay, type StoredChallengeRow } from '../store/certs/orders.js';
import { findRequest, type RequestRow } from '../store/certs/requests.js';
import type { Store } from '../store/driver.js';
import { AUTHORITY_NAMES, type AuthorityName, isBuiltInIssuer } from './authority.js';
import type { CertificateError, CertificateOwner, CertificateStatus } from './certificates.js';
import { type Deployed, deployedOf } from './deployment.js';
import { CHALLENGE_PATH } from './http-challenge.js';

/** What the customer must publish: a TXT record, or a file at a URL. */
export type ValidationRecord =
  | { readonly status: 'pending' | 'valid'; readonly txtName: string; readonly txtValue: string }
  | { readonly status: 'pending' | 'valid'; readonly httpUrl: string; readonly httpBody: string };

/** Times in milliseconds since 1970. */
export interface IssuedCertificate {
  readonly id: string;
  readonly issuer: string;
  /** Hexadecimal digits, lower case. */
  readonly serialNumber: string;
  /** The algorithm, such as `ECDSA-SHA256`. */
  readonly signature: string;
  readonly issuedOnMs: number;
  readonly expiresOnMs: number;
  /** Hexadecimal digits, lower case. */
  readonly fingerprintSha256: string;
  readonly uploaded: boolean;
  /** Who really issued it, whatever authority was asked for. */
  readonly issuedBy: IssuedBy;
}

/** `built_in`: the authority of this installation, in place of the one that was asked for. */
export const ISSUED_BY = ['built_in', 'uploaded', ...AUTHORITY_NAMES] as const;
export type IssuedBy = (typeof ISSUED_BY)[number];

export interface CertificateState {
  /** UUID, unchanged while the owner needs a certificate. */
  readonly id: string;
  readonly status: CertificateStatus;
  /** The authority in use; empty before the first choice, and for uploaded certificates. */
  readonly authority: AuthorityName | '';
  readonly requestedAuthority: AuthorityName | '';
  readonly names: readonly string[];
  readonly method: 'http' | 'txt';
  /** The lifetime that is asked for. */
  readonly validityDays: number;
  readonly records: readonly ValidationRecord[];
  /** The oldest cause first. */
  readonly errors: readonly CertificateError[];
  /** The served one first. */
  readonly certificates: readonly IssuedCertificate[];
  /** Whether there is a certificate that is valid now. */
  readonly serving: boolean;
  readonly uploaded: boolean;
}

const DAY_MS = 86_400_000;
const NOT_DEPLOYED: CertificateError = { message: 'The edge does not serve the certificate yet.', actor: 'provider' };

export function stateOfCertificate(store: Store, owner: CertificateOwner, nowMs: number): CertificateState | undefined {
  return store.snapshot(() => {
    const row = findRequest(store, owner.kind, owner.id);
    return row && stateOf(store, row, nowMs);
  });
}

/** By owner identifier; owners without a certificate request are omitted. */
export function statesOfCertificates(
  store: Store,
  kind: CertificateOwner['kind'],
  ids: readonly string[],
  nowMs: number,
): Map<string, CertificateState> {
  return store.snapshot(() => {
    const states = new Map<string, CertificateState>();
    for (const id of ids) {
      const row = findRequest(store, kind, id);
      if (row) states.set(id, stateOf(store, row, nowMs));
    }
    return states;
  });
}

/** Call inside a snapshot. */
export function stateOf(store: Store, row: RequestRow, nowMs: number): CertificateState {
  const issued = issuedFor(store, row.seq);
  const order = findOrderUnderWay(store, row.seq);
  const challenges = order?.version === row.version ? challengesOfOrder(store, order.seq) : [];
  const serving = issued.filter(({ not_before, not_after }) => not_before <= nowMs && nowMs < not_after);
  const status = reportedStatus(row, issued[0], deploymentOf(store, row, issued[0]), nowMs);
  return {
    id: row.id,
    status,
    authority: row.chosen as AuthorityName | '',
    requestedAuthority: row.authority as AuthorityName | '',
    names: JSON.parse(row.names),
    method: row.method,
    validityDays: row.validity_days,
    records: challenges.flatMap((challenge) => recordOf(challenge, row.method)),
    errors: status === 'deployment_timed_out' ? [NOT_DEPLOYED] : JSON.parse(row.errors),
    certificates: issued.map(viewIssued),
    serving: serving.length > 0,
    uploaded: row.uploaded === 1,
  };
}

/** Edges do not serve the service's own certificate. After a renewal, they serve the old one until they read the new one. */
function deploymentOf(store: Store, { owner_kind, owner }: RequestRow, issued: IssuedRow | undefined): Deployed {
  if (!issued || issued.renewal === 1 || owner_kind === 'service') return 'everywhere';
  return deployedOf(store, { kind: 'certificate', subject: `${owner_kind}:${owner}` });
}

/** A renewal is reported only when CAA forbids it or time runs out. */
function reportedStatus(
  row: RequestRow,
  issued: IssuedRow | undefined,
  deployed: Deployed,
  nowMs: number,
): CertificateStatus {
  if (row.status === 'caa_error' || !issued) return row.status as CertificateStatus;
  if (row.status !== 'active' && row.renewal === 0) return row.status as CertificateStatus;
  const leftMs = issued.not_after - nowMs;
  if (leftMs <= 0) return 'expired';
  if (deployed !== 'everywhere') return deployed === 'late' ? 'deployment_timed_out' : 'pending_deployment';
  return leftMs < Math.min(7 * DAY_MS, (issued.not_after - issued.not_before) / 10) ? 'pending_expiration' : 'active';
}

/** Only dns-01 proves control over a wildcard (RFC 8555 §8.3). */
function recordOf(
  { type, identifier, wildcard, token, value, status }: StoredChallengeRow,
  method: 'http' | 'txt',
): ValidationRecord[] {
  const shown = method === 'txt' || wildcard === 1 ? 'dns-01' : 'http-01';
  if (type !== shown) return [];
  const state = { status: status === 'valid' ? ('valid' as const) : ('pending' as const) };
  return type === 'dns-01'
    ? [{ ...state, txtName: `_acme-challenge.${identifier}`, txtValue: value }]
    : [{ ...state, httpUrl: `http://${identifier}${CHALLENGE_PATH}${token}`, httpBody: value }];
}

function viewIssued(row: IssuedRow): IssuedCertificate {
  return {
    id: row.id,
    issuer: row.issuer,
    serialNumber: row.serial,
    signature: row.signature,
    issuedOnMs: row.not_before,
    expiresOnMs: row.not_after,
    fingerprintSha256: row.fingerprint,
    uploaded: row.uploaded === 1,
    issuedBy: issuedBy(row),
  };
}

function issuedBy({ uploaded, issuer, authority }: IssuedRow): IssuedBy {
  if (uploaded === 1) return 'uploaded';
  return isBuiltInIssuer(issuer) ? 'built_in' : (authority as AuthorityName);
}
