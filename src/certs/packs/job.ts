/** The jobs of a zone's certificates: whether it has the one it needs, and which names they cover. */
import { fromHex } from '../../base/bytes.js';
import { updateCertifiedNames } from '../../control/certificates/certified-names.js';
import { commit } from '../../control/kernel/commit.js';
import type { JobKind } from '../../jobs/kind.js';
import { lastingRequests } from '../../serving/certified-names.js';
import { findZoneById } from '../../store/zones/zones.js';
import { deployedOf, whenDeployed } from '../deployment.js';
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

/** Milliseconds until an edge is asked again whether it has read a new certificate. */
const AGAIN_MS = 1000;

/**
 * Clients are told to use HTTPS only when every edge that runs has read the certificates: those that it does not know
 * yet cannot be served.
 */
export function certifiedNamesJobs(ctx: CertificateContext): JobKind {
  return {
    async handler({ requireLease }, subject) {
      const { store, clock } = ctx;
      await whenDeployed(store);
      const zone = findZoneById(store, fromHex(subject)!);
      if (!zone) return { done: true };
      const isDeployed = lastingRequests(store, zone.seq).every(
        ({ owner }) => deployedOf(store, { kind: 'certificate', subject: `zone:${owner}` }) === 'everywhere',
      );
      if (!isDeployed) return { againAtMs: clock.nowMs() + AGAIN_MS };
      await commit(serviceContext(ctx), (draft) => {
        requireLease();
        updateCertifiedNames(ctx, draft, zone.seq);
      });
      return { done: true };
    },
  };
}
