/** `/zones/{zone_id}/dns_records/explain`: explains an answer (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { requireZone } from '../../control/access/access.js';
import { explain } from '../../explain/explain.js';
import { explainRoute } from '../../hostnames/routing/explain-route.js';
import { success } from '../envelope.js';
import { textValue } from '../query.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';

const explainQuery = z.object({
  name: z.string().optional().describe('A name in the zone, relative or complete; default: the apex'),
  type: z.string().optional().describe('Default: A'),
});

const explanation = z
  .object({
    name: z.string(),
    type: z.string(),
    zone: z.object({ id: z.string(), name: z.string(), status: z.string(), serial: z.int() }).nullable(),
    steps: z.array(
      z.object({
        step: z.enum([
          'zone',
          'node',
          'delegation',
          'alias',
          'proxied',
          'flattened',
          'origin',
          'synthesized',
          'outside',
          'signed',
          'proof',
        ]),
        name: z.string(),
        detail: z.string(),
      }),
    ),
    answer: z.object({
      rcode: z.string(),
      authoritative: z.boolean(),
      answer: z.array(z.string()).describe('Zone file lines'),
      authority: z.array(z.string()),
    }),
    edge: z
      .object({
        by: z.enum(['hostname', 'record', 'wildcard-record', 'wildcard-hostname']).nullable(),
        cause: z.enum(['ownership', 'fallback_origin', 'standalone_zone', 'origin_dns']).nullable(),
        origins: z.array(z.string()),
        detail: z.string(),
        steps: z.array(z.string()).describe('What happens to a request on its way, and which setting makes it so'),
      })
      .nullable()
      .describe('What the edge would do with a request for the name; null where it knows nothing of it'),
  })
  .describe('The deciding steps in order, and the answer from the code that serves');

export const explainRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/zones/:zone_id/dns_records/explain',
    {
      config: { area: 'dns' },
      schema: {
        tags: ['DNS records'],
        summary: 'Explain an answer',
        params: zoneParams,
        querystring: explainQuery,
        response: answersOne(explanation),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const { zone_id: zoneId } = request.params;
      requireZone(context, zoneId);
      const query = queryOf(request);
      const found = explain(context, textValue(query, 'name') ?? '@', textValue(query, 'type') ?? 'A', zoneId);
      const { answer, authority } = found.answer;
      const lists = { answer: [...answer], authority: [...authority] };
      const route = explainRoute(context, found.name);
      const edge = route ? { ...route, origins: [...route.origins], steps: [...route.steps] } : null;
      return success({ ...found, steps: [...found.steps], answer: { ...found.answer, ...lists }, edge });
    },
  );
};
