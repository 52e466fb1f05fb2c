/** Drops certificates that are no longer needed, in the write that makes them so. */
import { schedule } from '../../jobs/schedule.js';
import { isProven } from '../../serving/name-owner.js';
import { type RequestRow, requestsOfZone, updateRequest } from '../../store/certs/requests.js';
import type { Store } from '../../store/driver.js';
import { checkedHostnamesUnder, hostnameIdsOfZone } from '../../store/hostnames/hostnames.js';
import { removeJob } from '../../store/jobs.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';

/** The next step of a certificate. The subject is `kind:id` of its owner. */
export const STEP_JOB = 'certificate';
/** The end of a certificate. The subject is the identifier of the dropped request. */
export const REVOKE_JOB = 'revoke';
/** The next check of a custom hostname. The subject is its identifier. */
export const HOSTNAME_JOB = 'hostname';

type WriteContext = Pick<Context, 'store' | 'clock'>;

/** Ends serving for the request. Its certificates are revoked and its keys removed soon after. Inside a write. */
export function dropRequest({ store, clock }: WriteContext, { seq, id, owner_kind, owner }: RequestRow): void {
  const nowMs = clock.nowMs();
  updateRequest(store, seq, { dropped_at: nowMs, next_at: null });
  removeJob(store, STEP_JOB, `${owner_kind}:${owner}`);
  schedule(store, { kind: REVOKE_JOB, subject: id, runAtMs: nowMs }, nowMs);
}

/** Identifiers of the custom hostnames about which a zone says something: an unproven one only to its own account. */
export function hostnamesHearing(store: Store, zone: ZoneRow): string[] {
  return checkedHostnamesUnder(store, zone.name, isProven(zone) ? null : zone.account);
}

/** Of a zone that is deleted; all others are checked at their usual time. */
const MOST_CHECKED = 500;

/**
 * Deletes a zone's certificates and the checks of its custom hostnames, and has others looked at about which it said something. Inside
 * a write, before the rows are deleted.
 */
export function dropCertificatesOfZone(ctx: WriteContext, zone: ZoneRow): void {
  const nowMs = ctx.clock.nowMs();
  for (const subject of hostnamesHearing(ctx.store, zone).slice(0, MOST_CHECKED)) {
    schedule(ctx.store, { kind: HOSTNAME_JOB, subject, runAtMs: nowMs }, nowMs);
  }
  for (const row of requestsOfZone(ctx.store, zone.seq)) dropRequest(ctx, row);
  for (const id of hostnameIdsOfZone(ctx.store, zone.seq)) removeJob(ctx.store, HOSTNAME_JOB, id);
}
