/** What is reported of a hostname: one rule for all that show it (edge specification §3.3). */
import type { CertificateState } from '../certs/certificate-state.js';
import type { CertificateStatus } from '../certs/certificates.js';
import { HOSTNAME_STATES, type HostnameState } from '../store/hostnames/hostnames.js';

export const REPORTED_STATUSES = [...HOSTNAME_STATES, 'active_redeploying', 'caa_error'] as const;

export type ReportedStatus = (typeof REPORTED_STATUSES)[number];

/**
 * The activation state, or `caa_error` if CAA forbids the first certificate. A hostname with a forbidden renewal still
 * works. `redeploying`: it was edited, and an edge still does what was asked for before. The edge uses the state, never
 * this value.
 */
export function reportedStatus(
  state: HostnameState,
  certificate: CertificateState | undefined,
  redeploying: boolean,
): ReportedStatus {
  if (state === 'moved' || state === 'blocked') return state;
  if (certificate?.status === 'caa_error' && !certificate.serving) return 'caa_error';
  return state === 'active' && redeploying ? 'active_redeploying' : state;
}

/** An active certificate that a customer brought waits for its hostname to become active. */
export function reportedSslStatus(state: HostnameState, { uploaded, status }: CertificateState): CertificateStatus {
  const isReady = status === 'active' || status === 'pending_deployment' || status === 'deployment_timed_out';
  return uploaded && isReady && state !== 'active' ? 'holding_deployment' : status;
}
