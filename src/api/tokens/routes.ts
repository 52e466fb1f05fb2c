/** `/user/tokens` and `/accounts/{account_id}/tokens`: API tokens and their permission groups (v4: §12). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import { success, successPage } from '../envelope.js';
import { pageOf, resultInfo, TOKEN_PAGES } from '../paging.js';
import { choiceValue, type Query, switchValue, textValue } from '../query.js';
import { type ContextOf, callerOf, queryOf } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
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

const tags = ['API tokens'];

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

export const tokenRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  for (const owned of [OF_USER, OF_ACCOUNT]) {
    await app.register(permissionGroupRoutes, { contextOf, owned });
    await app.register(tokenListRoutes, { contextOf, owned });
    await app.register(tokenOneRoutes, { contextOf, owned });
  }
};

type Routes = FastifyPluginAsyncZod<{ contextOf: ContextOf; owned: Owned }>;

const permissionGroupRoutes: Routes = async (app, { contextOf, owned: { path, list, ownerOf } }) => {
  app.get(
    `${path}/permission_groups`,
    {
      config: { area: 'any' },
      schema: {
        tags,
        summary: 'List permission groups',
        params: list,
        querystring: permissionGroupQuery,
        response: answersList(permissionGroup),
      },
    },
    async (request) => {
      const owner = ownerOf(request.params);
      if ('account' in owner) await getAccount(contextOf(request), owner.account);
      const views = PERMISSION_GROUPS.map(permissionGroupView).filter(groupFilter(queryOf(request)));
      const page = { page: 1, perPage: PERMISSION_GROUPS.length };
      return successPage(views, resultInfo(page, views.length, views.length));
    },
  );
};

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

const tokenListRoutes: Routes = async (app, { contextOf, owned: { path, area, list, ownerOf } }) => {
  app.get(
    path,
    {
      config: { area, readsLong: true },
      schema: { tags, summary: 'List tokens', params: list, querystring: tokenQuery, response: answersList(token) },
    },
    async (request) => {
      const query = queryOf(request);
      const page = pageOf(query, TOKEN_PAGES);
      const direction = choiceValue(query, 'direction', ['asc', 'desc']);
      const includeExpired = switchValue(query, 'include_expired');
      const { items, totalCount } = await listTokens(contextOf(request), ownerOf(request.params), {
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
    {
      config: { area, oneCommit: true },
      schema: { tags, summary: 'Create a token', params: list, body: tokenBody, response: answersOne(createdToken) },
    },
    async (request) => {
      const made = await createToken(contextOf(request), ownerOf(request.params), request.body);
      return success({ ...tokenView(made.token, callerOf(request).actor.userId), value: made.secret });
    },
  );
};

const tokenOneRoutes: Routes = async (app, { contextOf, owned: { path, area, one, ownerOf } }) => {
  const tokenIdOf = (params: unknown): string => (params as z.output<typeof userTokenParams>).token_id;

  app.get(
    `${path}/:token_id`,
    { config: { area }, schema: { tags, summary: 'Get a token', params: one, response: answersOne(token) } },
    async (request) => {
      const item = await getToken(contextOf(request), ownerOf(request.params), tokenIdOf(request.params));
      return success(tokenView(item, callerOf(request).actor.userId));
    },
  );

  app.put(
    `${path}/:token_id`,
    {
      config: { area, oneCommit: true },
      schema: { tags, summary: 'Replace a token', params: one, body: tokenBody, response: answersOne(token) },
    },
    async (request) => {
      const { params } = request;
      const item = await replaceToken(contextOf(request), ownerOf(params), tokenIdOf(params), request.body);
      return success(tokenView(item, callerOf(request).actor.userId));
    },
  );

  app.put(
    `${path}/:token_id/value`,
    {
      config: { area, oneCommit: true },
      schema: { tags, summary: 'Give a token a new secret', params: one, response: answersOne(z.string()) },
    },
    async (request) => success(await rollToken(contextOf(request), ownerOf(request.params), tokenIdOf(request.params))),
  );

  app.delete(
    `${path}/:token_id`,
    {
      config: { area, oneCommit: true },
      schema: { tags, summary: 'Delete a token', params: one, response: answersOne(onlyId) },
    },
    async (request) =>
      success({ id: await deleteToken(contextOf(request), ownerOf(request.params), tokenIdOf(request.params)) }),
  );
};
