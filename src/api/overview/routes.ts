/** `/overview`: what needs somebody, and what ends next, in the zones of the caller (ours). */
import { toHex } from '../../base/bytes.js';
import { stateOf } from '../../certs/certificate-state.js';
import { type VisibleZones, visibleZones } from '../../control/guard/visible.js';
import type { Context } from '../../control/kernel/context.js';
import { domainToUnicode } from '../../dns/idna.js';
import { listRequests } from '../../store/certs/requests.js';
import { earliestExpiry } from '../../store/dnssec/signatures.js';
import { allDnssecZones } from '../../store/dnssec/zones.js';
import { findZone } from '../../store/zones/zones.js';
import { isWarning, nameSome, type Warning } from '../../warnings/finding.js';
import type { AddRoutes } from '../routing/route.js';
import { type Overview, overview } from './schema.js';
import type { WarningSource } from './warnings.js';

const MOST_ENDS = 8;
/** Certificates that are looked at. */
const MOST_REQUESTS = 2000;

export interface OverviewRoutesOptions {
  readonly warnings: WarningSource;
}

export const overviewRoutes: AddRoutes<OverviewRoutesOptions> = (app, { warnings }) => {
  app.get(
    '/overview',
    { area: 'any', tags: ['Activity'], summary: 'What needs you, and what ends next', answer: overview },
    async (ctx) => {
      const visible = visibleZones(ctx);
      const findings = await warnings.findingsFor(ctx.actor);
      const ends = ctx.store.snapshot(() => [...endsOfCertificates(ctx, visible), ...endsOfSignatures(ctx, visible)]);
      ends.sort((a, b) => a.at.localeCompare(b.at));
      return { notices: nameSome(findings).filter(isWarning).map(viewOf), ends: ends.slice(0, MOST_ENDS) };
    },
  );
};

function viewOf({ kind, verdict, text, remedy, zoneId }: Warning): Overview['notices'][number] {
  const severity = verdict === 'fail' ? 'error' : 'warning';
  return { code: kind, severity, text, remedy, zone_id: zoneId ?? null };
}

type End = Overview['ends'][number];

function endsOfCertificates({ store, clock }: Context, visible: VisibleZones): End[] {
  return listRequests(store, MOST_REQUESTS).flatMap((row): End[] => {
    const zone = findZone(store, row.zone);
    if (!zone || visible.idOf(zone.seq) === undefined) return [];
    const { names, certificates } = stateOf(store, row, clock.nowMs());
    const [served] = certificates;
    if (!served) return [];
    const at = new Date(served.expiresOnMs).toISOString();
    return [{ kind: 'certificate', name: domainToUnicode(names[0] ?? zone.name), zone_id: toHex(zone.id), at }];
  });
}

function endsOfSignatures({ store }: Context, visible: VisibleZones): End[] {
  return allDnssecZones(store).flatMap((row): End[] => {
    const zone = findZone(store, row.zone);
    const expiry = zone && earliestExpiry(store, row.zone);
    if (!zone || expiry === undefined || visible.idOf(zone.seq) === undefined) return [];
    return [
      {
        kind: 'signatures',
        name: domainToUnicode(zone.name),
        zone_id: toHex(zone.id),
        at: new Date(expiry * 1000).toISOString(),
      },
    ];
  });
}
