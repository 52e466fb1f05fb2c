/**
 * `/external_dns`: the webhook protocol of ExternalDNS, for all zones whose records the credential may change. ExternalDNS sends the
 * user name and the password in its URL, so a token is accepted as the password.
 */
import type { FastifyReply } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { adjustEndpoints, applyEndpoints, endpointZones, listEndpoints } from '../../control/records/endpoints.js';
import { BATCH_LIMIT_BYTES } from '../body.js';
import type { ContextOf } from '../request.js';
import { endpointChanges, endpoints, WEBHOOK_TYPE } from './schema.js';

const PATH = '/external_dns';
const config = { area: 'any', takesPassword: true } as const;
const schema = { hide: true };

export const externalDnsRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  const answer = (reply: FastifyReply, value: unknown) =>
    reply.header('content-type', WEBHOOK_TYPE).send(Buffer.from(JSON.stringify(value)));

  app.get(PATH, { config, schema }, async (request, reply) =>
    answer(reply, { include: await endpointZones(contextOf(request)) }),
  );
  app.get(`${PATH}/healthz`, { config, schema }, async (_request, reply) =>
    reply.header('content-type', 'text/plain').send('ok'),
  );
  app.get(`${PATH}/records`, { config: { ...config, readsLong: true }, schema }, async (request, reply) =>
    answer(reply, await listEndpoints(contextOf(request))),
  );
  app.post(
    `${PATH}/records`,
    { config, bodyLimit: BATCH_LIMIT_BYTES, schema: { ...schema, body: endpointChanges } },
    async (request, reply) => {
      await applyEndpoints(contextOf(request), request.body);
      return reply.code(204).send();
    },
  );
  app.post(
    `${PATH}/adjustendpoints`,
    { config, bodyLimit: BATCH_LIMIT_BYTES, schema: { ...schema, body: endpoints } },
    async (request, reply) => answer(reply, adjustEndpoints(request.body)),
  );
};
