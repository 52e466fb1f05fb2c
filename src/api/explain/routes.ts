/** `/zones/{zone_id}/dns_records/explain`: explains an answer (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { requireZone } from '../../control/guard/access.js';
import { explain } from '../../explain/explain.js';
import type { Packet } from '../../explain/packet.js';
import { explainRoute } from '../../hostnames/routing/explain-route.js';
import { success } from '../envelope.js';
import { textValue } from '../query.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import { explainQuery, explanation } from './schema.js';

const view = ({ size, parts }: Packet) => ({ size, parts: [...parts] });

export const explainRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/zones/:zone_id/dns_records/explain',
    {
      config: { area: 'dns', readsLong: true },
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
      const { clientSubnet, packets, ...found } = explain(
        context,
        textValue(query, 'name') ?? '@',
        textValue(query, 'type') ?? 'A',
        { zoneId, clientSubnet: textValue(query, 'client_subnet') },
      );
      const { answer, authority } = found.answer;
      const lists = { answer: [...answer], authority: [...authority] };
      const route = explainRoute(context, found.name);
      const edge = route ? { ...route, origins: [...route.origins], steps: [...route.steps] } : null;
      return success({
        ...found,
        steps: [...found.steps],
        answer: { ...found.answer, ...lists },
        packets: packets && { query: view(packets.query), response: view(packets.response) },
        client_subnet: clientSubnet,
        edge,
      });
    },
  );
};
