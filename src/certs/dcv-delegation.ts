/**
 * The target to which customers may delegate `_acme-challenge` permanently: a name in the zone of their hostname, which
 * our own servers answer, so that no other zone needs to be configured.
 */
import { createHash } from 'node:crypto';
import { toHex } from '../base/bytes.js';
import type { ZoneRow } from '../store/zones/zones.js';

/** Distinguishes delegations to different zones: 16 hexadecimal digits. */
export function dcvIdentifier({ id }: Pick<ZoneRow, 'id'>): string {
  return createHash('sha256')
    .update(`dcv ${toHex(id)}`)
    .digest('hex')
    .slice(0, 16);
}

/**
 * The target for the CNAME at `_acme-challenge.<host>`, without the final dot. `host`: without `*.`. The result may be
 * too long for a name.
 */
export function dcvTarget(zone: Pick<ZoneRow, 'id' | 'name'>, host: string): string {
  return `${host}.${dcvIdentifier(zone)}.dcv.${zone.name}`;
}
