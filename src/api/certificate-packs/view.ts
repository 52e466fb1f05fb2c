/** Certificate packs as v4 clients read them (v4: §10.9). */
import type { CertificateStatus } from '../../certs/certificates.js';
import type { PackItem } from '../../certs/packs/packs.js';
import type { UniversalSettings } from '../../certs/packs/universal.js';
import { authorityOf } from '../../hostnames/list.js';
import { issuedView, recordView } from '../custom-hostnames/view.js';
import type { Pack, UniversalView, Verification } from './schema.js';

export function packView(item: PackItem, zoneId: string, nowMs: number): Pack {
  const { id, type, hosts, status, state, delegations } = item;
  const [first] = state.certificates;
  return {
    id,
    type,
    hosts,
    primary_certificate: first?.id ?? null,
    status,
    certificates: state.certificates.map((issued, i) => {
      const { issued_on, expires_on, ...about } = issuedView(issued);
      return {
        ...about,
        hosts,
        status: nowMs < issued.expiresOnMs ? 'active' : 'expired',
        bundle_method: 'ubiquitous',
        zone_id: zoneId,
        uploaded_on: issued_on,
        modified_on: issued_on,
        expires_on,
        priority: i + 1,
      };
    }),
    certificate_authority: authorityOf(state),
    validation_method: state.method,
    validity_days: state.validityDays,
    cloudflare_branding: false,
    ...(state.records.length > 0 && { validation_records: state.records.map(recordView) }),
    ...(state.errors.length > 0 && {
      validation_errors: state.errors.map(({ message, actor }) => ({ message, actor })),
    }),
    dcv_delegation_records: delegations.map(({ cname, target }) => ({ cname, cname_target: target })),
  };
}

/** The status in the words of the older resource. */
const VERIFICATION: Readonly<Record<CertificateStatus, Verification['certificate_status']>> = {
  initializing: 'initializing',
  initializing_timed_out: 'timing_out',
  pending_validation: 'authorizing',
  validation_timed_out: 'timing_out',
  caa_error: 'authorizing',
  pending_issuance: 'issuing',
  issuance_timed_out: 'timing_out',
  pending_deployment: 'issuing',
  holding_deployment: 'issuing',
  deployment_timed_out: 'issuing',
  active: 'active',
  pending_expiration: 'active',
  expired: 'expired',
};

const PROVED: ReadonlySet<CertificateStatus> = new Set([
  'pending_issuance',
  'pending_deployment',
  'deployment_timed_out',
  'active',
  'pending_expiration',
]);

export function verificationView({ id, state }: PackItem): Verification {
  const [first] = state.certificates;
  const open = state.records.find((record) => record.status === 'pending');
  const signature = first?.signature.startsWith('RSA') ? ('SHA256WithRSA' as const) : ('ECDSAWithSHA256' as const);
  return {
    certificate_status: VERIFICATION[state.status],
    brand_check: false,
    cert_pack_uuid: id,
    ...(first && { signature }),
    validation_method: state.method,
    verification_type: 'cname',
    verification_status: PROVED.has(state.status),
    ...(open && {
      verification_info:
        'txtName' in open
          ? { record_name: open.txtName, record_target: open.txtValue }
          : { record_name: open.httpUrl, record_target: open.httpBody },
    }),
  };
}

export function universalView({ enabled, authority }: UniversalSettings): UniversalView {
  return { enabled, ...(authority !== '' && { certificate_authority: authority }) };
}
