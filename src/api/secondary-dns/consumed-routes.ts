/** `/accounts/{account_id}/secondary_dns/consumed_catalogs`: catalog zones of other servers (RFC 9432); an extension of v4. */
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
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { consumed, consumedMember, consumedParams, removedParams, removedZone } from './consumed-schema.js';
import { incomingBody } from './schema.js';
import { consumedMemberView, consumedView, removedZoneView } from './view.js';

const BASE = '/accounts/:account_id/secondary_dns/consumed_catalogs';
const REMOVED = '/accounts/:account_id/secondary_dns/removed_zones';
const ONE = `${BASE}/:catalog_id`;

export const consumedRoutes = routes({ tags: ['Secondary DNS'], area: 'account' }, (app) => {
  app.get(
    BASE,
    { summary: 'List catalogs of other servers', params: accountParams, answer: z.array(consumed) },
    async (ctx, { params }) => (await listConsumed(ctx, params.account_id)).map(consumedView),
  );
  app.post(
    BASE,
    { summary: 'Follow a catalog of another server', params: accountParams, body: incomingBody, answer: consumed },
    async (ctx, { params, body }) => consumedView(await consumeCatalog(ctx, params.account_id, body)),
  );
  const one = { params: consumedParams, answer: consumed } as const;
  app.get(
    ONE,
    { summary: 'Get a catalog of another server', ...one },
    async (ctx, { params: { account_id: account, catalog_id: id } }) =>
      consumedView(await getConsumed(ctx, account, id)),
  );
  app.delete(
    ONE,
    { summary: 'Follow a catalog no longer', params: consumedParams, answer: onlyId },
    async (ctx, { params: { account_id: account, catalog_id: id } }) => await forgetConsumed(ctx, account, id),
  );
  app.get(
    `${ONE}/members`,
    { readsLong: true, summary: 'List its members', params: consumedParams, answer: z.array(consumedMember) },
    async (ctx, { params: { account_id: account, catalog_id: id } }) =>
      (await listConsumedMembers(ctx, account, id)).map(consumedMemberView),
  );
  app.post(
    `${ONE}/confirm`,
    { summary: 'Let the zones go that its stored version does not have', ...one },
    async (ctx, { params: { account_id: account, catalog_id: id } }) =>
      consumedView(await confirmRemovals(ctx, account, id)),
  );
  app.get(
    REMOVED,
    { readsLong: true, summary: 'List zones that left a catalog', params: accountParams, answer: z.array(removedZone) },
    async (ctx, { params }) => (await listRemoved(ctx, params.account_id)).map(removedZoneView),
  );
  app.post(
    `${REMOVED}/:zone_id/restore`,
    { summary: 'Serve a zone again that left a catalog', params: removedParams, answer: removedZone },
    async (ctx, { params: { account_id: account, zone_id: id } }) =>
      removedZoneView(await restoreRemoved(ctx, account, id)),
  );
});
