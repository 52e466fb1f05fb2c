/** Statuses of custom hostnames and their certificates in plain words, and the one sentence about what comes next. */
import type { CustomHostname } from '../../types.js';

type Tone = 'good' | 'wait' | 'bad';

const BAD = /blocked|failed|timed_out|expired|caa_error|moved|inactive|deactivating/;

export function toneOf(status: string): Tone {
  if (BAD.test(status)) return 'bad';
  return status.startsWith('active') ? 'good' : 'wait';
}

const WORDS: Readonly<Record<string, string>> = {
  active: 'Works',
  pending: 'Waits for proof',
  active_redeploying: 'Works, being changed',
  moved: 'Leads elsewhere',
  blocked: 'Blocked',
  caa_error: 'Forbidden by CAA',
  initializing: 'Being prepared',
  pending_validation: 'Waits for validation',
  pending_issuance: 'Being issued',
  pending_deployment: 'Being deployed',
  pending_expiration: 'Ends soon',
  expired: 'Ended',
};

export function wordsOf(status: string): string {
  return WORDS[status] ?? status.charAt(0).toUpperCase() + status.slice(1).replaceAll('_', ' ');
}

const ACTORS = {
  customer: 'Your customer must act: ',
  ca: 'The certificate authority must act: ',
  provider: 'This server is at it: ',
} as const;

/** Who must do what next. */
export function nextStep({
  hostname,
  status,
  ssl,
  verification_errors: errors = [],
  ownership_verification: txt,
}: CustomHostname): string {
  const certificate = ssl?.validation_errors?.[0];
  if (status === 'active' && (!ssl || ssl.status === 'active')) return 'Nothing: it works.';
  if (status === 'active' && certificate) return ACTORS[certificate.actor] + certificate.message;
  if (status === 'active') return 'This server gets the certificate; nobody has to do anything.';
  if (status === 'moved') return `Your customer must point ${hostname} here again. ${errors[0] ?? ''}`;
  if (status === 'blocked' || status === 'pending_blocked')
    return `You must act: ${errors[0] ?? 'the name is blocked.'}`;
  const shown = errors[0] === undefined ? '' : ` (last check: ${errors[0].replace(/\.$/, '')})`;
  return `Your customer must point ${hostname} here by CNAME, or add the TXT record ${txt.name}${shown}.`;
}
