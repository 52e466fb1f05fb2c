/** Removes dropped requests: certificates are revoked, then everything about them is deleted, keys first. */
import { messageOf } from '../../base/errors.js';
import { commit } from '../../control/kernel/commit.js';
import { issuedFor } from '../../store/certs/issued.js';
import { findOrderUnderWay } from '../../store/certs/orders.js';
import { findRequestById, type RequestRow, removeRequest } from '../../store/certs/requests.js';
import { AuthorityError, type AuthorityName } from '../authority.js';
import { parseCertificates } from '../chain.js';
import { stepsEnded } from './advance.js';
import { removeOrder, serviceContext } from './challenge-places.js';
import type { CertificateContext } from './context.js';

/** RFC 5280 §5.3.1. */
const CESSATION_OF_OPERATION = 5;
const AGAIN_MS = 300_000;
/** After refusing for this time, an authority is no longer asked. */
const GIVE_UP_MS = 86_400_000;

/** When to retry, milliseconds since 1970; undefined when everything is deleted. `id`: of the dropped request. */
export async function removeDropped(ctx: CertificateContext, id: string): Promise<number | undefined> {
  const { store, clock } = ctx;
  const row = findRequestById(store, id);
  if (!row || row.dropped_at === null) return undefined;
  // The result of a step in progress is revoked with the rest.
  await stepsEnded(ctx, { kind: row.owner_kind, id: row.owner });
  const nowMs = clock.nowMs();
  if (!(await revokeAll(ctx, row)) && nowMs - row.dropped_at < GIVE_UP_MS) return nowMs + AGAIN_MS;
  const order = findOrderUnderWay(store, row.seq);
  await commit(serviceContext(ctx), (draft) => {
    if (order) removeOrder(store, draft, order);
    removeRequest(store, row.seq);
  });
  return undefined;
}

/** Uploaded certificates must be revoked by the customers themselves. */
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
