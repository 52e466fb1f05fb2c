/** `/accounts/{account_id}/secondary_dns/catalogs`: catalog zones for other servers (RFC 9432); an extension of v4. */
import { z } from 'zod';
import {
  createCatalog,
  deleteCatalog,
  editMember,
  getCatalog,
  listCatalogs,
  listMembers,
} from '../../control/catalogs/catalogs.js';
import { accountResource } from '../routing/resource.js';
import { routes } from '../routing/route.js';
import { catalog, catalogBody, catalogParams, member, memberBody, memberParams } from './catalog-schema.js';
import { catalogView, memberView } from './view.js';

const ONE = '/accounts/:account_id/secondary_dns/catalogs/:catalog_id';

export const catalogRoutes = routes({ tags: ['Secondary DNS'], area: 'account' }, (app) => {
  accountResource(app, {
    ...{ isPaged: false, oneCommit: false },
    ...{ path: 'secondary_dns/catalogs', id: 'catalog_id', one: 'a catalog', many: 'catalogs' },
    ...{ params: catalogParams, item: catalog, body: catalogBody, view: catalogView },
    ...{ list: listCatalogs, create: createCatalog, get: getCatalog, remove: deleteCatalog },
  });
  app.get(
    `${ONE}/members`,
    { readsLong: true, summary: 'List the zones of a catalog', params: catalogParams, answer: z.array(member) },
    async (ctx, { params: { account_id: account, catalog_id: id } }) =>
      (await listMembers(ctx, account, id)).map(memberView),
  );
  app.patch(
    `${ONE}/members/:zone_id`,
    {
      summary: 'Set the group of a zone, reset it, or move it to another catalog',
      params: memberParams,
      body: memberBody,
      answer: member,
    },
    async (ctx, { params: { account_id: account, catalog_id: id, zone_id: zone }, body }) =>
      memberView(await editMember(ctx, account, id, zone, body)),
  );
});
