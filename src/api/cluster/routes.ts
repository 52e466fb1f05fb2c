/** `/cluster`: the nodes, how far they are, and the last snapshot (ours). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { accountFailure } from '../../control/guard/account-failures.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne } from '../schema.js';
import { type Cluster, cluster, ONE_MACHINE } from './schema.js';

export interface ClusterRoutesOptions {
  readonly contextOf: ContextOf;
  /** Absent: one machine. */
  readonly readCluster: (() => Promise<Cluster>) | undefined;
}

export const clusterRoutes: FastifyPluginAsyncZod<ClusterRoutesOptions> = async (app, { contextOf, readCluster }) => {
  app.get(
    '/cluster',
    {
      config: { area: 'any' },
      schema: {
        tags: ['Operations'],
        summary: 'Nodes of the cluster, how far they are, and its last snapshot; for administrators',
        response: answersOne(cluster),
      },
    },
    async (request) => {
      // Nodes belong to no account.
      if (!contextOf(request).actor.superAdministrator) throw accountFailure('notAllowed');
      return success(readCluster ? await readCluster() : ONE_MACHINE);
    },
  );
};
