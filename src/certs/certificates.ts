/**
 * Who needs a certificate, and what became of it. A need is a row that is put, changed and dropped inside the write of what needs
 * it; issuance/advance.ts does the rest, step by step.
 */
import { invariant } from '../base/errors.js';
import type { Context } from '../control/write/context.js';
import { schedule } from '../jobs/schedule.js';
import { insertIssued, type NewIssued, removeIssued } from '../store/certs/issued.js';
import {
  findRequest,
  insertRequest,
  type RequestChange,
  type RequestRow,
  updateRequest,
} from '../store/certs/requests.js';
import { CERTIFICATE_KEYS } from '../store/sealed-columns.js';
import type { Vault } from '../vault/vault.js';
import type { AuthorityName } from './authority.js';
import type { CertificateChain } from './chain.js';
import type { UploadedCertificate } from './upload.js';

/** Who needs a certificate. `id`: a custom hostname's UUID, a zone's hexadecimal identifier, a service's name. */
export interface CertificateOwner {
  readonly kind: 'hostname' | 'zone' | 'service';
  readonly id: string;
}

export interface CertificateRequest {
  /** A-labels, lower case, a wildcard as `*.x`; at least one. */
  readonly names: readonly string[];
  /** How control is proved: shown to the customer. Where CAA records permit, the other method is good, too. */
  readonly method: 'http' | 'txt';
  /** Empty: the default order. */
  readonly authority: AuthorityName | '';
  /** Store number of the zone it belongs to. */
  readonly zone: number;
}

/** As the v4 API has them; those that nothing here produces are left out. */
export type CertificateStatus =
  | 'initializing'
  | 'initializing_timed_out'
  | 'pending_validation'
  | 'validation_timed_out'
  | 'caa_error'
  | 'pending_issuance'
  | 'issuance_timed_out'
  | 'pending_deployment'
  | 'active'
  | 'pending_expiration'
  | 'expired';

export interface CertificateError {
  readonly message: string;
  /** Who must act: the service's operator, the owner of the name, or the certificate authority. */
  readonly actor: 'provider' | 'customer' | 'ca';
}

/** The kinds of jobs that certificates have. The subject of the first is `kind:id` of the owner, of the second the need's identifier. */
export const STEP_JOB = 'certificate';
export const REVOKE_JOB = 'revoke';

type WriteContext = Pick<Context, 'store' | 'clock' | 'random'>;

/**
 * Notes or changes what an owner needs, inside a write. Other names, another method or authority: a new order, while the old
 * certificate serves on. The same again: what is pending is looked at anew, with the same tokens as long as they are good.
 */
export function putCertificateRequest(
  ctx: WriteContext,
  owner: CertificateOwner,
  { names, method, authority, zone }: CertificateRequest,
): void {
  invariant(names.length > 0, 'a certificate has names');
  const { store, clock, random } = ctx;
  const nowMs = clock.nowMs();
  const wanted = { names: JSON.stringify(names), method, authority, zone };
  const row = findRequest(store, owner.kind, owner.id);
  schedule(store, { kind: STEP_JOB, subject: `${owner.kind}:${owner.id}`, runAtMs: nowMs }, nowMs);
  if (!row) {
    const at = { status: 'initializing', started_at: nowMs, next_at: nowMs };
    insertRequest(store, { id: random.uuid(), owner_kind: owner.kind, owner: owner.id, ...wanted, ...at });
    return;
  }
  const same = row.uploaded === 0 && row.names === wanted.names && row.method === method && row.authority === authority;
  updateRequest(store, row.seq, { ...wanted, ...(same ? lookAgain(row, nowMs) : beginAnew(row, nowMs)) });
}

function lookAgain(row: RequestRow, nowMs: number): RequestChange {
  if (row.status === 'active' && row.renewal === 0) return {};
  const over = row.status.endsWith('_timed_out');
  return {
    next_at: nowMs,
    failures: 0,
    refused: '[]',
    ...(over && { status: 'initializing', errors: '[]', started_at: nowMs }),
  };
}

function beginAnew(row: RequestRow, nowMs: number): RequestChange {
  const round = { status: 'initializing', errors: '[]', refused: '[]', failures: 0, renewal: 0, started_at: nowMs };
  return { ...round, chosen: '', uploaded: 0, version: row.version + 1, next_at: nowMs, renew_at: null };
}

/** Nothing is served for the owner from now on. Its certificates are revoked and its keys removed soon after. Inside a write. */
export function dropCertificateRequest({ store, clock }: WriteContext, owner: CertificateOwner): void {
  const row = findRequest(store, owner.kind, owner.id);
  const nowMs = clock.nowMs();
  if (!row) return;
  updateRequest(store, row.seq, { dropped_at: nowMs, next_at: null });
  schedule(store, { kind: REVOKE_JOB, subject: row.id, runAtMs: nowMs }, nowMs);
}

/**
 * Keeps certificates that somebody brought, after upload.ts has checked them, in the place of all the owner has. They are never
 * renewed. Inside a write.
 */
export function uploadCertificate(
  ctx: WriteContext & { readonly vault: Vault },
  owner: CertificateOwner,
  { names, zone }: Pick<CertificateRequest, 'names' | 'zone'>,
  bundle: readonly UploadedCertificate[],
): void {
  const { store, random, vault } = ctx;
  const known = findRequest(store, owner.kind, owner.id);
  putCertificateRequest(ctx, owner, { names, zone, method: known?.method ?? 'txt', authority: '' });
  const row = findRequest(store, owner.kind, owner.id)!;
  // An order that is under way ends: it was made for another version.
  updateRequest(store, row.seq, {
    uploaded: 1,
    status: 'active',
    version: row.version + 1,
    renewal: 0,
    errors: '[]',
    renew_at: null,
  });
  removeIssued(store, row.seq);
  // The first one serves: that is the newest.
  for (const certificate of [...bundle].reverse()) {
    const id = random.uuid();
    const private_key = vault.seal(CERTIFICATE_KEYS, id, certificate.privateKey);
    insertIssued(store, { ...issuedRow(row, certificate), id, private_key, authority: '', uploaded: 1 });
  }
}

/** The columns that a chain fills. */
export function issuedRow(
  { seq }: Pick<RequestRow, 'seq'>,
  chain: CertificateChain,
): Omit<NewIssued, 'id' | 'private_key' | 'authority' | 'uploaded'> {
  return {
    request: seq,
    names: JSON.stringify(chain.names),
    chain: chain.pem,
    issuer: chain.issuer,
    serial: chain.serial,
    signature: chain.signatureAlgorithm,
    fingerprint: chain.fingerprint,
    not_before: chain.notBeforeMs,
    not_after: chain.notAfterMs,
  };
}
