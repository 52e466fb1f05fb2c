/** `/metrics`: metrics in the text format of Prometheus. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { METRICS_CONTENT_TYPE } from '../../base/metrics.js';

export const metricsRoutes: FastifyPluginAsyncZod<{ metrics: () => Promise<string> }> = async (app, options) => {
  app.get(
    '/metrics',
    {
      config: { access: 'metrics' },
      schema: { tags: ['Operations'], summary: 'Counters and gauges', response: { 200: z.string() } },
    },
    async (_request, reply) => {
      reply.header('content-type', METRICS_CONTENT_TYPE);
      return options.metrics();
    },
  );
};
