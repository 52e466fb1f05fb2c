/** `/zones/{zone_id}/dns_records/scan`: finds records of the domain elsewhere and adds them (v4: §7.5). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { listFound, reviewFound, scanAndAdd, triggerScan } from '../../control/records/scan.js';
import { success } from '../envelope.js';
import { onePage } from '../paging.js';
import type { ContextOf } from '../request.js';
import { answers, answersList, answersOne, message } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { record, reviewBody } from './schema.js';
import { recordView } from './view.js';

const tags = ['DNS records'];
const SCAN = '/zones/:zone_id/dns_records/scan';

const scanned = z.object({ recs_added: z.int(), total_records_parsed: z.int() });
const noResult = z.object({ success: z.literal(true), errors: z.array(message), messages: z.array(message) });
const review = z.object({ accepts: z.array(record), rejects: z.array(z.string()) });

export const scanRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.post(
    SCAN,
    {
      config: { area: 'dns', zoneState: 'write' },
      schema: { tags, summary: 'Find records and add them at once', params: zoneParams, response: answersOne(scanned) },
    },
    async (request) => {
      const { added, parsed } = await scanAndAdd(contextOf(request), request.params.zone_id);
      return success({ recs_added: added, total_records_parsed: parsed });
    },
  );

  app.post(
    `${SCAN}/trigger`,
    {
      config: { area: 'dns' },
      schema: { tags, summary: 'Start a scan for records', params: zoneParams, response: answers(noResult) },
    },
    async (request) => {
      await triggerScan(contextOf(request), request.params.zone_id);
      return { success: true as const, errors: [], messages: [] };
    },
  );

  app.get(
    `${SCAN}/review`,
    {
      config: { area: 'dns' },
      schema: { tags, summary: 'List found records', params: zoneParams, response: answersList(record) },
    },
    async (request) => {
      return onePage(listFound(contextOf(request), request.params.zone_id).map(recordView));
    },
  );

  app.post(
    `${SCAN}/review`,
    {
      config: { area: 'dns', zoneState: 'write' },
      schema: {
        tags,
        summary: 'Accept or reject found records',
        params: zoneParams,
        body: reviewBody,
        response: answersOne(review),
      },
    },
    async (request) => {
      const done = await reviewFound(contextOf(request), request.params.zone_id, request.body);
      return success({ accepts: done.accepts.map(recordView), rejects: [...done.rejects] });
    },
  );
};
