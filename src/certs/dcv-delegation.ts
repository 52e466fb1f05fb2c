/**
 * Where customers may delegate `_acme-challenge` to, once and for all: a name in the zone their hostname belongs to, which our own
 * servers answer, so that nothing besides that zone has to be set up.
 */
import { createHash } from 'node:crypto';
import { toHex } from '../base/bytes.js';
import type { ZoneRow } from '../store/zones/zones.js';

/** Tells delegations to one zone from those to another: 16 hexadecimal digits. */
export function dcvIdentifier({ id }: Pick<ZoneRow, 'id'>): string {
  return createHash('sha256')
    .update(`dcv ${toHex(id)}`)
    .digest('hex')
    .slice(0, 16);
}

/** The target for the CNAME at `_acme-challenge.<host>`; without final dot. `host`: without `*.`. May be too long to be a name. */
export function dcvTarget(zone: Pick<ZoneRow, 'id' | 'name'>, host: string): string {
  return `${host}.${dcvIdentifier(zone)}.dcv.${zone.name}`;
}
