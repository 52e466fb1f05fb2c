/** `/accounts`: list, get, and the check of a token within one (v4: §12). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { countAccountRecords, getAccount, listAccounts } from '../../control/access/accounts.js';
import { usage } from '../dns-records/schema.js';
import { success, successPage } from '../envelope.js';
import { ACCOUNT_PAGES, pageOf, resultInfo } from '../paging.js';
import { choiceValue, textValue } from '../query.js';
import { type ContextOf, queryOf } from '../request.js';
import { answersList, answersOne } from '../schema.js';
import { tokenVerification } from '../user/schema.js';
import { verifyToken } from '../user/view.js';
import { account, accountParams, accountQuery } from './schema.js';
import { accountView } from './view.js';

const tags = ['Accounts'];

export const accountRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  app.get(
    '/accounts',
    {
      config: { area: 'any' },
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
      config: { area: 'account' },
      schema: { tags, summary: 'Get an account', params: accountParams, response: answersOne(account) },
    },
    async (request) => success(accountView(await getAccount(contextOf(request), request.params.account_id))),
  );

  app.get(
    '/accounts/:account_id/dns_records/usage',
    {
      config: { area: 'account' },
      schema: {
        tags: ['DNS records'],
        summary: 'Count the records of all zones of an account',
        params: accountParams,
        response: answersOne(usage),
      },
    },
    // Quotas are those of zones.
    async (request) => {
      const count = await countAccountRecords(contextOf(request), request.params.account_id);
      return success({ record_quota: null, record_usage: count });
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
};
