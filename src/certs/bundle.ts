/** One certificate of those that a customer brought: replaced or deleted, while the others stay. Inside a write. */
import { type IssuedRow, issuedFor } from '../store/certs/issued.js';
import { findRequest, type RequestRow } from '../store/certs/requests.js';
import type { Store } from '../store/driver.js';
import type { Vault } from '../vault/vault.js';
import { type CertificateOwner, replaceIssued, uploadedRow } from './certificates.js';
import { parseCertificates } from './chain.js';
import type { UploadedCertificate } from './upload.js';

/** Which certificate: the identifiers of the request, which clients call a pack, and of the certificate. */
export interface BundleItem {
  readonly pack: string;
  readonly certificate: string;
}

export type BundleFault = 'no such pack' | 'not brought' | 'no such certificate' | 'other key' | 'last';

/** The new certificate keeps the identifier. It must have the kind of key of the old one. */
export function replaceInBundle(
  { store, vault }: { readonly store: Store; readonly vault: Vault },
  owner: CertificateOwner,
  item: BundleItem,
  certificate: UploadedCertificate,
): BundleFault | undefined {
  const found = find(store, owner, item);
  if (typeof found === 'string') return found;
  const { request, rows, row } = found;
  if (keyTypeOf(row) !== certificate.keyType) return 'other key';
  const next = uploadedRow(vault, request, row.id, certificate);
  replaceIssued(
    store,
    request,
    rows.map((other) => (other === row ? next : other)),
  );
  return undefined;
}

export function deleteFromBundle(store: Store, owner: CertificateOwner, item: BundleItem): BundleFault | undefined {
  const found = find(store, owner, item);
  if (typeof found === 'string') return found;
  const { request, rows, row } = found;
  if (rows.length === 1) return 'last';
  replaceIssued(
    store,
    request,
    rows.filter((other) => other !== row),
  );
  return undefined;
}

interface Found {
  readonly request: RequestRow;
  /** The served one first. */
  readonly rows: readonly IssuedRow[];
  readonly row: IssuedRow;
}

function find(store: Store, owner: CertificateOwner, { pack, certificate }: BundleItem): Found | BundleFault {
  const request = findRequest(store, owner.kind, owner.id);
  if (request?.id !== pack.toLowerCase()) return 'no such pack';
  if (request.uploaded === 0) return 'not brought';
  const rows = issuedFor(store, request.seq);
  const row = rows.find(({ id }) => id === certificate.toLowerCase());
  return row ? { request, rows, row } : 'no such certificate';
}

function keyTypeOf({ chain }: IssuedRow): UploadedCertificate['keyType'] {
  return parseCertificates(chain)[0]!.publicKey.asymmetricKeyType === 'rsa' ? 'rsa' : 'ecdsa';
}
