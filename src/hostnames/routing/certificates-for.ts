/** Which certificates serve a host: the one rule for the edge and for explanations. */
import { fromHex } from '../../base/bytes.js';
import { isCovered } from '../../dns/certified.js';
import { lastingRequests } from '../../serving/certified-names.js';
import { type IssuedRow, issuedFor } from '../../store/certs/issued.js';
import { findRequest, type RequestRow } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { findZoneById } from '../../store/zones/zones.js';
import type { CertificateHolder } from './find-route.js';

export interface HostCertificates {
  /** `kind:id`, as in {@link CertificateHolder}. */
  readonly owner: string;
  /** One for each kind of key, at least one. */
  readonly rows: readonly IssuedRow[];
}

/**
 * Those of the first holder with a valid one for the host. An expired one is used only if no holder has another. Undefined if
 * no certificate covers the host.
 */
export function certificatesFor(
  store: Store,
  host: string,
  holders: readonly CertificateHolder[],
  nowMs: number,
): HostCertificates | undefined {
  const candidates = holders
    .map((holder) => ({ owner: `${holder.kind}:${holder.id}`, rows: chooseRows(store, holder, host, nowMs) }))
    .filter(({ rows }) => rows.length > 0);
  return candidates.find(({ rows }) => isValid(rows[0]!, nowMs)) ?? candidates[0];
}

/** The newest valid certificate and those uploaded with it. An expired one is used only if there is no other. */
function chooseRows(store: Store, holder: CertificateHolder, host: string, nowMs: number): readonly IssuedRow[] {
  const rows = requestsOf(store, holder)
    .flatMap(({ seq }) => issuedFor(store, seq))
    .filter(({ names }) => isCovered(host, JSON.parse(names) as string[]));
  const best = rows.find((row) => isValid(row, nowMs)) ?? rows[0];
  if (!best) return [];
  return best.uploaded === 1 ? rows.filter((row) => row.uploaded === 1) : [best];
}

/** A zone has its universal certificate and those that were ordered for it. */
function requestsOf(store: Store, { kind, id }: CertificateHolder): readonly RequestRow[] {
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
