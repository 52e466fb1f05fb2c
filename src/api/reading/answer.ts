/** Requests that read, answered by a thread of its own: the same routes on a store that only reads. */
import fastify, { type FastifyBaseLogger, LogController } from 'fastify';
import type { ContextBase } from '../../control/kernel/context.js';
import { PREFIX, ROUTING } from '../connection.js';
import { sendError } from '../errors.js';
import { makeContextOf, type RouteScope } from '../request.js';
import { routesOf } from '../routing/route.js';
import type { ReadAnswer, ReadOrder } from './order.js';
import { READ_ROUTES } from './routes.js';

/** Answers one request after the other. */
export function createAnswerer(base: ContextBase): (order: ReadOrder) => Promise<ReadAnswer> {
  let current: ReadOrder | undefined;
  const app = fastify({
    loggerInstance: base.log as unknown as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    ...ROUTING,
  });
  // The main thread has checked it.
  app.setValidatorCompiler(() => (value) => ({ value }));
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler((error, request, reply) => sendError(error, request, reply));
  app.decorateRequest('caller', null);
  app.decorateRequest('clientAddress', { getter: () => '' });
  app.decorateRequest('outcome', null);
  app.decorateRequest('readPoint', null);
  app.decorateRequest('mayMove', false);
  app.addHook('onRequest', async (request) => {
    request.caller = current!.caller;
  });
  const register = async (scope: RouteScope): Promise<void> => {
    const routes = routesOf(scope, makeContextOf(base));
    for (const add of READ_ROUTES) await add(routes, {});
  };
  app.register(register, { prefix: PREFIX });
  return async (order) => {
    current = order;
    const { statusCode, headers, rawPayload } = await app.inject({
      method: 'GET',
      url: order.url,
      headers: order.headers,
    });
    return { status: statusCode, headers: textsOf(headers), body: rawPayload };
  };
}

/** Those of the connection belong to the main thread. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'date',
  'content-length',
  'keep-alive',
  'transfer-encoding',
]);

function textsOf(
  headers: Readonly<Record<string, number | string | readonly string[] | undefined>>,
): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}
