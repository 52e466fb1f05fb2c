/**
 * The certificates of a host with their opened keys. They are read at the first request for the host, and never issued here.
 */

import { certificatesFor } from '../../hostnames/routing/certificates-for.js';
import type { CertificateHolder } from '../../hostnames/routing/find-route.js';
import { issuedFor } from '../../store/certs/issued.js';
import { findRequest } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { CERTIFICATE_KEYS } from '../../store/sealed-columns.js';
import { VaultError } from '../../vault/errors.js';
import type { Vault } from '../../vault/vault.js';

/** Certificates for the same names, one for each kind of key. */
export interface ServedCertificate {
  /** `kind:id` of the owner. */
  readonly owner: string;
  /** Changes when any of the certificates changes. */
  readonly fingerprint: string;
  /** Host names and wildcards, lower case. */
  readonly names: readonly string[];
  /** When to choose again, milliseconds since 1970. */
  readonly goodUntil: number;
  readonly pairs: readonly { readonly chain: string; readonly key: string }[];
}

export interface CertificateSource {
  readonly store: Store;
  readonly vault: Vault;
}

/** Undefined if no certificate covers the host. Throws a VaultError if a key cannot be opened. */
export function findCertificate(
  { store, vault }: CertificateSource,
  host: string,
  holders: readonly CertificateHolder[],
  nowMs: number,
): ServedCertificate | undefined {
  const chosen = certificatesFor(store, host, holders, nowMs);
  if (!chosen) return undefined;
  const { owner, rows } = chosen;
  return {
    owner,
    fingerprint: rows.map(({ fingerprint }) => fingerprint).join(' '),
    names: JSON.parse(rows[0]!.names) as string[],
    goodUntil: Math.min(...rows.map(({ not_after }) => not_after)),
    pairs: rows.map((row) => ({
      chain: row.chain,
      key: pemOfKey(vault.open(CERTIFICATE_KEYS, row.id, new Uint8Array(row.private_key))),
    })),
  };
}

/** Whether the keys of all certificates of an owner, `kind:id`, open. True without a certificate. */
export function isUsable({ store, vault }: CertificateSource, owner: string): boolean {
  const [kind, id] = owner.split(':');
  const request = findRequest(store, kind!, id!);
  // An edge never serves the service's own certificate.
  if (!request || kind === 'service') return true;
  try {
    for (const row of issuedFor(store, request.seq)) {
      vault.open(CERTIFICATE_KEYS, row.id, new Uint8Array(row.private_key)).fill(0);
    }
    return true;
  } catch (error) {
    if (error instanceof VaultError) return false;
    throw error;
  }
}

/** PKCS #8 as PEM (RFC 7468 §10). */
function pemOfKey(der: Uint8Array): string {
  return `-----BEGIN PRIVATE KEY-----\n${Buffer.from(der).toString('base64')}\n-----END PRIVATE KEY-----\n`;
}
