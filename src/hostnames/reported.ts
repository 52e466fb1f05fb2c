/** What is reported of a hostname: one rule for all that show it (edge specification §3.3). */
import type { CertificateState } from '../certs/certificate-state.js';
import type { HostnameState } from '../store/hostnames/hostnames.js';

export type ReportedStatus = HostnameState | 'caa_error';

/**
 * The activation state, or `caa_error` if CAA forbids the first certificate. A hostname with a forbidden renewal still works. The edge
 * uses the state, never this value.
 */
export function reportedStatus(state: HostnameState, certificate: CertificateState | undefined): ReportedStatus {
  if (state === 'moved' || state === 'blocked') return state;
  return certificate?.status === 'caa_error' && !certificate.serving ? 'caa_error' : state;
}
