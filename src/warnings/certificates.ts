/** Of certificates: which end soon, and which cannot be had. */
import { type CertificateState, stateOf } from '../certs/certificate-state.js';
import { printInstant } from '../control/rules/instant.js';
import { listRequests, type RequestRow } from '../store/certs/requests.js';
import type { Examined } from './asked.js';
import type { Finding, WarningKind } from './finding.js';

const MOST_LOOKED_AT = 100_000;

/** Takes several statements: to be called inside a snapshot. */
export function examineCertificates({ store, zones, nowUs }: Examined): Finding[] {
  const what = 'certificates';
  const states = listRequests(store, MOST_LOOKED_AT)
    .filter((row) => isShown(row, zones))
    .map((row) => ({ state: stateOf(store, row, nowUs / 1000), zoneId: zones.idOf(row.zone) }));
  const troubled = states.filter(
    ({ state: { status, serving, errors } }) => !serving || errors.length > 0 || isEnding(status),
  );
  if (troubled.length === 0) {
    const count = states.length === 1 ? '1 certificate is' : `${states.length} certificates are`;
    return states.length === 0 ? [] : [{ what, verdict: 'ok', text: `${count} served and none ends soon` }];
  }
  return troubled.map(({ state, zoneId }) => ({
    ...{ what, ...(zoneId !== undefined && { zoneId }) },
    ...findingOf(state, nowUs / 1000),
  }));
}

/** The service's own is of no zone. */
function isShown({ zone }: RequestRow, zones: Examined['zones']): boolean {
  return zones.all || zones.idOf(zone) !== undefined;
}

function isEnding(status: CertificateState['status']): boolean {
  return status === 'pending_expiration' || status === 'expired';
}

function findingOf(
  { names, status, serving, errors, certificates }: CertificateState,
  nowMs: number,
): Omit<Finding, 'what'> {
  const [served] = certificates;
  const isEarly = served !== undefined && served.issuedOnMs > nowMs;
  const begin = isEarly ? `; it is valid only from ${printInstant(served.issuedOnMs * 1000)} on` : '';
  const end = served ? `${begin}; the certificate ends at ${printInstant(served.expiresOnMs * 1000)}` : '';
  const because = errors.length === 0 ? '' : `: ${errors.map(({ message }) => message).join(' ')}`;
  const kind: WarningKind = isEnding(status)
    ? 'certificate-ending'
    : serving
      ? 'certificate-failing'
      : 'certificate-missing';
  return {
    ...{ kind, verdict: isEnding(status) ? 'fail' : 'warn' },
    text: `${names.join(', ')}: ${status}${end}${because}`,
    remedy: `See \`zoneplane certificate show ${names[0]}\`.`,
  };
}
