/** `/overview`: what needs somebody, and what ends next, in the zones of the caller (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { type Overview, overview } from './schema.js';
import type { WarningSource } from './warnings.js';

const MOST_ENDS = 8;
/** Certificates that are looked at. */
const MOST_REQUESTS = 2000;

export interface OverviewRoutesOptions {
  readonly contextOf: ContextOf;
  readonly warnings: WarningSource;
}

export const overviewRoutes: FastifyPluginAsyncZod<OverviewRoutesOptions> = async (app, { contextOf, warnings }) => {
  app.get(
    '/overview',
    {
      config: { area: 'any' },
      schema: { tags: ['Activity'], summary: 'What needs you, and what ends next', response: answersOne(overview) },
    },
    async (request) => {
      const context = contextOf(request);
      const visible = visibleZones(context);
      const findings = await warnings.findingsFor(context.actor);
      const ends = context.store.snapshot(() => [
        ...endsOfCertificates(context, visible),
        ...endsOfSignatures(context, visible),
      ]);
      ends.sort((a, b) => a.at.localeCompare(b.at));
      return success({ notices: nameSome(findings).filter(isWarning).map(viewOf), ends: ends.slice(0, MOST_ENDS) });
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
