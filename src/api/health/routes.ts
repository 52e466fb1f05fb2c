/** `/livez` and `/readyz` for supervisors of the service, without a credential. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { choiceValue } from '../query.js';
import { queryOf } from '../request.js';

export interface Readiness {
  readonly ready: boolean;
  /** The reason for "not ready", as text for people. */
  readonly reason?: string;
  /** Names of zones that queries see in their former state, because their changes cannot be published. */
  readonly heldZones?: readonly string[];
  readonly ownHealth?: true;
}

const tags = ['Operations'];
const readiness = z.object({
  ready: z.boolean(),
  reason: z.string().optional(),
  held_zones: z
    .array(z.string())
    .optional()
    .describe('Zones that queries see in their former state, because their changes cannot be published'),
  own_health: z
    .literal(true)
    .optional()
    .describe('The log of the cluster cannot be reached, so load balancers use only the probes of this node'),
  warnings: z
    .record(z.string(), z.int())
    .optional()
    .describe(
      'How many warnings there are of each kind, as in `zoneplane_warnings`; the overview and `doctor` name them',
    ),
});

/** What a load balancer sends to this node; absent: everything. */
export type Purpose = 'dns' | 'writes';

interface HealthOptions {
  readonly readiness: (purpose?: Purpose) => Readiness;
  readonly warningCounts?: () => Readonly<Record<string, number>> | undefined;
}

export const healthRoutes: FastifyPluginAsyncZod<HealthOptions> = async (app, options) => {
  app.get(
    '/livez',
    {
      config: { access: 'public' },
      schema: {
        tags,
        security: [],
        summary: 'Whether the process runs',
        response: { 200: z.object({ alive: z.literal(true) }) },
      },
    },
    async () => ({ alive: true as const }),
  );

  app.get(
    '/readyz',
    {
      config: { access: 'public' },
      schema: {
        tags,
        security: [],
        summary: 'Whether every zone is loaded and the service is not stopping',
        querystring: z.object({
          for: z
            .enum(['dns', 'writes'])
            .optional()
            .describe(
              '`dns`: whether queries are answered; `writes`: whether changes are taken; absent: both, as far as this node decides',
            ),
        }),
        response: { 200: readiness, 503: readiness },
      },
    },
    async (request, reply) => {
      const { ready, reason, heldZones, ownHealth } = options.readiness(
        choiceValue(queryOf(request), 'for', ['dns', 'writes']),
      );
      reply.code(ready ? 200 : 503);
      const counts = Object.entries(options.warningCounts?.() ?? {}).filter(([, count]) => count > 0);
      return {
        ...{ ready, ...(reason !== undefined && { reason }), ...(heldZones && { held_zones: [...heldZones] }) },
        ...(ownHealth && { own_health: ownHealth }),
        ...(counts.length > 0 && { warnings: Object.fromEntries(counts) }),
      };
    },
  );
};
