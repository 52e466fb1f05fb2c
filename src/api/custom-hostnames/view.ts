/** Custom hostnames as v4 clients read them (v4: §10.3). */
import type { CertificateState, IssuedCertificate, ValidationRecord } from '../../certs/certificate-state.js';
import type { FallbackOriginItem } from '../../hostnames/fallback-origin.js';
import type { HostnameItem, SslItem } from '../../hostnames/item.js';
import { authorityOf } from '../../hostnames/list.js';
import { printTime } from '../times.js';
import type { CustomHostname, FallbackOrigin, Ssl } from './schema.js';

export function hostnameView(item: HostnameItem): CustomHostname {
  const { id, hostname, status, errors, txt, http, target, metadata, origin, originSni } = item;
  return {
    id,
    hostname,
    ssl: item.ssl && sslView(item.ssl),
    status,
    ...(errors.length > 0 && { verification_errors: errors }),
    ownership_verification: { type: 'txt', name: txt.name, value: txt.value },
    ownership_verification_http: { http_url: http.url, http_body: http.body },
    ...(target !== null && { ownership_verification_cname: { cname: hostname, cname_target: target } }),
    ...{ proven: item.proven, pointed: item.pointed },
    ...(metadata && { custom_metadata: { ...metadata } }),
    ...(origin !== null && { custom_origin_server: origin }),
    ...(originSni !== null && { custom_origin_sni: originSni }),
    created_at: printTime(item.createdAt),
    ...(item.nextCheckAt !== null && { next_check_at: printTime(item.nextCheckAt) }),
    next_step: item.nextStep,
  };
}

function sslView({ configuration, hosts, state, delegation }: SslItem): Ssl {
  const { method, type, bundleMethod, wildcard, settings } = configuration;
  return {
    ...(state && { id: state.id }),
    type,
    method,
    status: state?.status ?? 'initializing',
    certificate_authority: state ? authorityOf(state) : configuration.authority,
    bundle_method: bundleMethod,
    wildcard,
    settings,
    hosts,
    ...(state && certificateView(state)),
    dcv_delegation_records: [{ cname: delegation.cname, cname_target: delegation.target }],
  };
}

function certificateView(state: CertificateState): Partial<Ssl> {
  const [first] = state.certificates;
  const records = state.records.map(recordView);
  return {
    ...(first && {
      issuer: first.issuer,
      issued_by: first.issuedBy,
      serial_number: first.serialNumber,
      signature: first.signature,
      uploaded_on: printMs(first.issuedOnMs),
      expires_on: printMs(first.expiresOnMs),
      certificates: state.certificates.map(issuedView),
    }),
    // Older clients read the first record outside the list.
    ...(records.length > 0 && { ...withoutStatus(records[0]!), validation_records: records }),
    ...(state.errors.length > 0 && {
      validation_errors: state.errors.map(({ message, actor }) => ({ message, actor })),
    }),
  };
}

type RecordView = NonNullable<Ssl['validation_records']>[number];

export function recordView(record: ValidationRecord): RecordView {
  const { status } = record;
  return 'txtName' in record
    ? { status, txt_name: record.txtName, txt_value: record.txtValue }
    : { status, http_url: record.httpUrl, http_body: record.httpBody };
}

function withoutStatus({ status: _, ...members }: RecordView): Partial<Ssl> {
  return members;
}

export function issuedView(issued: IssuedCertificate): NonNullable<Ssl['certificates']>[number] {
  return {
    id: issued.id,
    issuer: issued.issuer,
    issued_by: issued.issuedBy,
    serial_number: issued.serialNumber,
    signature: issued.signature,
    issued_on: printMs(issued.issuedOnMs),
    expires_on: printMs(issued.expiresOnMs),
    fingerprint_sha256: issued.fingerprintSha256,
  };
}

function printMs(ms: number): string {
  return printTime(ms * 1000);
}

export function fallbackOriginView(item: FallbackOriginItem): FallbackOrigin {
  const { origin, status, errors, createdAt, modifiedAt } = item;
  return { origin, status, errors, created_at: printTime(createdAt), updated_at: printTime(modifiedAt) };
}
