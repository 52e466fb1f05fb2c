/** Signing turned on and off for a zone, without the delegation that the use cases look after. */
import { requireZone } from '../../src/control/access/access.js';
import { beginSigning, type EnableOptions, endSigning } from '../../src/control/dnssec/enable.js';
import { commit } from '../../src/control/write/commit.js';
import type { Context } from '../../src/control/write/context.js';
import { findDnssecZone } from '../../src/store/dnssec/zones.js';

export async function enableSigning(ctx: Context, zoneId: string, options: EnableOptions = {}): Promise<void> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    if (!findDnssecZone(ctx.store, zone.seq)) beginSigning(ctx, draft, zone, options);
  });
}

export async function disableSigning(ctx: Context, zoneId: string): Promise<void> {
  await commit(ctx, (draft) => {
    const zone = requireZone(ctx, zoneId);
    if (findDnssecZone(ctx.store, zone.seq)) endSigning(ctx, draft, zone);
  });
}
