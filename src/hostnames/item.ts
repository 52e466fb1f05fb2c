/** Custom hostnames as use cases hand them out: plain values, ready for any surface. Instants are microseconds since 1970. */
import type { CertificateState } from '../certs/certificate-state.js';
import type { CertificateOwner, CertificateRequest } from '../certs/certificates.js';
import { dcvTarget } from '../certs/dcv-delegation.js';
import { deployedOf } from '../certs/deployment.js';
import type { Store } from '../store/driver.js';
import { findFallbackOrigin } from '../store/hostnames/fallback-origins.js';
import type { HostnameRow } from '../store/hostnames/hostnames.js';
import type { ZoneRow } from '../store/zones/zones.js';
import { originFaults } from './fallback-origin.js';
import { withoutWildcard } from './name.js';
import { isProven, nextStep } from './next-step.js';
import { HTTP_TOKEN_PATH, txtTokenName, uniqueTarget } from './ownership.js';
import { type ReportedStatus, reportedSslStatus, reportedStatus } from './reported.js';
import type { SslConfiguration } from './ssl-input.js';

export interface SslItem {
  readonly configuration: SslConfiguration;
  /** Names the certificate covers. */
  readonly hosts: readonly string[];
  readonly state: CertificateState | undefined;
  /** Where the customer may delegate validation to, instead of putting records in place again and again. */
  readonly delegation: { readonly cname: string; readonly target: string };
}

export interface HostnameItem {
  /** A UUID. */
  readonly id: string;
  /** Lower-case A-labels without final dot. */
  readonly hostname: string;
  readonly status: ReportedStatus;
  readonly errors: readonly string[];
  /** Null: no certificate is wanted. */
  readonly ssl: SslItem | null;
  /** What proves that the hostname is meant for the zone, as a TXT record or at a URL. */
  readonly txt: { readonly name: string; readonly value: string };
  readonly http: { readonly url: string; readonly body: string };
  /** The name it must lead to; null: any name of the zone will do. */
  readonly target: string | null;
  /** Whether it is known to be meant for the zone, and whether it was ever seen to lead here. */
  readonly proven: boolean;
  readonly pointed: boolean;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly origin: string | null;
  readonly originSni: string | null;
  readonly createdAt: number;
  /** When it is checked again; null: it is not. */
  readonly nextCheckAt: number | null;
  /** Who must do what next, in words. */
  readonly nextStep: string;
  /** The name to which the CNAME record of its owner leads; null while the zone has none for that. */
  readonly cnameTarget: string | null;
}

export function hostnameItem(
  store: Store,
  row: HostnameRow,
  zone: ZoneRow,
  certificate: CertificateState | undefined,
): HostnameItem {
  const configuration = sslConfigurationOf(row);
  const host = withoutWildcard(row.hostname);
  const state = certificate && { ...certificate, status: reportedSslStatus(row.state, certificate) };
  const errors: readonly string[] = JSON.parse(row.errors);
  const txtName = txtTokenName(row.hostname);
  const target = zone.unique_targets === 1 ? uniqueTarget(row, zone.name) : null;
  const redeploying = isRedeploying(store, row);
  const pointed = row.pointed_at !== null;
  // What the records of the zone say at this moment: an active hostname keeps none.
  const faults = row.state === 'active' ? originFaults(store, zone, row.origin) : errors;
  return {
    id: row.id,
    hostname: row.hostname,
    status: reportedStatus(row.state, certificate, redeploying),
    errors,
    ssl: configuration && {
      configuration,
      hosts: certificateNames(row.hostname, configuration),
      state,
      delegation: { cname: `_acme-challenge.${host}`, target: dcvTarget(zone, host) },
    },
    txt: { name: txtName, value: row.txt_token },
    http: { url: `http://${host}${HTTP_TOKEN_PATH}${row.id}`, body: row.http_token },
    target,
    proven: isProven({ state: row.state, errors }),
    pointed,
    metadata: row.metadata === null ? null : JSON.parse(row.metadata),
    origin: row.origin,
    originSni: row.origin_sni,
    createdAt: row.created_at,
    nextCheckAt: row.next_check_ms === null ? null : row.next_check_ms * 1000,
    cnameTarget: target ?? findFallbackOrigin(store, zone.seq)?.origin ?? null,
    nextStep: nextStep({
      ...{ state: row.state, hostname: row.hostname, origin: row.origin, zone: zone.name },
      ...{ errors: faults, txtName, target, redeploying, pointed },
      fallbackOrigin: findFallbackOrigin(store, zone.seq)?.origin ?? null,
      certificate: configuration && state,
    }),
  };
}

/** Edited after its activation, and not every edge has read the edit. */
function isRedeploying(store: Store, { state, hostname, activated_at, modified_at }: HostnameRow): boolean {
  if (state !== 'active' || modified_at <= (activated_at ?? 0)) return false;
  return deployedOf(store, { kind: 'hostname', subject: hostname }) !== 'everywhere';
}

export function sslConfigurationOf({ ssl }: Pick<HostnameRow, 'ssl'>): SslConfiguration | null {
  return ssl === null ? null : (JSON.parse(ssl) as SslConfiguration);
}

export function certificateNames(hostname: string, { wildcard }: SslConfiguration): readonly string[] {
  return wildcard ? [hostname, `*.${hostname}`] : [hostname];
}

export function certificateOwner(id: string): CertificateOwner {
  return { kind: 'hostname', id };
}

export function certificateRequest(
  zone: number,
  hostname: string,
  configuration: SslConfiguration,
): CertificateRequest {
  return {
    names: certificateNames(hostname, configuration),
    method: configuration.method,
    authority: configuration.authority,
    zone,
  };
}
