/** What must be known of a cluster before its log is opened; loads none of the packages for it. */
import { hostname } from 'node:os';
import { UserError } from '../../base/errors.js';
import type { Settings } from '../../config/schema.js';
import type { Store } from '../../store/driver.js';
import { clusterOf } from '../../store/meta.js';

/** The name of this node for the others. */
export const nodeName = (settings: Settings): string => settings.nodeName ?? hostname();

/** Throws a UserError unless the database may be written without a log. */
export function requireNoCluster(store: Store): void {
  if (clusterOf(store) === undefined) return;
  throw new UserError(
    'this database belongs to a cluster, but ZONEPLANE_CLUSTER is not set',
    'Set it to the address of PostgreSQL. To use the database alone from now on, run `zoneplane cluster leave`.',
  );
}
