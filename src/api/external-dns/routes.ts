/**
 * `/external_dns`: the webhook protocol of ExternalDNS, for all zones whose records the credential may change. ExternalDNS sends the
 * user name and the password in its URL, so a token is accepted as the password.
 */
import type { FastifyReply } from 'fastify';
import { adjustEndpoints, applyEndpoints, endpointZones, listEndpoints } from '../../control/records/endpoints.js';
import { BATCH_LIMIT_BYTES } from '../body.js';
import { routes } from '../routing/route.js';
import { endpointChanges, endpoints, WEBHOOK_TYPE } from './schema.js';

const PATH = '/external_dns';
export const externalDnsRoutes = routes({ area: 'any', takesPassword: true, hide: true }, (app) => {
  const answer = (reply: FastifyReply, value: unknown) =>
    reply.header('content-type', WEBHOOK_TYPE).send(Buffer.from(JSON.stringify(value)));

  app.get(PATH, {}, async (ctx, _request, reply) => answer(reply, { include: await endpointZones(ctx) }));
  app.open.get(`${PATH}/healthz`, {}, async (_request, reply) => reply.header('content-type', 'text/plain').send('ok'));
  app.get(`${PATH}/records`, { readsLong: true }, async (ctx, _request, reply) =>
    answer(reply, await listEndpoints(ctx)),
  );
  app.post(`${PATH}/records`, { body: endpointChanges, bodyLimit: BATCH_LIMIT_BYTES }, async (ctx, { body }, reply) => {
    await applyEndpoints(ctx, body);
    return reply.code(204).send();
  });
  app.open.post(`${PATH}/adjustendpoints`, { body: endpoints, bodyLimit: BATCH_LIMIT_BYTES }, async ({ body }, reply) =>
    answer(reply, adjustEndpoints(body)),
  );
});
