/** Statuses of custom hostnames and their certificates in plain words. */

type Tone = 'good' | 'wait' | 'bad';

const BAD = /blocked|failed|timed_out|expired|caa_error|moved|inactive|deactivating/;

export function toneOf(status: string): Tone {
  if (BAD.test(status)) return 'bad';
  return status.startsWith('active') ? 'good' : 'wait';
}

const HOSTNAME: Readonly<Record<string, string>> = {
  active: 'Active',
  active_redeploying: 'Active, being changed',
  pending: 'Not active yet',
  moved: 'Given up',
  blocked: 'Held',
  caa_error: 'Forbidden by CAA',
};

const CERTIFICATE: Readonly<Record<string, string>> = {
  active: 'Valid',
  initializing: 'Being ordered',
  initializing_timed_out: 'Given up',
  pending_validation: 'Waits for proof',
  validation_timed_out: 'Given up',
  pending_issuance: 'Being issued',
  issuance_timed_out: 'Given up',
  pending_deployment: 'On its way to the edge',
  holding_deployment: 'Waits for the hostname',
  deployment_timed_out: 'Not at the edge',
  pending_expiration: 'Ends soon',
  expired: 'Ended',
  caa_error: 'Forbidden by CAA',
};

function otherwise(status: string): string {
  return status.charAt(0).toUpperCase() + status.slice(1).replaceAll('_', ' ');
}

export function hostnameInWords(status: string): string {
  return HOSTNAME[status] ?? otherwise(status);
}

export function certificateInWords(status: string): string {
  return CERTIFICATE[status] ?? otherwise(status);
}
