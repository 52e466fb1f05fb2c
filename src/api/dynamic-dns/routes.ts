/**
 * `/nic/update`: the DynDNS2 protocol, as routers and ddclient speak it. The password is a token; the user name is ignored. The answer
 * has one line for each name.
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { ContextBase } from '../../control/kernel/context.js';
import { MOST_HOSTS, parseWanted, setDynamicAddress, type Wanted } from '../../control/records/dynamic-address.js';
import { sendError } from '../errors.js';
import { requireStillPermitted } from '../permission.js';
import { listValues } from '../query.js';
import { callerOf, makeContextOf, queryOf } from '../request.js';

const PATH = '/nic/update';
/** Query parameters that hold addresses. */
const ADDRESSES = ['myip', 'myipv6'];

export const dynamicDnsRoutes: FastifyPluginAsyncZod<{ base: ContextBase }> = async (app, { base }) => {
  const contextOf = makeContextOf(base, (request) => requireStillPermitted(base, request));
  app.get(
    PATH,
    {
      // A GET request changes records here, so HEAD is not offered.
      exposeHeadRoute: false,
      config: { area: 'any', takesPassword: true },
      errorHandler: answerError,
      schema: { hide: true },
    },
    async (request, reply) => {
      reply.type('text/plain');
      // A page of another site can make a browser send this request with its cookie, but not with a token.
      if (callerOf(request).scheme !== 'token') return refuseCredential(reply);
      const query = queryOf(request);
      const hosts = listValues(query, 'hostname');
      if (hosts.length === 0) return 'notfqdn';
      if (hosts.length > MOST_HOSTS) return 'numhost';
      const wanted = wantedOf(
        ADDRESSES.flatMap((name) => listValues(query, name)),
        request.clientAddress,
      );
      if (typeof wanted === 'string') return hosts.map(() => `dnserr ${wanted}`).join('\n');
      const ctx = contextOf(request);
      const lines: string[] = [];
      for (const host of hosts) {
        const { code, detail } = await setDynamicAddress(ctx, host, wanted);
        lines.push(detail === undefined ? code : `${code} ${detail}`);
      }
      return lines.join('\n');
    },
  );
};

/** One address of each family, or a text that says what is wrong. */
function wantedOf(texts: readonly string[], clientAddress: string): readonly Wanted[] | string {
  const found = new Map<string, Wanted>();
  for (const text of texts.length === 0 ? [clientAddress] : texts) {
    const wanted = parseWanted(text);
    if (!wanted) return `${JSON.stringify(text.slice(0, 60))} is not an address`;
    if (found.has(wanted.type)) return `there are two addresses for ${wanted.type} records`;
    found.set(wanted.type, wanted);
  }
  return [...found.values()];
}

function refuseCredential(reply: FastifyReply): string {
  reply.code(401).header('www-authenticate', 'Basic realm="zoneplane"');
  return 'badauth';
}

/** Sends refusals as words of the protocol; the status says the same to clients that read only that. */
function answerError(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  sendError(error, request, reply);
  reply.type('text/plain');
  const { statusCode } = reply;
  if (statusCode === 429) reply.send('abuse');
  else reply.send(statusCode >= 500 ? '911' : refuseCredential(reply));
}
