/** The resources of which something may be read for long, for the main thread and for those that read. */
import { accountRoutes } from '../accounts/routes.js';
import { auditLogRoutes } from '../audit-logs/routes.js';
import { hostnameListRoutes } from '../custom-hostnames/list-routes.js';
import { type RecordRouteOptions, recordRoutes } from '../dns-records/routes.js';
import { explainRoutes } from '../explain/routes.js';
import { externalDnsRoutes } from '../external-dns/routes.js';
import { balancingAccountRoutes } from '../load-balancing/account-routes.js';
import { type MemberRouteOptions, memberRoutes } from '../members/routes.js';
import { membershipRoutes } from '../memberships/routes.js';
import { bucketRoutes } from '../r2-buckets/routes.js';
import { objectListRoutes } from '../r2-objects/list-routes.js';
import type { AddRoutes } from '../routing/route.js';
import { ruleTrialRoutes } from '../rulesets/try-routes.js';
import { searchRoutes } from '../search/routes.js';
import { catalogRoutes } from '../secondary-dns/catalog-routes.js';
import { consumedRoutes } from '../secondary-dns/consumed-routes.js';
import { tokenRoutes } from '../tokens/routes.js';
import { zoneHistoryRoutes } from '../zone-history/routes.js';
import { zoneRoutes } from '../zones/routes.js';

export const READ_ROUTES: readonly AddRoutes<RecordRouteOptions & MemberRouteOptions>[] = [
  zoneRoutes,
  recordRoutes,
  explainRoutes,
  zoneHistoryRoutes,
  tokenRoutes,
  accountRoutes,
  memberRoutes,
  membershipRoutes,
  auditLogRoutes,
  bucketRoutes,
  objectListRoutes,
  hostnameListRoutes,
  searchRoutes,
  ruleTrialRoutes,
  balancingAccountRoutes,
  externalDnsRoutes,
  catalogRoutes,
  consumedRoutes,
];
