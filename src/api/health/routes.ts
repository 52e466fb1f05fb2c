/** `/livez` and `/readyz` for supervisors of the service, without a credential. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';

export interface Readiness {
  readonly ready: boolean;
  /** The reason for "not ready", as text for people. */
  readonly reason?: string;
  /** Names of zones that queries see in their former state, because their changes cannot be published. */
  readonly heldZones?: readonly string[];
}

const tags = ['Operations'];
const readiness = z.object({
  ready: z.boolean(),
  reason: z.string().optional(),
  held_zones: z
    .array(z.string())
    .optional()
    .describe('Zones that queries see in their former state, because their changes cannot be published'),
  warnings: z
    .record(z.string(), z.int())
    .optional()
    .describe(
      'How many warnings there are of each kind, as in `zoneplane_warnings`; the overview and `doctor` name them',
    ),
});

interface HealthOptions {
  readonly readiness: () => Readiness;
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
        response: { 200: readiness, 503: readiness },
      },
    },
    async (_request, reply) => {
      const { ready, reason, heldZones } = options.readiness();
      reply.code(ready ? 200 : 503);
      const counts = Object.entries(options.warningCounts?.() ?? {}).filter(([, count]) => count > 0);
      return {
        ...{ ready, ...(reason !== undefined && { reason }), ...(heldZones && { held_zones: [...heldZones] }) },
        ...(counts.length > 0 && { warnings: Object.fromEntries(counts) }),
      };
    },
  );
};
