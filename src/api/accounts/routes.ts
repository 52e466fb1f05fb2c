/** `/accounts`: list, get, and the check of a token within one (v4: §12). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { editAccount, getAccount, listAccounts } from '../../control/access/accounts.js';
import { editQuotas, listQuotas } from '../../control/access/quotas.js';
import { usage } from '../dns-records/schema.js';
import { success, successPage } from '../envelope.js';
import { ACCOUNT_PAGES, pageOf, resultInfo } from '../paging.js';
import { choiceValue, textValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { answersList, answersOne } from '../schema.js';
import { tokenVerification } from '../user/schema.js';
import { verifyToken } from '../user/view.js';
import { account, accountEdit, accountParams, accountQuery, quotaEdit, quotas } from './schema.js';
import { accountView, quotasView } from './view.js';

const tags = ['Accounts'];

export const accountRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/accounts',
    {
      config: { area: 'any', readsLong: true },
      schema: { tags, summary: 'List accounts', querystring: accountQuery, response: answersList(account) },
    },
    async (request) => {
      const query = queryOf(request);
      const page = pageOf(query, ACCOUNT_PAGES);
      const name = textValue(query, 'name');
      const direction = choiceValue(query, 'direction', ['asc', 'desc']);
      const { items, totalCount } = await listAccounts(contextOf(request), {
        ...page,
        ...(name === undefined ? {} : { name }),
        ...(direction === undefined ? {} : { direction }),
      });
      return successPage(items.map(accountView), resultInfo(page, items.length, totalCount));
    },
  );

  app.get(
    '/accounts/:account_id',
    {
      config: { area: 'accountName' },
      schema: { tags, summary: 'Get an account', params: accountParams, response: answersOne(account) },
    },
    async (request) => success(accountView(await getAccount(contextOf(request), request.params.account_id))),
  );

  app.put(
    '/accounts/:account_id',
    {
      config: { area: 'account', oneCommit: true },
      schema: {
        tags,
        summary: 'Rename an account, or enforce a second factor',
        params: accountParams,
        body: accountEdit,
        response: answersOne(account),
      },
    },
    async (request) => {
      const { name, type, settings } = request.body;
      const enforcesTwoFactor = settings?.enforce_twofactor ?? undefined;
      const input = { name, ...(type && { type }), enforcesTwoFactor };
      return success(accountView(await editAccount(contextOf(request), request.params.account_id, input)));
    },
  );

  app.get(
    '/accounts/:account_id/tokens/verify',
    {
      config: { area: 'any', verifiesToken: true },
      schema: {
        tags,
        summary: 'Check the token of this request',
        params: accountParams,
        response: answersOne(tokenVerification),
      },
    },
    async (request) => {
      await getAccount(contextOf(request), request.params.account_id);
      return verifyToken(request);
    },
  );
  addQuotas(app, contextOf);
};

function addQuotas(app: RouteScope, contextOf: ContextOf): void {
  app.get(
    '/accounts/:account_id/dns_records/usage',
    {
      config: { area: 'account', readsLong: true },
      schema: {
        tags: ['DNS records'],
        summary: 'Count the records of all zones of an account',
        params: accountParams,
        response: answersOne(usage),
      },
    },
    async (request) => {
      const context = contextOf(request);
      const quotas = await listQuotas(context, request.params.account_id);
      const { used = 0, most = null } = quotas.find(({ kind }) => kind === 'records')!;
      // One of both levels has a quota, as clients expect.
      const ofZone = context.settings.limits.recordsPerZone !== undefined;
      return success({ record_quota: ofZone ? null : most, record_usage: used });
    },
  );

  app.get(
    '/accounts/:account_id/quotas',
    {
      config: { area: 'account', readsLong: true },
      schema: { tags, summary: 'List quotas and use', params: accountParams, response: answersOne(quotas) },
    },
    async (request) => success(quotasView(await listQuotas(contextOf(request), request.params.account_id))),
  );

  app.patch(
    '/accounts/:account_id/quotas',
    {
      config: { area: 'account' },
      schema: {
        tags,
        summary: 'Change quotas (administrators)',
        params: accountParams,
        body: quotaEdit,
        response: answersOne(quotas),
      },
    },
    async (request) =>
      success(quotasView(await editQuotas(contextOf(request), request.params.account_id, request.body))),
  );
}
