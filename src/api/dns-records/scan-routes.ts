/** `/zones/{zone_id}/dns_records/scan`: finds records of the domain elsewhere and adds them (v4: §7.5). */
import { z } from 'zod';
import { listFound, reviewFound, scanAndAdd, triggerScan } from '../../control/records/scan.js';
import { onePage } from '../paging.js';
import { queryOf } from '../request.js';
import { routes } from '../routing/route.js';
import { answers, message } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { record, reviewBody } from './schema.js';
import { recordView } from './view.js';

const SCAN = '/zones/:zone_id/dns_records/scan';

const scanned = z.object({ recs_added: z.int(), total_records_parsed: z.int() });
const noResult = z.object({ success: z.literal(true), errors: z.array(message), messages: z.array(message) });
const review = z.object({ accepts: z.array(record), rejects: z.array(z.string()) });

export const scanRoutes = routes({ tags: ['DNS records'], area: 'dns' }, (app) => {
  app.post(
    SCAN,
    { zoneState: 'write', summary: 'Find records and add them at once', params: zoneParams, answer: scanned },
    async (ctx, { params }) => {
      const { added, parsed } = await scanAndAdd(ctx, params.zone_id);
      return { recs_added: added, total_records_parsed: parsed };
    },
  );

  app.post(
    `${SCAN}/trigger`,
    { summary: 'Start a scan for records', params: zoneParams, response: answers(noResult) },
    async (ctx, { params }) => {
      await triggerScan(ctx, params.zone_id);
      return { success: true as const, errors: [], messages: [] };
    },
  );

  app.get(`${SCAN}/review`, { summary: 'List found records', params: zoneParams, list: record }, async (ctx, request) =>
    onePage(listFound(ctx, request.params.zone_id).map(recordView), queryOf(request)),
  );

  app.post(
    `${SCAN}/review`,
    {
      zoneState: 'write',
      summary: 'Accept or reject found records',
      params: zoneParams,
      body: reviewBody,
      answer: review,
    },
    async (ctx, { params, body }) => {
      const done = await reviewFound(ctx, params.zone_id, body);
      return { accepts: done.accepts.map(recordView), rejects: [...done.rejects] };
    },
  );
});
