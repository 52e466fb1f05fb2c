/** The job that checks whether a zone has the certificate it needs. */
import { fromHex } from '../../base/bytes.js';
import { commit } from '../../control/write/commit.js';
import type { JobKind } from '../../jobs/kind.js';
import { serviceContext } from '../issuance/challenge-places.js';
import type { CertificateContext } from '../issuance/context.js';
import { keepUniversal } from './universal.js';

export function zoneCertificateJobs(ctx: CertificateContext): JobKind {
  return {
    async handler({ requireLease }, subject) {
      await commit(serviceContext(ctx), (draft) => {
        requireLease();
        keepUniversal(ctx, draft, fromHex(subject)!);
      });
      return { done: true };
    },
  };
}
