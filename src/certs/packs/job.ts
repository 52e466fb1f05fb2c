/** The job that checks whether a zone has the certificate it needs. */
import { fromHex } from '../../base/bytes.js';
import type { JobKind } from '../../jobs/kind.js';
import type { CertificateContext } from '../issuance/context.js';
import { keepUniversal } from './universal.js';

export function zoneCertificateJobs(ctx: CertificateContext): JobKind {
  return {
    async handler({ requireLease }, subject) {
      await ctx.store.write(() => {
        requireLease();
        keepUniversal(ctx, fromHex(subject)!);
      });
      return { done: true };
    },
  };
}
