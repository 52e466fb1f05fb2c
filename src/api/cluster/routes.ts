/** `/cluster`: the nodes, how far they are, and the last snapshot (ours). */
import { accountFailure } from '../../control/guard/account-failures.js';
import type { AddRoutes } from '../routing/route.js';
import { type Cluster, cluster, ONE_MACHINE } from './schema.js';

export interface ClusterRoutesOptions {
  /** Absent: one machine. */
  readonly readCluster: (() => Promise<Cluster>) | undefined;
}

export const clusterRoutes: AddRoutes<ClusterRoutesOptions> = (app, { readCluster }) => {
  app.get(
    '/cluster',
    {
      area: 'any',
      tags: ['Operations'],
      summary: 'Nodes of the cluster, how far they are, and its last snapshot; for administrators',
      answer: cluster,
    },
    async (ctx) => {
      // Nodes belong to no account.
      if (!ctx.actor.superAdministrator) throw accountFailure('notAllowed');
      return readCluster ? await readCluster() : ONE_MACHINE;
    },
  );
};
