/** The response codes of updates (RFC 2136 §2.2, §3): the one table of what a refusal becomes on the wire. */
import { AppError } from '../../base/errors.js';
import { Rcode } from '../../dns/codes.js';

/** By the keys of errors (control/updates/errors.ts). */
const RCODES: Readonly<Record<string, number>> = {
  'updates.malformed': Rcode.formErr,
  'updates.outsideZone': Rcode.notZone,
  'updates.notAuthoritative': Rcode.notAuth,
  'updates.nameExists': Rcode.yxDomain,
  'updates.nameMissing': Rcode.nxDomain,
  'updates.setExists': Rcode.yxRrset,
  'updates.setMissing': Rcode.nxRrset,
  // The zone was deleted meanwhile.
  'zones.missing': Rcode.notAuth,
};

/** Every other rule of a write is our policy; a store that cannot be written, and a bug, are failures of the server. */
export function rcodeOf(error: unknown): number {
  if (!(error instanceof AppError)) return Rcode.servFail;
  return RCODES[error.key] ?? (error.status >= 500 ? Rcode.servFail : Rcode.refused);
}
