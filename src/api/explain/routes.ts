/** `/zones/{zone_id}/dns_records/explain`: explains an answer (ours). */
import { requireZone } from '../../control/guard/access.js';
import { explain } from '../../explain/explain.js';
import type { Packet } from '../../explain/packet.js';
import { explainRoute } from '../../hostnames/routing/explain-route.js';
import { textValue } from '../query.js';
import { queryOf } from '../request.js';
import type { AddRoutes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { explainQuery, explanation } from './schema.js';

const view = ({ size, parts }: Packet) => ({ size, parts: [...parts] });

export const explainRoutes: AddRoutes = (app) => {
  app.get(
    '/zones/:zone_id/dns_records/explain',
    {
      area: 'dns',
      readsLong: true,
      tags: ['DNS records'],
      summary: 'Explain an answer',
      params: zoneParams,
      querystring: explainQuery,
      answer: explanation,
    },
    async (ctx, request) => {
      const { zone_id: zoneId } = request.params;
      requireZone(ctx, zoneId);
      const query = queryOf(request);
      const { clientSubnet, packets, ...found } = explain(
        ctx,
        textValue(query, 'name') ?? '@',
        textValue(query, 'type') ?? 'A',
        { zoneId, clientSubnet: textValue(query, 'client_subnet') },
      );
      const { answer, authority } = found.answer;
      const lists = { answer: [...answer], authority: [...authority] };
      const route = explainRoute(ctx, found.name);
      const edge = route ? { ...route, origins: [...route.origins], steps: [...route.steps] } : null;
      return {
        ...found,
        steps: [...found.steps],
        answer: { ...found.answer, ...lists },
        packets: packets && { query: view(packets.query), response: view(packets.response) },
        client_subnet: clientSubnet,
        edge,
      };
    },
  );
};
