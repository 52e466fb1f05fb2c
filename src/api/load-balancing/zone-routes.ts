/** `/zones/{zone_id}/load_balancers` (v4: load balancing). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  createLoadBalancer,
  deleteLoadBalancer,
  editLoadBalancer,
  getLoadBalancer,
  listLoadBalancers,
  replaceLoadBalancer,
  requireBalancer,
} from '../../control/balancing/load-balancers.js';
import { requireZone } from '../../control/guard/access.js';
import { explainBalancer } from '../../explain/balancer.js';
import { success } from '../envelope.js';
import { textValue } from '../query.js';
import { queryOf } from '../request.js';
import { answersOne } from '../schema.js';
import { zoneParams } from '../zones/schema.js';
import type { BalancingRouteOptions } from './account-routes.js';
import { balancingResource, tags } from './resource-routes.js';
import { balancer, balancerBody, balancerEdit, balancerParams } from './schema.js';
import { balancerView } from './view.js';

const read = { area: 'loadBalancers', zoneState: 'read' } as const;
const write = { area: 'loadBalancers', zoneState: 'write', oneCommit: true } as const;

export const loadBalancerRoutes: FastifyPluginAsyncZod<BalancingRouteOptions> = async (app, { contextOf }) => {
  balancingResource(app, contextOf, {
    ...{ path: '/zones/:zone_id/load_balancers', id: 'load_balancer_id', params: [zoneParams, balancerParams] },
    ...{ one: 'a load balancer', many: 'load balancers', config: { read, write } },
    ofWhat: (_, request) => (request.params as { readonly zone_id: string }).zone_id,
    ...{ item: balancer, body: balancerBody, edit: balancerEdit, view: balancerView },
    ...{ list: listLoadBalancers, get: getLoadBalancer, create: createLoadBalancer },
    ...{ replace: replaceLoadBalancer, change: editLoadBalancer, remove: deleteLoadBalancer },
  });
  app.get(
    '/zones/:zone_id/load_balancers/:load_balancer_id/explain',
    {
      config: { area: 'loadBalancers', zoneState: 'read' },
      schema: {
        ...{ tags, summary: 'Explain what a load balancer answers', params: balancerParams },
        ...{ querystring: explainQuery, response: answersOne(explanation) },
      },
    },
    async (request) => {
      const ctx = contextOf(request);
      const { zone_id: zoneId, load_balancer_id: id } = request.params;
      const row = requireBalancer(ctx, requireZone(ctx, zoneId), id);
      const query = queryOf(request);
      const value = (name: string): string | undefined => textValue(query, name);
      const type = value('type')?.toUpperCase() === 'AAAA' ? 'AAAA' : 'A';
      const found = explainBalancer(ctx, row, {
        ...{ type, client: value('client'), country: value('country'), region: value('region'), pop: value('pop') },
      });
      return success({ ...found, steps: [...found.steps], pools: [...found.pools], answer: [...found.answer] });
    },
  );
};

const explainQuery = z.object({
  type: z.string().optional().describe('A (default) or AAAA'),
  client: z.string().optional().describe('An address or a network, sent along as the client subnet (RFC 7871)'),
  country: z.string().optional().describe('Where that client is, in place of what a database says'),
  region: z.string().optional().describe('The region of the server that is asked'),
  pop: z.string().optional().describe('The location code of the server that is asked'),
});

const explanation = z.object({
  name: z.string(),
  type: z.string(),
  policy: z.string(),
  place: z.object({ pop: z.string(), country: z.string(), region: z.string() }),
  steps: z.array(z.string()),
  pools: z.array(z.object({ id: z.string(), name: z.string(), verdict: z.string() })),
  rcode: z.string(),
  answer: z.array(z.string()),
});
