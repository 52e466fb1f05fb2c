/** `/zones/{zone_id}/load_balancers` (v4: load balancing). */
import {
  createLoadBalancer,
  deleteLoadBalancer,
  editLoadBalancer,
  getLoadBalancer,
  listLoadBalancers,
  replaceLoadBalancer,
} from '../../control/balancing/load-balancers.js';
import { routes } from '../routing/route.js';
import { zoneParams } from '../zones/schema.js';
import { balancingResource } from './resource-routes.js';
import { balancer, balancerBody, balancerEdit, balancerParams } from './schema.js';
import { balancerView } from './view.js';

const read = { zoneState: 'read' } as const;
const write = { zoneState: 'write', oneCommit: true } as const;

export const loadBalancerRoutes = routes({ tags: ['Load balancing'], area: 'loadBalancers' }, (app) => {
  balancingResource(app, {
    ...{ path: '/zones/:zone_id/load_balancers', id: 'load_balancer_id', params: [zoneParams, balancerParams] },
    ...{ one: 'a load balancer', many: 'load balancers', config: { read, write } },
    ofWhat: (_, request) => (request.params as { readonly zone_id: string }).zone_id,
    ...{ item: balancer, body: balancerBody, edit: balancerEdit, view: balancerView },
    ...{ list: listLoadBalancers, get: getLoadBalancer, create: createLoadBalancer },
    ...{ replace: replaceLoadBalancer, change: editLoadBalancer, remove: deleteLoadBalancer },
  });
});
