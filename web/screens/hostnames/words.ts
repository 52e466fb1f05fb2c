/** Statuses of custom hostnames in plain words. */
import { otherwise } from '../../parts/certificate.js';

const HOSTNAME: Readonly<Record<string, string>> = {
  active: 'Active',
  active_redeploying: 'Active, being changed',
  pending: 'Not active yet',
  moved: 'Given up',
  blocked: 'Held',
  caa_error: 'Forbidden by CAA',
};

export function hostnameInWords(status: string): string {
  return HOSTNAME[status] ?? otherwise(status);
}
