/** `/user/load_balancers/…`: monitors and pools of the caller's only account, for older clients (v4: load balancing). */
import { routes } from '../routing/route.js';
import { monitorsAndPools, poolsEditing, referencesListing } from './kinds.js';
import { OF_USER } from './scope.js';

export const balancingUserRoutes = routes({ tags: ['Load balancing'], area: 'loadBalancing' }, (app) => {
  monitorsAndPools(app, OF_USER);
  poolsEditing(app, OF_USER);
  referencesListing(app, OF_USER);
});
