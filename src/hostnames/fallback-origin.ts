/**
 * Use cases of a zone's fallback origin (edge specification §3.5). Whether it works follows from the records of the zone, and
 * is found out whenever somebody asks: nothing is kept that could differ from them.
 */

import { HOSTNAME_JOB } from '../control/certificates/drop.js';
import { requireZone } from '../control/guard/access.js';
import { commit } from '../control/kernel/commit.js';
import type { Context } from '../control/kernel/context.js';
import { isProxiableType } from '../control/rules/proxiable.js';
import { NameError, ownerKeyOf, parseName } from '../dns/name.js';
import { schedule } from '../jobs/schedule.js';
import type { Store } from '../store/driver.js';
import {
  type FallbackOriginRow,
  findFallbackOrigin,
  putFallbackOrigin,
  removeFallbackOrigin,
} from '../store/hostnames/fallback-origins.js';
import { pendingHostnamesWith } from '../store/hostnames/hostnames.js';
import { type RecordRow, recordsOfOwner } from '../store/records/records.js';
import type { ZoneRow } from '../store/zones/zones.js';
import { hostnameFailure } from './errors.js';
import { parseOrigin } from './origin-input.js';
import {
  customOriginMissing,
  FALLBACK_ORIGIN,
  FALLBACK_RECORD_MISSING,
  fallbackOriginStatus,
  NO_FALLBACK_ORIGIN,
} from './texts.js';

export interface FallbackOriginItem {
  readonly origin: string;
  readonly status: 'initializing' | 'active' | 'pending_deletion';
  readonly errors: readonly string[];
  /** Microseconds since 1970. */
  readonly createdAt: number;
  readonly modifiedAt: number;
}

/** Throws 404/1551 when none is set. */
export async function getFallbackOrigin(ctx: Context, zoneId: string): Promise<FallbackOriginItem> {
  return ctx.store.snapshot(() => {
    const zone = requireZone(ctx, zoneId);
    return itemOf(ctx.store, zone, requireFallbackOrigin(ctx.store, zone));
  });
}

/** The record of the origin may be made later. */
export async function putFallback(ctx: Context, zoneId: string, input: string): Promise<FallbackOriginItem> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const origin = parseOrigin(input);
    if (origin === null) throw hostnameFailure('unreadableOrigin', {}, { pointer: '/origin' });
    const before = findFallbackOrigin(ctx.store, zone.seq);
    putFallbackOrigin(ctx.store, zone.seq, origin, draft.now);
    const nowMs = ctx.clock.nowMs();
    for (const subject of hostnamesAwaitingFallback(ctx.store, zone)) {
      schedule(ctx.store, { kind: HOSTNAME_JOB, subject, runAtMs: nowMs }, nowMs);
    }
    if (before?.origin !== origin) {
      const after = { origin };
      const audited = before ? { before: { origin: before.origin }, after } : { after };
      draft.event({ kind: 'fallback_origin.edit', zone, ...audited });
    }
    return itemOf(ctx.store, zone, requireFallbackOrigin(ctx.store, zone));
  });
  return value;
}

export async function deleteFallbackOrigin(ctx: Context, zoneId: string): Promise<FallbackOriginItem> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const row = requireFallbackOrigin(ctx.store, zone);
    removeFallbackOrigin(ctx.store, zone.seq);
    const before = { origin: row.origin };
    draft.event({ kind: 'fallback_origin.delete', zone, before });
    return { ...itemOf(ctx.store, zone, row), status: 'pending_deletion' as const };
  });
  return value;
}

function requireFallbackOrigin(store: Store, zone: ZoneRow): FallbackOriginRow {
  const row = findFallbackOrigin(store, zone.seq);
  if (!row) throw hostnameFailure('fallbackMissing');
  return row;
}

function itemOf(store: Store, zone: ZoneRow, row: FallbackOriginRow): FallbackOriginItem {
  const status = fallbackStatus(store, zone, row.origin);
  return {
    origin: row.origin,
    status,
    errors: status === 'active' ? [] : [FALLBACK_RECORD_MISSING],
    createdAt: row.created_at,
    modifiedAt: row.modified_at,
  };
}

/** Active while the zone has a proxied A, AAAA or CNAME record of that name. */
function fallbackStatus(store: Store, zone: ZoneRow, origin: string): 'initializing' | 'active' {
  return originRecords(store, zone, origin).some(({ proxied }) => proxied === 1) ? 'active' : 'initializing';
}

/** The reasons why requests for a hostname cannot be sent to an origin. `origin`: its own one; null: that of the zone. */
export function originFaults(store: Store, zone: ZoneRow, origin: string | null): readonly string[] {
  if (origin !== null) return isOrigin(store, zone, origin) ? [] : [customOriginMissing(origin)];
  const fallback = findFallbackOrigin(store, zone.seq);
  if (!fallback) return [NO_FALLBACK_ORIGIN];
  const status = fallbackStatus(store, zone, fallback.origin);
  return status === 'active' ? [] : [fallbackOriginStatus(status)];
}

/** Identifiers of hostnames that were pending for want of a fallback origin, now that their zone has one. */
export function hostnamesAwaitingFallback(store: Store, zone: ZoneRow): string[] {
  const origin = findFallbackOrigin(store, zone.seq)?.origin;
  if (origin === undefined || fallbackStatus(store, zone, origin) !== 'active') return [];
  return pendingHostnamesWith(store, zone.seq, FALLBACK_ORIGIN);
}

/** Whether traffic can be sent to a host: the zone has a record of that name. */
export function isOrigin(store: Store, zone: ZoneRow, origin: string): boolean {
  return originRecords(store, zone, origin).length > 0;
}

function originRecords(store: Store, zone: ZoneRow, origin: string): RecordRow[] {
  if (origin !== zone.name && !origin.endsWith(`.${zone.name}`)) return [];
  try {
    const ownerKey = ownerKeyOf(parseName(`${origin}.`), zone.apex);
    return recordsOfOwner(store, zone.seq, ownerKey).filter(({ type }) => isProxiableType(type));
  } catch (error) {
    if (error instanceof NameError) return [];
    throw error;
  }
}
