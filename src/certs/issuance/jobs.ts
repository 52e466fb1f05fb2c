/** The jobs of certificates: the next step, and the removal of dropped requests. */
import { REVOKE_JOB, STEP_JOB } from '../../control/certificates/drop.js';
import type { JobKinds } from '../../jobs/kind.js';
import { findRequest, findRequestById, takeStepsByJobs } from '../../store/certs/requests.js';
import type { CertificateOwner } from '../certificates.js';
import { advanceCertificate } from './advance.js';
import type { CertificateContext } from './context.js';
import { removeDropped } from './dropped.js';

export function certificateJobs(ctx: CertificateContext): JobKinds {
  return {
    [STEP_JOB]: {
      async handler(_, subject) {
        const owner = ownerOf(subject);
        await advanceCertificate(ctx, owner);
        const next = findRequest(ctx.store, owner.kind, owner.id)?.next_at ?? undefined;
        return next === undefined ? { done: true } : { againAtMs: next };
      },
      followJobs: (store) => takeStepsByJobs(store, STEP_JOB),
    },
    [REVOKE_JOB]: {
      async handler(_, subject) {
        const next = findRequestById(ctx.store, subject) && (await removeDropped(ctx, subject));
        return next === undefined ? { done: true } : { againAtMs: next };
      },
    },
  };
}

/** A subject is `kind:id`. */
function ownerOf(subject: string): CertificateOwner {
  const colon = subject.indexOf(':');
  return { kind: subject.slice(0, colon) as CertificateOwner['kind'], id: subject.slice(colon + 1) };
}
