/** The certificates of a host with their opened keys. They are read at the first request for the host, and never issued here. */

import { fromHex } from '../../base/bytes.js';
import { isCovered } from '../../dns/certified.js';
import type { CertificateHolder } from '../../hostnames/routing/find-route.js';
import { lastingRequests } from '../../serving/certified-names.js';
import { type IssuedRow, issuedFor } from '../../store/certs/issued.js';
import { findRequest, type RequestRow } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { CERTIFICATE_KEYS } from '../../store/sealed-columns.js';
import { findZoneById } from '../../store/zones/zones.js';
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

/**
 * The certificates of the first owner with a valid one for the host; an expired one is used only if no owner has another. Undefined
 * if there are none. Throws a VaultError if a key cannot be opened.
 */
export function findCertificate(
  { store, vault }: CertificateSource,
  host: string,
  holders: readonly CertificateHolder[],
  nowMs: number,
): ServedCertificate | undefined {
  const candidates = holders
    .map(({ kind, id }) => ({ owner: `${kind}:${id}`, rows: chooseRows(store, kind, id, host, nowMs) }))
    .filter(({ rows }) => rows.length > 0);
  const chosen = candidates.find(({ rows }) => isValid(rows[0]!, nowMs)) ?? candidates[0];
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

/** The newest valid certificate and those uploaded with it. An expired one is used only if there is no other. */
function chooseRows(
  store: Store,
  kind: CertificateHolder['kind'],
  id: string,
  host: string,
  nowMs: number,
): IssuedRow[] {
  const rows = requestsOf(store, kind, id)
    .flatMap(({ seq }) => issuedFor(store, seq))
    .filter(({ names }) => isCovered(host, JSON.parse(names) as string[]));
  const best = rows.find((row) => isValid(row, nowMs)) ?? rows[0];
  if (!best) return [];
  return best.uploaded === 1 ? rows.filter((row) => row.uploaded === 1) : [best];
}

/** A zone has its universal certificate and those that were ordered for it. */
function requestsOf(store: Store, kind: CertificateHolder['kind'], id: string): readonly RequestRow[] {
  if (kind === 'zone') {
    const zone = findZoneById(store, fromHex(id)!);
    return zone ? lastingRequests(store, zone.seq) : [];
  }
  const request = findRequest(store, kind, id);
  return request ? [request] : [];
}

function isValid({ not_before, not_after }: IssuedRow, nowMs: number): boolean {
  return not_before <= nowMs && nowMs < not_after;
}

/** PKCS #8 as PEM (RFC 7468 §10). */
function pemOfKey(der: Uint8Array): string {
  return `-----BEGIN PRIVATE KEY-----\n${Buffer.from(der).toString('base64')}\n-----END PRIVATE KEY-----\n`;
}
