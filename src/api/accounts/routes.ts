/** `/accounts`: list, get, and the check of a token within one (v4: §12). */
import { editAccount, getAccount, listAccounts } from '../../control/access/accounts.js';
import { editQuotas, listQuotas } from '../../control/access/quotas.js';
import { usage } from '../dns-records/schema.js';
import { successPage } from '../envelope.js';
import { ACCOUNT_PAGES, pageOf, resultInfo } from '../paging.js';
import { choiceValue, textValue } from '../query.js';
import { queryOf } from '../request.js';
import type { AddRoutes, Routes } from '../routing/route.js';
import { answersOne } from '../schema.js';
import { tokenVerification } from '../user/schema.js';
import { verifyToken } from '../user/view.js';
import { account, accountEdit, accountParams, accountQuery, quotaEdit, quotas } from './schema.js';
import { accountView, quotasView } from './view.js';

const tags = ['Accounts'];

export const accountRoutes: AddRoutes = (app) => {
  app.get(
    '/accounts',
    { area: 'any', readsLong: true, tags, summary: 'List accounts', querystring: accountQuery, list: account },
    async (ctx, request) => {
      const query = queryOf(request);
      const page = pageOf(query, ACCOUNT_PAGES);
      const name = textValue(query, 'name');
      const direction = choiceValue(query, 'direction', ['asc', 'desc']);
      const { items, totalCount } = await listAccounts(ctx, {
        ...page,
        ...(name === undefined ? {} : { name }),
        ...(direction === undefined ? {} : { direction }),
      });
      return successPage(items.map(accountView), resultInfo(page, items.length, totalCount));
    },
  );

  app.get(
    '/accounts/:account_id',
    { area: 'accountName', tags, summary: 'Get an account', params: accountParams, answer: account },
    async (ctx, { params }) => accountView(await getAccount(ctx, params.account_id)),
  );

  app.put(
    '/accounts/:account_id',
    {
      area: 'account',
      oneCommit: true,
      tags,
      summary: 'Rename an account, or enforce a second factor',
      params: accountParams,
      body: accountEdit,
      answer: account,
    },
    async (ctx, { params, body: { name, type, settings } }) => {
      const enforcesTwoFactor = settings?.enforce_twofactor ?? undefined;
      const input = { name, ...(type && { type }), enforcesTwoFactor };
      return accountView(await editAccount(ctx, params.account_id, input));
    },
  );

  app.get(
    '/accounts/:account_id/tokens/verify',
    {
      area: 'any',
      verifiesToken: true,
      tags,
      summary: 'Check the token of this request',
      params: accountParams,
      response: answersOne(tokenVerification),
    },
    async (ctx, request) => {
      await getAccount(ctx, request.params.account_id);
      return verifyToken(request);
    },
  );
  addQuotas(app);
};

function addQuotas(app: Routes): void {
  app.get(
    '/accounts/:account_id/dns_records/usage',
    {
      area: 'account',
      readsLong: true,
      tags: ['DNS records'],
      summary: 'Count the records of all zones of an account',
      params: accountParams,
      answer: usage,
    },
    async (ctx, { params }) => {
      const quotas = await listQuotas(ctx, params.account_id);
      const { used = 0, most = null } = quotas.find(({ kind }) => kind === 'records')!;
      // One of both levels has a quota, as clients expect.
      const ofZone = ctx.settings.limits.recordsPerZone !== undefined;
      return { record_quota: ofZone ? null : most, record_usage: used };
    },
  );

  app.get(
    '/accounts/:account_id/quotas',
    { area: 'account', readsLong: true, tags, summary: 'List quotas and use', params: accountParams, answer: quotas },
    async (ctx, { params }) => quotasView(await listQuotas(ctx, params.account_id)),
  );

  app.patch(
    '/accounts/:account_id/quotas',
    {
      area: 'account',
      tags,
      summary: 'Change quotas (administrators)',
      params: accountParams,
      body: quotaEdit,
      answer: quotas,
    },
    async (ctx, { params, body }) => quotasView(await editQuotas(ctx, params.account_id, body)),
  );
}
