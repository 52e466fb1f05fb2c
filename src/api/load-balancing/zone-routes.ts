/** `/zones/{zone_id}/load_balancers` (v4: load balancing). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import {
  createLoadBalancer,
  deleteLoadBalancer,
  editLoadBalancer,
  getLoadBalancer,
  listLoadBalancers,
  replaceLoadBalancer,
} from '../../control/balancing/load-balancers.js';
import { zoneParams } from '../zones/schema.js';
import type { BalancingRouteOptions } from './account-routes.js';
import { balancingResource } from './resource-routes.js';
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
};
