/** `/accounts/{account_id}/secondary_dns/…`: TSIG keys, networks and peers (v4: secondary DNS). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { createAcl, deleteAcl, getAcl, listAcls, replaceAcl } from '../../control/secondary/acls.js';
import { createPeer, deletePeer, getPeer, listPeers, replacePeer } from '../../control/secondary/peers.js';
import {
  createTsig,
  deleteTsig,
  getTsig,
  listTsigs,
  replaceTsig,
  type SecondaryServices,
} from '../../control/secondary/tsigs.js';
import { accountParams } from '../accounts/schema.js';
import { type Success, success, successPage } from '../envelope.js';
import { resultInfo } from '../paging.js';
import type { ContextOf } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { catalogRoutes } from './catalog-routes.js';
import { consumedRoutes } from './consumed-routes.js';
import { acl, aclBody, aclParams, peer, peerBody, peerParams, tsig, tsigBody, tsigParams } from './schema.js';
import { tsigView } from './view.js';

const tags = ['Secondary DNS'];
const BASE = '/accounts/:account_id/secondary_dns';
const config = { area: 'account' } as const;
/** Of routes that write. */
const writes = { ...config, oneCommit: true } as const;

interface RouteOptions {
  readonly contextOf: ContextOf;
  readonly services: SecondaryServices;
}

export const secondaryAccountRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, options) => {
  await app.register(tsigRoutes, options);
  await app.register(aclRoutes, options);
  await app.register(peerRoutes, options);
  await app.register(catalogRoutes, options);
  await app.register(consumedRoutes, options);
};

/** These lists have one page (v4). */
function singlePage<Item>(items: Item[]): Success<Item[]> {
  return successPage(items, resultInfo({ page: 1, perPage: Math.max(1, items.length) }, items.length, items.length));
}

const tsigRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, { contextOf, services }) => {
  const [list, one] = [`${BASE}/tsigs`, `${BASE}/tsigs/:tsig_id`];
  app.get(
    list,
    { config, schema: { tags, summary: 'List TSIG keys', params: accountParams, response: answersList(tsig) } },
    async (request) =>
      singlePage((await listTsigs(contextOf(request), services, request.params.account_id)).map(tsigView)),
  );
  app.post(
    list,
    {
      config: writes,
      schema: { tags, summary: 'Create a TSIG key', params: accountParams, body: tsigBody, response: answersOne(tsig) },
    },
    async (request) =>
      success(tsigView(await createTsig(contextOf(request), services, request.params.account_id, request.body))),
  );
  app.get(
    one,
    { config, schema: { tags, summary: 'Get a TSIG key', params: tsigParams, response: answersOne(tsig) } },
    async (request) => {
      const { account_id: account, tsig_id: id } = request.params;
      return success(tsigView(await getTsig(contextOf(request), services, account, id)));
    },
  );
  app.put(
    one,
    {
      config: writes,
      schema: { tags, summary: 'Replace a TSIG key', params: tsigParams, body: tsigBody, response: answersOne(tsig) },
    },
    async (request) => {
      const { account_id: account, tsig_id: id } = request.params;
      return success(tsigView(await replaceTsig(contextOf(request), services, account, id, request.body)));
    },
  );
  app.delete(
    one,
    {
      config: writes,
      schema: { tags, summary: 'Delete a TSIG key', params: tsigParams, response: answersOne(onlyId) },
    },
    async (request) => {
      const { account_id: account, tsig_id: id } = request.params;
      return success(await deleteTsig(contextOf(request), account, id));
    },
  );
};

const aclRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, { contextOf }) => {
  const [list, one] = [`${BASE}/acls`, `${BASE}/acls/:acl_id`];
  app.get(
    list,
    { config, schema: { tags, summary: 'List ACLs', params: accountParams, response: answersList(acl) } },
    async (request) => singlePage(await listAcls(contextOf(request), request.params.account_id)),
  );
  app.post(
    list,
    {
      config: writes,
      schema: { tags, summary: 'Create an ACL', params: accountParams, body: aclBody, response: answersOne(acl) },
    },
    async (request) => success(await createAcl(contextOf(request), request.params.account_id, request.body)),
  );
  app.get(
    one,
    { config, schema: { tags, summary: 'Get an ACL', params: aclParams, response: answersOne(acl) } },
    async (request) => success(await getAcl(contextOf(request), request.params.account_id, request.params.acl_id)),
  );
  app.put(
    one,
    {
      config: writes,
      schema: { tags, summary: 'Replace an ACL', params: aclParams, body: aclBody, response: answersOne(acl) },
    },
    async (request) => {
      const { account_id: account, acl_id: id } = request.params;
      return success(await replaceAcl(contextOf(request), account, id, request.body));
    },
  );
  app.delete(
    one,
    { config: writes, schema: { tags, summary: 'Delete an ACL', params: aclParams, response: answersOne(onlyId) } },
    async (request) => success(await deleteAcl(contextOf(request), request.params.account_id, request.params.acl_id)),
  );
};

const peerRoutes: FastifyPluginAsyncZod<RouteOptions> = async (app, { contextOf }) => {
  const [list, one] = [`${BASE}/peers`, `${BASE}/peers/:peer_id`];
  app.get(
    list,
    { config, schema: { tags, summary: 'List peers', params: accountParams, response: answersList(peer) } },
    async (request) => singlePage(await listPeers(contextOf(request), request.params.account_id)),
  );
  app.post(
    list,
    {
      config: writes,
      schema: { tags, summary: 'Create a peer', params: accountParams, body: peerBody, response: answersOne(peer) },
    },
    async (request) => success(await createPeer(contextOf(request), request.params.account_id, request.body)),
  );
  app.get(
    one,
    { config, schema: { tags, summary: 'Get a peer', params: peerParams, response: answersOne(peer) } },
    async (request) => success(await getPeer(contextOf(request), request.params.account_id, request.params.peer_id)),
  );
  app.put(
    one,
    {
      config: writes,
      schema: { tags, summary: 'Replace a peer', params: peerParams, body: peerBody, response: answersOne(peer) },
    },
    async (request) => {
      const { account_id: account, peer_id: id } = request.params;
      return success(await replacePeer(contextOf(request), account, id, request.body));
    },
  );
  app.delete(
    one,
    { config: writes, schema: { tags, summary: 'Delete a peer', params: peerParams, response: answersOne(onlyId) } },
    async (request) => success(await deletePeer(contextOf(request), request.params.account_id, request.params.peer_id)),
  );
};
