/** Use cases of a zone's hold, which prevents other accounts from adding its name (v4: §4). */
import type { ZoneChange, ZoneRow } from '../../store/zones/zones.js';
import { requireZone } from '../guard/access.js';
import { commit } from '../kernel/commit.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import type { EventKind } from '../kernel/event.js';
import { isOn } from '../rules/hold.js';
import { parseInstant } from '../rules/instant.js';
import { zoneFailure } from '../rules/zone-failures.js';

export interface ZoneHoldItem {
  readonly hold: boolean;
  /** Microseconds since 1970 from which the hold is active; null = permanently off. */
  readonly holdAfter: number | null;
  readonly includeSubdomains: boolean;
}

type Columns = Pick<ZoneRow, 'hold_after' | 'hold_include_subdomains'>;

export async function getZoneHold(ctx: Context, zoneId: string): Promise<ZoneHoldItem> {
  return holdItem(requireZone(ctx, zoneId), ctx.clock.nowUs());
}

/** Activates the hold at once; an active hold keeps its start time. */
export async function createZoneHold(ctx: Context, zoneId: string, includeSubdomains: boolean): Promise<ZoneHoldItem> {
  return changeHold(ctx, zoneId, 'zone_hold.create', (zone, now) => ({
    hold_after: isOn(zone, now) ? zone.hold_after : now,
    hold_include_subdomains: includeSubdomains ? 1 : 0,
  }));
}

export interface ZoneHoldEdit {
  /** An RFC 3339 time; empty: now; null: off for good. */
  readonly hold_after?: string | null | undefined;
  readonly include_subdomains?: boolean | undefined;
}

/** PATCH of a hold that is on, waits or was released: absent members stay. */
export async function editZoneHold(ctx: Context, zoneId: string, edit: ZoneHoldEdit): Promise<ZoneHoldItem> {
  const { hold_after: after, include_subdomains: include } = edit;
  const instant = after === undefined || after === null || after === '' ? after : readInstant(after);
  return changeHold(ctx, zoneId, 'zone_hold.edit', (zone, now) => {
    requireHold(zone);
    return {
      hold_after: instant === undefined ? zone.hold_after : moveHold(zone, now, instant === '' ? now : instant),
      hold_include_subdomains: include === undefined ? zone.hold_include_subdomains : include ? 1 : 0,
    };
  });
}

/** Deactivates the hold, until `holdAfter` if that is given. */
export async function deleteZoneHold(ctx: Context, zoneId: string, holdAfter?: string): Promise<ZoneHoldItem> {
  const instant = holdAfter === undefined ? null : readInstant(holdAfter);
  return changeHold(ctx, zoneId, 'zone_hold.delete', (zone, now) => {
    requireHold(zone);
    return {
      hold_after: moveHold(zone, now, instant),
      hold_include_subdomains: zone.hold_include_subdomains,
    };
  });
}

/** A time in the past does not change an active hold (v4: §4). */
function moveHold(zone: ZoneRow, now: number, instant: number | null): number | null {
  return instant !== null && instant <= now && isOn(zone, now) ? zone.hold_after : instant;
}

function requireHold(zone: ZoneRow): void {
  if (zone.hold_set === 0) throw zoneFailure('holdMissing');
}

function holdItem(zone: Columns, now: number): ZoneHoldItem {
  return {
    hold: isOn(zone, now),
    holdAfter: zone.hold_after,
    includeSubdomains: zone.hold_include_subdomains === 1,
  };
}

/** Not part of the DNS data: the serial stays. */
async function changeHold(
  ctx: Context,
  zoneId: string,
  kind: EventKind,
  changeOf: (zone: ZoneRow, now: number) => Columns,
): Promise<ZoneHoldItem> {
  const { value } = await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    const change: Columns = changeOf(zone, draft.now);
    const before: Columns = { hold_after: zone.hold_after, hold_include_subdomains: zone.hold_include_subdomains };
    const same =
      before.hold_after === change.hold_after && before.hold_include_subdomains === change.hold_include_subdomains;
    if (!same) {
      draft.setZone(zone.seq, { ...change, hold_set: 1 } satisfies ZoneChange);
      draft.event({ kind, zone, before, after: change });
    }
    return holdItem(change, draft.now);
  });
  return value;
}

/** Microseconds since 1970 from an RFC 3339 time. */
function readInstant(text: string): number {
  const instant = parseInstant(text);
  if (instant === undefined) throw badBody('hold_after must be an RFC 3339 time', '/hold_after');
  return instant;
}
