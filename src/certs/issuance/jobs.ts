/** The jobs of certificates: the next step, and the removal of dropped requests. */
import { REVOKE_JOB, STEP_JOB } from '../../control/certificates/drop.js';
import type { JobKinds } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import {
  findRequest,
  findRequestById,
  requestsValidAfter,
  takeStepsByJobs,
  updateRequest,
} from '../../store/certs/requests.js';
import type { AuthorityName } from '../authority.js';
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
      followJobs(store) {
        takeStepsByJobs(store, STEP_JOB);
        renewEarly(ctx);
      },
    },
    [REVOKE_JOB]: {
      async handler(_, subject) {
        const next = findRequestById(ctx.store, subject) && (await removeDropped(ctx, subject));
        return next === undefined ? { done: true } : { againAtMs: next };
      },
    },
  };
}

/**
 * Renews what the built-in authority signed while the clock was ahead, and is not valid yet. The clocks of other authorities are their
 * own: when theirs disagree, ours is wrong.
 */
function renewEarly({ store, clock, log, authorities }: CertificateContext): void {
  const nowMs = clock.nowMs();
  for (const { seq, owner_kind, owner, names, issuer } of requestsValidAfter(store, nowMs)) {
    if (authorities.isOutside(issuer as AuthorityName)) continue;
    log.warn({ names }, 'the clock was put back: a certificate that is not valid yet is renewed');
    updateRequest(store, seq, { renew_at: nowMs, next_at: nowMs });
    schedule(store, { kind: STEP_JOB, subject: `${owner_kind}:${owner}`, runAtMs: nowMs }, nowMs);
  }
}

/** A subject is `kind:id`. */
function ownerOf(subject: string): CertificateOwner {
  const colon = subject.indexOf(':');
  return { kind: subject.slice(0, colon) as CertificateOwner['kind'], id: subject.slice(colon + 1) };
}
