/** What is reported of a hostname: one rule for all that show it (edge specification §3.3). */
import type { CertificateState } from '../certs/certificate-state.js';
import type { HostnameState } from '../store/hostnames/hostnames.js';

export type ReportedStatus = HostnameState | 'caa_error';

/**
 * Its state of activation, unless CAA forbids its first certificate: a hostname whose renewal alone is forbidden still works. The
 * edge goes by the state, never by this.
 */
export function reportedStatus(state: HostnameState, certificate: CertificateState | undefined): ReportedStatus {
  if (state === 'moved' || state === 'blocked') return state;
  return certificate?.status === 'caa_error' && !certificate.serving ? 'caa_error' : state;
}
