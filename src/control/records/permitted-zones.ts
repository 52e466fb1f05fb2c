/** Finds all zones in which a credential may read or change records, for protocols whose requests name no zone. */
import { fromHex } from '../../base/bytes.js';
import { AppError } from '../../base/errors.js';
import { nextSlice } from '../../base/slices.js';
import { findZoneById } from '../../store/zones/zones.js';
import { permitted, targetOfZone } from '../guard/access.js';
import type { Level } from '../guard/permissions.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import type { ZoneItem } from '../zones/item.js';
import { listZones } from '../zones/zones.js';

export interface PermittedZone {
  readonly zone: ZoneItem;
  /** Restricted to what the policies of the actor permit in this zone. */
  readonly ctx: Context;
}

const MOST_ZONES = 10_000;
const ZONES_AT_ONCE = 1000;

/** `encloses`: only zones that may contain this name. Throws 400 when there are too many zones. */
export async function permittedZones(ctx: Context, level: Level, encloses?: string): Promise<readonly PermittedZone[]> {
  const found: PermittedZone[] = [];
  const query = {
    types: ['full', 'partial'],
    perPage: ZONES_AT_ONCE,
    ...(encloses === undefined ? {} : { encloses }),
  } as const;
  for (let page = 1; ; page++) {
    const { items, totalCount } = await listZones(ctx, { ...query, page });
    for (const zone of items) {
      const own = contextIn(ctx, zone, level);
      if (own) found.push({ zone, ctx: own });
    }
    if (page * ZONES_AT_ONCE >= totalCount) return found;
    await nextSlice();
    if (found.length > MOST_ZONES) throw badBody(`there are more than ${MOST_ZONES} zones: use a token for fewer`);
  }
}

function contextIn(ctx: Context, { id }: ZoneItem, level: Level): Context | undefined {
  const row = findZoneById(ctx.store, fromHex(id)!);
  if (!row) return undefined;
  try {
    return { ...ctx, actor: permitted(ctx.actor, 'dns', level, targetOfZone(ctx.store, row)) };
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** By name, for {@link closestZone}. Of several zones with one name, the active one counts. */
export function zonesByName(zones: readonly PermittedZone[]): ReadonlyMap<string, PermittedZone> {
  const found = new Map<string, PermittedZone>();
  for (const one of zones) {
    const { asciiName, status } = one.zone;
    if (status === 'active' || !found.has(asciiName)) found.set(asciiName, one);
  }
  return found;
}

/** The zone with the longest name at or above the given one (lower-case ASCII, no final dot). */
export function closestZone(zones: ReadonlyMap<string, PermittedZone>, name: string): PermittedZone | undefined {
  for (let above = name; ; above = above.slice(above.indexOf('.') + 1)) {
    const found = zones.get(above);
    if (found || !above.includes('.')) return found;
  }
}
