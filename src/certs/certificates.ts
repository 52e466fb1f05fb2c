/**
 * Certificate requests of owners, and their state. A request is a row that is created, changed and dropped inside the
 * write of its owner; issuance/advance.ts does the rest step by step.
 */
import { invariant } from '../base/errors.js';
import { dropRequest, STEP_JOB } from '../control/certificates/drop.js';
import type { Draft } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { schedule } from '../jobs/schedule.js';
import { insertIssued, issuedFor, type NewIssued, removeIssued } from '../store/certs/issued.js';
import { findOrderUnderWay } from '../store/certs/orders.js';
import {
  findRequest,
  insertRequest,
  type RequestChange,
  type RequestRow,
  updateRequest,
} from '../store/certs/requests.js';
import type { Store } from '../store/driver.js';
import { removeJob } from '../store/jobs.js';
import { CERTIFICATE_KEYS } from '../store/sealed-columns.js';
import type { Vault } from '../vault/vault.js';
import type { AuthorityName } from './authority.js';
import type { CertificateChain } from './chain.js';
import { removeOrder } from './issuance/challenge-places.js';
import type { UploadedCertificate } from './upload.js';

/**
 * The owner of a certificate request. `id`: a custom hostname's UUID, a zone's hexadecimal identifier, or a service's
 * name.
 */
export interface CertificateOwner {
  readonly kind: 'hostname' | 'zone' | 'service';
  readonly id: string;
}

export interface CertificateRequest {
  /** A-labels, lower case, a wildcard as `*.x`; one or more. */
  readonly names: readonly string[];
  /** The method shown to the customer for proving control. If CAA records permit, the other method is also accepted. */
  readonly method: 'http' | 'txt';
  /** Empty: the default order. */
  readonly authority: AuthorityName | '';
  /** Store number of its zone. */
  readonly zone: number;
  /** The lifetime to ask for. Default: 90. */
  readonly validityDays?: number;
  /** The earliest time of an order, milliseconds since 1970. Default: now. */
  readonly notBeforeMs?: number;
}

/** As in the v4 API, without those that never occur here. */
export type CertificateStatus =
  | 'initializing'
  | 'initializing_timed_out'
  | 'pending_validation'
  | 'validation_timed_out'
  | 'caa_error'
  | 'pending_issuance'
  | 'issuance_timed_out'
  | 'pending_deployment'
  | 'holding_deployment'
  | 'deployment_timed_out'
  | 'active'
  | 'pending_expiration'
  | 'expired';

export interface CertificateError {
  readonly message: string;
  /** Who must act: the service's operator, the owner of the name, or the certificate authority. */
  readonly actor: 'provider' | 'customer' | 'ca';
}

/** The lifetime of certificates for which no other is asked, days. */
export const USUAL_DAYS = 90;

type WriteContext = Pick<Context, 'store' | 'clock' | 'random'>;

/**
 * Creates or changes an owner's request, inside a write. Other names, another method or authority lead to a new order,
 * while the old certificate stays in use. The same values lead to a new check of what is pending, with the same tokens
 * while they are valid.
 */
export function putCertificateRequest(
  ctx: WriteContext,
  owner: CertificateOwner,
  { names, method, authority, zone, validityDays = USUAL_DAYS, notBeforeMs = 0 }: CertificateRequest,
): void {
  invariant(names.length > 0, 'a certificate has names');
  const { store, clock, random } = ctx;
  const nowMs = clock.nowMs();
  const orderMs = Math.max(nowMs, notBeforeMs);
  const wanted = { names: JSON.stringify(names), method, authority, zone, validity_days: validityDays };
  const row = findRequest(store, owner.kind, owner.id);
  if (!row) {
    const at = { status: 'initializing', started_at: nowMs, next_at: orderMs };
    insertRequest(store, { id: random.uuid(), owner_kind: owner.kind, owner: owner.id, ...wanted, ...at });
    planStep(ctx, owner, orderMs);
    return;
  }
  const same = row.uploaded === 0 && isSame(row, wanted);
  if (same) refreshCertificate(ctx, owner, notBeforeMs);
  else {
    updateRequest(store, row.seq, { ...wanted, ...beginAnew(row, nowMs), next_at: orderMs });
    planStep(ctx, owner, orderMs);
  }
}

type Wanted = Pick<RequestRow, 'names' | 'method' | 'authority' | 'validity_days'>;

function isSame(row: Wanted, wanted: Wanted): boolean {
  return (['names', 'method', 'authority', 'validity_days'] as const).every((column) => row[column] === wanted[column]);
}

function planStep({ store, clock }: WriteContext, { kind, id }: CertificateOwner, runAtMs: number): void {
  schedule(store, { kind: STEP_JOB, subject: `${kind}:${id}`, runAtMs }, clock.nowMs());
}

/**
 * Checks again what is pending, with the same tokens while they are valid; requests that timed out or were suspended
 * start again. No order is created before `notBeforeMs`. Inside a write.
 */
export function refreshCertificate(ctx: WriteContext, owner: CertificateOwner, notBeforeMs = 0): void {
  const { store, clock } = ctx;
  const row = findRequest(store, owner.kind, owner.id);
  if (!row || row.uploaded === 1) return;
  const nowMs = clock.nowMs();
  const atMs = findOrderUnderWay(store, row.seq) ? nowMs : Math.max(nowMs, notBeforeMs);
  const change = lookAgain(row, nowMs);
  if (change) updateRequest(store, row.seq, { ...change, next_at: atMs });
  planStep(ctx, owner, atMs);
}

/** Undefined: the certificate is renewed at its usual time. */
function lookAgain(row: RequestRow, nowMs: number): RequestChange | undefined {
  // A suspended certificate has no next step.
  if (row.status === 'active' && row.renewal === 0) return row.next_at === null ? {} : undefined;
  const over = row.status.endsWith('_timed_out');
  return {
    failures: 0,
    refused: '[]',
    ...(over && { status: 'initializing', errors: '[]', started_at: nowMs }),
  };
}

function beginAnew(row: RequestRow, nowMs: number): RequestChange {
  const round = { status: 'initializing', errors: '[]', refused: '[]', failures: 0, renewal: 0, started_at: nowMs };
  return { ...round, chosen: '', uploaded: 0, version: row.version + 1, renew_at: null };
}

/**
 * Stops issuance for the owner and gives up its order, until {@link refreshCertificate}. An existing certificate is
 * still served, but not renewed. Inside a commit.
 */
export function suspendCertificate(store: Store, draft: Draft, owner: CertificateOwner): void {
  const row = findRequest(store, owner.kind, owner.id);
  if (!row || row.uploaded === 1) return;
  const order = findOrderUnderWay(store, row.seq);
  if (order) removeOrder(store, draft, order);
  const status = issuedFor(store, row.seq).length > 0 ? 'active' : 'validation_timed_out';
  // A step in progress belongs to another version and has no effect.
  updateRequest(store, row.seq, { status, renewal: 0, failures: 0, version: row.version + 1, next_at: null });
  removeJob(store, STEP_JOB, `${owner.kind}:${owner.id}`);
}

/** Ends serving for the owner. Its certificates are revoked and its keys removed soon after. Inside a write. */
export function dropCertificateRequest(ctx: WriteContext, owner: CertificateOwner): void {
  const row = findRequest(ctx.store, owner.kind, owner.id);
  if (row) dropRequest(ctx, row);
}

/**
 * Stores uploaded certificates, after upload.ts has checked them, replacing all others of the owner. They are never
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
  // A pending order ends, because it belongs to another version.
  updateRequest(store, row.seq, {
    uploaded: 1,
    status: 'active',
    version: row.version + 1,
    renewal: 0,
    errors: '[]',
    renew_at: null,
  });
  replaceIssued(
    store,
    row,
    bundle.map((certificate) => uploadedRow(vault, row, random.uuid(), certificate)),
  );
}

/** The row of a certificate that a customer brought, with its sealed key. */
export function uploadedRow(
  vault: Vault,
  request: Pick<RequestRow, 'seq'>,
  id: string,
  certificate: UploadedCertificate,
): NewIssued {
  const private_key = vault.seal(CERTIFICATE_KEYS, id, certificate.privateKey);
  return { ...issuedRow(request, certificate), id, private_key, authority: '', uploaded: 1, renewal: 0 };
}

/** `rows`: the served one first. Inside a write. */
export function replaceIssued(store: Store, { seq }: Pick<RequestRow, 'seq'>, rows: readonly NewIssued[]): void {
  removeIssued(store, seq);
  // The newest row is served.
  for (const row of [...rows].reverse()) insertIssued(store, row);
}

/** The columns that come from a chain. */
export function issuedRow(
  { seq }: Pick<RequestRow, 'seq'>,
  chain: CertificateChain,
): Omit<NewIssued, 'id' | 'private_key' | 'authority' | 'uploaded' | 'renewal'> {
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
