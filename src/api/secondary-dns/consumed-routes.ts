/** `/accounts/{account_id}/secondary_dns/consumed_catalogs`: catalog zones of other servers (RFC 9432); an extension of v4. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import {
  confirmRemovals,
  consumeCatalog,
  forgetConsumed,
  getConsumed,
  listConsumed,
  listConsumedMembers,
} from '../../control/catalog-consumer/consumer.js';
import { listRemoved, restoreRemoved } from '../../control/catalog-consumer/removed.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersOne, onlyId } from '../schema.js';
import { consumed, consumedMember, consumedParams, removedParams, removedZone } from './consumed-schema.js';
import { incomingBody } from './schema.js';
import { consumedMemberView, consumedView, removedZoneView } from './view.js';

const tags = ['Secondary DNS'];
const BASE = '/accounts/:account_id/secondary_dns/consumed_catalogs';
const REMOVED = '/accounts/:account_id/secondary_dns/removed_zones';
const ONE = `${BASE}/:catalog_id`;
const config = { area: 'account' } as const;

export const consumedRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  const summaries = (summary: string) => ({ tags, summary });
  const list = { params: accountParams, response: answersOne(z.array(consumed)) };
  app.get(BASE, { config, schema: { ...summaries('List catalogs of other servers'), ...list } }, async (request) =>
    success((await listConsumed(contextOf(request), request.params.account_id)).map(consumedView)),
  );
  const create = { params: accountParams, body: incomingBody, response: answersOne(consumed) };
  app.post(
    BASE,
    { config, schema: { ...summaries('Follow a catalog of another server'), ...create } },
    async (request) =>
      success(consumedView(await consumeCatalog(contextOf(request), request.params.account_id, request.body))),
  );
  const one = { params: consumedParams, response: answersOne(consumed) };
  app.get(ONE, { config, schema: { ...summaries('Get a catalog of another server'), ...one } }, async (request) => {
    const { account_id: account, catalog_id: id } = request.params;
    return success(consumedView(await getConsumed(contextOf(request), account, id)));
  });
  const remove = { params: consumedParams, response: answersOne(onlyId) };
  app.delete(ONE, { config, schema: { ...summaries('Follow a catalog no longer'), ...remove } }, async (request) => {
    const { account_id: account, catalog_id: id } = request.params;
    return success(await forgetConsumed(contextOf(request), account, id));
  });
  const members = { params: consumedParams, response: answersOne(z.array(consumedMember)) };
  app.get(`${ONE}/members`, { config, schema: { ...summaries('List its members'), ...members } }, async (request) => {
    const { account_id: account, catalog_id: id } = request.params;
    return success((await listConsumedMembers(contextOf(request), account, id)).map(consumedMemberView));
  });
  app.post(
    `${ONE}/confirm`,
    { config, schema: { ...summaries('Let the zones go that its stored version does not have'), ...one } },
    async (request) => {
      const { account_id: account, catalog_id: id } = request.params;
      return success(consumedView(await confirmRemovals(contextOf(request), account, id)));
    },
  );
  const removed = { params: accountParams, response: answersOne(z.array(removedZone)) };
  app.get(
    REMOVED,
    { config, schema: { ...summaries('List zones that left a catalog'), ...removed } },
    async (request) => success((await listRemoved(contextOf(request), request.params.account_id)).map(removedZoneView)),
  );
  const restore = { params: removedParams, response: answersOne(removedZone) };
  app.post(
    `${REMOVED}/:zone_id/restore`,
    { config, schema: { ...summaries('Serve a zone again that left a catalog'), ...restore } },
    async (request) => {
      const { account_id: account, zone_id: id } = request.params;
      return success(removedZoneView(await restoreRemoved(contextOf(request), account, id)));
    },
  );
};
