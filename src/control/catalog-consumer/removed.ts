/**
 * Zones that left a catalog of another server. They are not served any more, but kept for a week with everything that belongs
 * to them, so that a mistake of the catalog's producer can be undone: the catalog lists them again, or a person brings them
 * back.
 */
import { toHex } from '../../base/bytes.js';
import type { JobKind, JobOutcome } from '../../jobs/kind.js';
import { schedule } from '../../jobs/schedule.js';
import type { Store } from '../../store/driver.js';
import { removeJob } from '../../store/jobs.js';
import type { ConsumedCatalogRow } from '../../store/secondary/consumed-catalogs.js';
import {
  findRemovedZone,
  forgetRemovedZone,
  insertRemovedZone,
  type RemovedZoneRow,
  removedZonesOfAccount,
} from '../../store/secondary/removed-zones.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import { requireAccount, requireZone } from '../guard/access.js';
import { OPERATOR } from '../guard/actor.js';
import { commit, type Draft } from '../kernel/commit.js';
import type { Context, ContextBase } from '../kernel/context.js';
import { refreshNoMore, refreshSoon } from '../schedule/refresh.js';
import { secondaryFailure } from '../secondary/errors.js';
import { settleZone } from '../zones/claims.js';
import { dropZone } from '../zones/zones.js';

/** Deletes a zone whose time is over. The subject is its store number. */
export const REMOVED_ZONE_JOB = 'removed_zone';

const DAY_MS = 86_400_000;
const KEPT_MS = 7 * DAY_MS;
const DONE: JobOutcome = { done: true };

export interface RemovedZoneItem {
  /** Identifier of the zone. */
  readonly id: string;
  readonly name: string;
  /** Name of the catalog that it left, and the label under which it stood there. */
  readonly catalog: string;
  readonly memberId: string;
  /** Microseconds since 1970; at the second time it is deleted. */
  readonly removedAt: number;
  readonly keptUntil: number;
}

/** Takes a zone out of service; inside a commit. */
export function keepUnserved(
  ctx: Context,
  draft: Draft,
  zone: ZoneRow,
  of: { readonly catalog: ConsumedCatalogRow; readonly memberId: string },
): void {
  const { store, clock } = ctx;
  const { catalog, memberId } = of;
  const row: RemovedZoneRow = {
    zone: zone.seq,
    catalog: catalog.seq,
    catalog_name: findZone(store, catalog.zone)!.name,
    member_id: memberId,
    removed_at: draft.now,
    kept_until: draft.now + KEPT_MS * 1000,
  };
  insertRemovedZone(store, row);
  refreshNoMore(store, zone.seq);
  settleZone(ctx, draft, zone.seq);
  const nowMs = clock.nowMs();
  schedule(store, { kind: REMOVED_ZONE_JOB, subject: String(zone.seq), runAtMs: row.kept_until / 1000 }, nowMs);
  draft.event({ kind: 'zone.suspend', zone, before: itemOf(store, row) });
}

/** Serves a removed zone again, with what it had, and asks its primaries; inside a commit. */
export function bringBack(ctx: Context, draft: Draft, zone: ZoneRow, row: RemovedZoneRow): void {
  const { store } = ctx;
  const item = itemOf(store, row);
  forgetRemovedZone(store, zone.seq);
  removeJob(store, REMOVED_ZONE_JOB, String(zone.seq));
  settleZone(ctx, draft, zone.seq);
  refreshSoon(ctx, zone.seq);
  draft.event({ kind: 'zone.resume', zone, after: item });
}

export async function listRemoved(ctx: Context, accountId: string): Promise<RemovedZoneItem[]> {
  return ctx.store.snapshot(() => {
    const account = requireAccount(ctx, accountId);
    return removedZonesOfAccount(ctx.store, account.seq).map((row) => itemOf(ctx.store, row));
  });
}

/** Brings a zone back as a secondary zone of its own, which no catalog removes. Throws 404 when it is not a removed one. */
export async function restoreRemoved(ctx: Context, accountId: string, zoneId: string): Promise<RemovedZoneItem> {
  const { value } = await commit(ctx, (draft) => {
    const { store } = ctx;
    const account = requireAccount(ctx, accountId);
    const zone = requireZone(ctx, zoneId);
    const row = zone.account === account.seq ? findRemovedZone(store, zone.seq) : undefined;
    if (!row) throw secondaryFailure('removedMissing', { id: zoneId });
    const item = itemOf(store, row);
    bringBack(ctx, draft, zone, row);
    return item;
  });
  return value;
}

export function removedZoneJob(base: ContextBase): JobKind {
  return {
    async handler({ requireLease }, subject) {
      const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'service' };
      const { value } = await commit(ctx, (draft): JobOutcome => {
        requireLease();
        const row = findRemovedZone(ctx.store, Number(subject));
        if (!row) return DONE;
        if (draft.now < row.kept_until) return { againAtMs: row.kept_until / 1000 };
        dropZone(ctx, draft, findZone(ctx.store, row.zone)!);
        return DONE;
      });
      return value;
    },
  };
}

function itemOf(store: Store, row: RemovedZoneRow): RemovedZoneItem {
  const { id, name } = findZone(store, row.zone)!;
  return {
    id: toHex(id),
    name,
    catalog: row.catalog_name,
    memberId: row.member_id,
    removedAt: row.removed_at,
    keptUntil: row.kept_until,
  };
}
