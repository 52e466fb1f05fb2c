/** The certificates of a host with their opened keys. They are read at the first request for the host, and never issued here. */
import { isCovered } from '../../certs/chain.js';
import type { CertificateHolder } from '../../hostnames/routing/find-route.js';
import { type IssuedRow, issuedFor } from '../../store/certs/issued.js';
import { findRequest } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { CERTIFICATE_KEYS } from '../../store/sealed-columns.js';
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

/** The certificates of the first owner that cover the host; undefined if there are none. Throws a VaultError if a key cannot be opened. */
export function findCertificate(
  { store, vault }: CertificateSource,
  host: string,
  holders: readonly CertificateHolder[],
  nowMs: number,
): ServedCertificate | undefined {
  for (const { kind, id } of holders) {
    const rows = chooseRows(store, kind, id, host, nowMs);
    if (rows.length === 0) continue;
    return {
      owner: `${kind}:${id}`,
      fingerprint: rows.map(({ fingerprint }) => fingerprint).join(' '),
      names: JSON.parse(rows[0]!.names) as string[],
      goodUntil: Math.min(...rows.map(({ not_after }) => not_after)),
      pairs: rows.map((row) => ({
        chain: row.chain,
        key: pemOfKey(vault.open(CERTIFICATE_KEYS, row.id, new Uint8Array(row.private_key))),
      })),
    };
  }
  return undefined;
}

/** The newest valid certificate and those uploaded with it. An expired one is used only if there is no other. */
function chooseRows(store: Store, kind: string, id: string, host: string, nowMs: number): IssuedRow[] {
  const request = findRequest(store, kind, id);
  if (!request) return [];
  const rows = issuedFor(store, request.seq).filter(({ names }) => isCovered(host, JSON.parse(names) as string[]));
  const best = rows.find((row) => isValid(row, nowMs)) ?? rows[0];
  if (!best) return [];
  return best.uploaded === 1 ? rows.filter((row) => row.uploaded === 1) : [best];
}

function isValid({ not_before, not_after }: IssuedRow, nowMs: number): boolean {
  return not_before <= nowMs && nowMs < not_after;
}

/** PKCS #8 as PEM (RFC 7468 §10). */
function pemOfKey(der: Uint8Array): string {
  return `-----BEGIN PRIVATE KEY-----\n${Buffer.from(der).toString('base64')}\n-----END PRIVATE KEY-----\n`;
}
