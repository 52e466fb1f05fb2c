/**
 * The service's own certificate, for the admin API and for DNS over TLS and HTTPS. If an authority is reached over
 * ACME, it is requested like any other. Until then, and otherwise, the built-in authority signs one directly: clients
 * that trust its root trust this machine. That certificate also covers addresses.
 */
import { createPrivateKey, createPublicKey } from 'node:crypto';
import type { Context } from '../control/kernel/context.js';
import { parseName } from '../dns/name.js';
import { findZoneFor } from '../serving/name-owner.js';
import { issuedFor } from '../store/certs/issued.js';
import { findRequest } from '../store/certs/requests.js';
import type { Store } from '../store/driver.js';
import { CERTIFICATE_KEYS } from '../store/sealed-columns.js';
import {
  type CertificateOwner,
  type CertificateRequest,
  dropCertificateRequest,
  putCertificateRequest,
} from './certificates.js';
import { generatePrivateKey } from './csr.js';
import { BACKDATE_MS, type IssuerOptions, intermediateOf } from './embedded/issuers.js';
import { signLeaf } from './embedded/leaf.js';
import type { CertificateContext } from './issuance/context.js';

/** PEM: the chain, beginning with the end-entity certificate, and its key. */
export interface OwnCertificate {
  readonly certificate: string;
  readonly key: string;
  /** Milliseconds since 1970, both. */
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
}

/** The job that gives the listeners of the service a new certificate; there is no more than one, without a subject. */
export const OWN_CERTIFICATE_JOB = 'own_certificate';

const OWNER: CertificateOwner = { kind: 'service', id: 'tls' };
/** The zone number for names outside our zones. */
const NO_ZONE = 0;
const LIFETIME_MS = 90 * 86_400_000;

/**
 * Requests a certificate for host names, or drops an existing request that no authority could fulfil. Inside a write.
 */
export function keepOwnRequest(ctx: CertificateContext, names: readonly string[]): void {
  const wanted = requestFor(ctx, names);
  const row = findRequest(ctx.store, OWNER.kind, OWNER.id);
  if (!wanted) dropCertificateRequest(ctx, OWNER);
  else if (row?.names !== JSON.stringify(names) || row.zone !== wanted.zone) putCertificateRequest(ctx, OWNER, wanted);
}

/** Drops the request when no certificate is wanted any more. Inside a write. */
export function dropOwnRequest(ctx: Pick<Context, 'store' | 'clock' | 'random'>): void {
  dropCertificateRequest(ctx, OWNER);
}

function requestFor(
  { store, authorities, defaultOrder }: CertificateContext,
  names: readonly string[],
): CertificateRequest | undefined {
  if (!defaultOrder.some((name) => authorities.isOutside(name))) return undefined;
  const zones = names.map((name) => findZoneFor(store, parseName(`${name}.`), undefined));
  const [first] = zones;
  const own = first !== undefined && zones.every((zone) => zone !== undefined);
  return { names, method: own ? 'txt' : 'http', authority: '', zone: own ? first.seq : NO_ZONE };
}

/** Whether a certificate was requested but not issued yet. */
export function isOwnPending(store: Store): boolean {
  const row = findRequest(store, OWNER.kind, OWNER.id);
  return row !== undefined && issuedFor(store, row.seq).length === 0;
}

/** The issued certificate, while it is valid. */
export function issuedOwnCertificate({ store, vault, clock }: CertificateContext): OwnCertificate | undefined {
  const row = findRequest(store, OWNER.kind, OWNER.id);
  const issued = row && issuedFor(store, row.seq)[0];
  if (!issued || issued.not_after <= clock.nowMs()) return undefined;
  const plain = vault.open(CERTIFICATE_KEYS, issued.id, new Uint8Array(issued.private_key));
  const key = createPrivateKey({ key: Buffer.from(plain), format: 'der', type: 'pkcs8' });
  plain.fill(0);
  return {
    certificate: issued.chain,
    key: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
    notBeforeMs: issued.not_before,
    notAfterMs: issued.not_after,
  };
}

/** Signed by the built-in authority and not stored. `names`: host names and IP addresses. */
export async function signOwnCertificate(options: IssuerOptions, names: readonly string[]): Promise<OwnCertificate> {
  const { clock, random } = options;
  const issuer = await intermediateOf(options, 'google');
  const key = await generatePrivateKey();
  const publicKey = new Uint8Array(createPublicKey(key).export({ format: 'der', type: 'spki' }));
  const nowMs = clock.nowMs();
  const validity = { startMs: nowMs - BACKDATE_MS, endMs: nowMs + LIFETIME_MS };
  // Programs made with GnuTLS, such as kdig, refuse certificates without a subject.
  const leaf = await signLeaf(issuer, names, { publicKey, isRsa: false }, validity, random, 'CN=Zoneplane');
  return {
    certificate: `${leaf.toString('pem')}\n${issuer.certificate.toString('pem')}\n`,
    key: key.export({ format: 'pem', type: 'pkcs8' }).toString(),
    notBeforeMs: validity.startMs,
    notAfterMs: validity.endMs,
  };
}

/** Whether a third of its lifetime or less is left, or it is not valid yet, because the clock was ahead. */
export function isOwnOld({ notBeforeMs, notAfterMs }: OwnCertificate, nowMs: number): boolean {
  return notAfterMs - nowMs < LIFETIME_MS / 3 || notBeforeMs > nowMs;
}
