/** `/user/tokens` and `/accounts/{account_id}/tokens`: API tokens and their permission groups (v4: §12). */

import { z } from 'zod';
import { getAccount } from '../../control/access/accounts.js';
import {
  createToken,
  deleteToken,
  getToken,
  listTokens,
  replaceToken,
  rollToken,
  type TokenOwner,
} from '../../control/access/tokens.js';
import { PERMISSION_GROUPS } from '../../control/guard/permissions.js';
import { successPage } from '../envelope.js';
import { pageOf, resultInfo, TOKEN_PAGES } from '../paging.js';
import { choiceValue, type Query, switchValue, textValue } from '../query.js';
import { callerOf, queryOf } from '../request.js';
import { type Routes, routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import {
  accountTokenParams,
  accountTokensParams,
  createdToken,
  permissionGroup,
  permissionGroupQuery,
  token,
  tokenBody,
  tokenQuery,
  userTokenParams,
} from './schema.js';
import { permissionGroupView, tokenView } from './view.js';

/** The routes for one kind of owner; they differ in path and permission. */
interface Owned {
  readonly path: string;
  readonly area: 'userTokens' | 'accountTokens';
  readonly list: z.ZodObject;
  readonly one: z.ZodObject;
  readonly ownerOf: (params: unknown) => TokenOwner;
}

const OF_USER: Owned = {
  path: '/user/tokens',
  area: 'userTokens',
  list: z.object({}),
  one: userTokenParams,
  ownerOf: () => ({ user: true }),
};

const OF_ACCOUNT: Owned = {
  path: '/accounts/:account_id/tokens',
  area: 'accountTokens',
  list: accountTokensParams,
  one: accountTokenParams,
  ownerOf: (params) => ({ account: (params as z.output<typeof accountTokensParams>).account_id }),
};

export const tokenRoutes = routes({ tags: ['API tokens'] }, (app) => {
  for (const owned of [OF_USER, OF_ACCOUNT]) {
    addPermissionGroups(app, owned);
    addList(app, owned);
    addOne(app, owned);
  }
});

function addPermissionGroups(app: Routes, { path, list, ownerOf }: Owned): void {
  app.get(
    `${path}/permission_groups`,
    {
      area: 'any',
      summary: 'List permission groups',
      params: list,
      querystring: permissionGroupQuery,
      list: permissionGroup,
    },
    async (ctx, request) => {
      const owner = ownerOf(request.params);
      if ('account' in owner) await getAccount(ctx, owner.account);
      const views = PERMISSION_GROUPS.map(permissionGroupView).filter(groupFilter(queryOf(request)));
      const page = { page: 1, perPage: PERMISSION_GROUPS.length };
      return successPage(views, resultInfo(page, views.length, views.length));
    },
  );
}

/** Clients are told to encode the name themselves, so it is encoded twice. */
function decodeAgain(text: string | undefined): string | undefined {
  return text?.replace(/%20|\+/g, ' ');
}

function groupFilter(query: Query): (view: z.output<typeof permissionGroup>) => boolean {
  const name = decodeAgain(textValue(query, 'name'))?.toLowerCase();
  const scope = textValue(query, 'scope');
  return (view) =>
    (name === undefined || view.name.toLowerCase() === name) && (scope === undefined || view.scopes.includes(scope));
}

function addList(app: Routes, { path, area, list, ownerOf }: Owned): void {
  app.get(
    path,
    { area, readsLong: true, summary: 'List tokens', params: list, querystring: tokenQuery, list: token },
    async (ctx, request) => {
      const query = queryOf(request);
      const page = pageOf(query, TOKEN_PAGES);
      const direction = choiceValue(query, 'direction', ['asc', 'desc']);
      const includeExpired = switchValue(query, 'include_expired');
      const { items, totalCount } = await listTokens(ctx, ownerOf(request.params), {
        ...page,
        ...(direction && { direction }),
        ...(includeExpired === undefined ? {} : { includeExpired }),
      });
      const views = items.map((item) => tokenView(item, callerOf(request).actor.userId));
      return successPage(views, resultInfo(page, views.length, totalCount));
    },
  );

  app.post(
    path,
    { area, oneCommit: true, summary: 'Create a token', params: list, body: tokenBody, answer: createdToken },
    async (ctx, request) => {
      const made = await createToken(ctx, ownerOf(request.params), request.body);
      return { ...tokenView(made.token, callerOf(request).actor.userId), value: made.secret };
    },
  );
}

function addOne(app: Routes, { path, area, one, ownerOf }: Owned): void {
  const tokenIdOf = (params: unknown): string => (params as z.output<typeof userTokenParams>).token_id;

  app.get(`${path}/:token_id`, { area, summary: 'Get a token', params: one, answer: token }, async (ctx, request) => {
    const item = await getToken(ctx, ownerOf(request.params), tokenIdOf(request.params));
    return tokenView(item, callerOf(request).actor.userId);
  });

  app.put(
    `${path}/:token_id`,
    { area, oneCommit: true, summary: 'Replace a token', params: one, body: tokenBody, answer: token },
    async (ctx, request) => {
      const { params } = request;
      const item = await replaceToken(ctx, ownerOf(params), tokenIdOf(params), request.body);
      return tokenView(item, callerOf(request).actor.userId);
    },
  );

  app.put(
    `${path}/:token_id/value`,
    { area, oneCommit: true, summary: 'Give a token a new secret', params: one, answer: z.string() },
    async (ctx, { params }) => rollToken(ctx, ownerOf(params), tokenIdOf(params)),
  );

  app.delete(
    `${path}/:token_id`,
    { area, oneCommit: true, summary: 'Delete a token', params: one, answer: onlyId },
    async (ctx, { params }) => ({ id: await deleteToken(ctx, ownerOf(params), tokenIdOf(params)) }),
  );
}
