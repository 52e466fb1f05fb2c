/** What `zoneplane doctor` says about certificates: which end soon, and which cannot be had. */
import type { CertificateState } from '../certs/certificate-state.js';
import { stateOf } from '../certs/certificate-state.js';
import { listRequests } from '../store/certs/requests.js';
import type { Store } from '../store/driver.js';
import { printInstant } from './control.js';
import type { Finding } from './operations/finding.js';

/** Certificates in trouble that are named. */
const MOST_NAMED = 5;
const MOST_LOOKED_AT = 100_000;

/** Takes several statements: to be called inside a snapshot. */
export function examineCertificates(store: Store, nowMs: number): Finding[] {
  const what = 'certificates';
  const states = listRequests(store, MOST_LOOKED_AT).map((row) => stateOf(store, row, nowMs));
  const troubled = states.filter(({ status, serving, errors }) => !serving || errors.length > 0 || isEnding(status));
  if (troubled.length === 0) {
    const count = states.length === 1 ? '1 certificate is' : `${states.length} certificates are`;
    return states.length === 0 ? [] : [{ what, verdict: 'ok', text: `${count} served and none ends soon` }];
  }
  const findings = troubled.slice(0, MOST_NAMED).map((state) => findingOf(what, state));
  const more = troubled.length - findings.length;
  return more > 0 ? [...findings, { what, verdict: 'warn', text: `${more} more are in trouble` }] : findings;
}

function isEnding(status: CertificateState['status']): boolean {
  return status === 'pending_expiration' || status === 'expired';
}

function findingOf(what: string, { names, status, errors, certificates }: CertificateState): Finding {
  const [served] = certificates;
  const end = served ? `; the certificate ends at ${printInstant(served.expiresOnMs * 1000)}` : '';
  const because = errors.length === 0 ? '' : `: ${errors.map(({ message }) => message).join(' ')}`;
  return {
    what,
    verdict: isEnding(status) ? 'fail' : 'warn',
    text: `${names.join(', ')}: ${status}${end}${because}`,
    remedy: `See \`zoneplane certificate show ${names[0]}\`.`,
  };
}
