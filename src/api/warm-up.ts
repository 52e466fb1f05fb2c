/**
 * What a spare process does in advance: it builds an API like ours, without what is in ours, so that what fastify loads late is loaded
 * and its code is compiled. That is half the time of building the real one.
 */
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import fastify from 'fastify';
import { z } from 'zod';
import { ROUTING } from './connection.js';
import { docsOptions, openapiOptions } from './openapi/document.js';

/** As many as it takes until the code is compiled. */
const SCOPES = 30;
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Builds one and closes it. It never listens. */
export async function warmUp(): Promise<void> {
  const app = fastify(ROUTING);
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(() => JSON.stringify);
  app.register(swagger, openapiOptions({ version: '' }));
  const params = z.object({ id: z.string() });
  for (let number = 0; number < SCOPES; number++) {
    app.register(async (scope) => {
      scope.addHook('onRoute', () => {});
      for (const method of METHODS) {
        for (const url of [`/${number}`, `/${number}/:id`, `/:id/${number}`])
          scope.route({ method, url, schema: { params }, handler: async () => undefined });
      }
    });
  }
  app.register(swaggerUi, docsOptions());
  await app.ready();
  await app.close();
}
