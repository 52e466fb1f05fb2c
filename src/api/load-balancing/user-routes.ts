/** `/user/load_balancers/…`: monitors and pools of the caller's only account, for older clients (v4: load balancing). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { BalancingRouteOptions } from './account-routes.js';
import { monitorsAndPools, poolsEditing, referencesListing } from './kinds.js';
import { OF_USER } from './scope.js';

export const balancingUserRoutes: FastifyPluginAsyncZod<BalancingRouteOptions> = async (app, { contextOf }) => {
  monitorsAndPools(app, contextOf, OF_USER);
  poolsEditing(app, contextOf, OF_USER);
  referencesListing(app, contextOf, OF_USER);
};
