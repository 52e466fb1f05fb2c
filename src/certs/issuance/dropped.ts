/** What nobody needs any more: certificates are revoked, then everything about them is removed, keys first of all. */
import { messageOf } from '../../base/errors.js';
import { commit } from '../../control/write/commit.js';
import { issuedFor } from '../../store/certs/issued.js';
import { findOrderUnderWay } from '../../store/certs/orders.js';
import { findRequestById, type RequestRow, removeRequest } from '../../store/certs/requests.js';
import { AuthorityError, type AuthorityName } from '../authority.js';
import { parseCertificates } from '../chain.js';
import { removeOrder, serviceContext } from './challenge-places.js';
import type { CertificateContext } from './context.js';

/** RFC 5280 §5.3.1. */
const CESSATION_OF_OPERATION = 5;
const AGAIN_MS = 300_000;
/** An authority that refuses for so long is not asked any more. */
const GIVE_UP_MS = 86_400_000;

/** When to try again, milliseconds since 1970; undefined when all is gone. `id`: of the need that was dropped. */
export async function removeDropped(ctx: CertificateContext, id: string): Promise<number | undefined> {
  const { store, clock } = ctx;
  const row = findRequestById(store, id);
  if (!row || row.dropped_at === null) return undefined;
  const nowMs = clock.nowMs();
  if (!(await revokeAll(ctx, row)) && nowMs - row.dropped_at < GIVE_UP_MS) return nowMs + AGAIN_MS;
  const order = findOrderUnderWay(store, row.seq);
  await commit(serviceContext(ctx), (draft) => {
    if (order) removeOrder(store, draft, order);
    removeRequest(store, row.seq);
  });
  return undefined;
}

/** Those that were uploaded are for who brought them to revoke. */
async function revokeAll(ctx: CertificateContext, { seq }: RequestRow): Promise<boolean> {
  for (const { authority, uploaded, chain, not_after } of issuedFor(ctx.store, seq)) {
    if (uploaded === 1 || not_after <= ctx.clock.nowMs()) continue;
    try {
      const issuer = await ctx.authorities.of(authority as AuthorityName);
      await issuer.revoke(new Uint8Array(parseCertificates(chain)[0]!.raw), CESSATION_OF_OPERATION);
    } catch (error) {
      if (!(error instanceof AuthorityError)) throw error;
      ctx.log.warn({ reason: messageOf(error), authority }, 'a certificate was not revoked');
      return false;
    }
  }
  return true;
}
