/** `/accounts/{account_id}/alerting/v3/…`: webhooks, notification policies and their history (v4: alerting). */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import type { z } from 'zod';
import { listHistory } from '../../alerts/history.js';
import {
  createPolicy,
  deletePolicy,
  getPolicy,
  listPolicies,
  type MailServices,
  replacePolicy,
} from '../../alerts/policies.js';
import { type TestServices, testWebhook } from '../../alerts/send-alert.js';
import { ALERT_TYPES, FILTERS } from '../../alerts/types.js';
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listDeliveries,
  listWebhooks,
  replaceWebhook,
} from '../../alerts/webhooks.js';
import { requireAccount } from '../../control/guard/access.js';
import { accountParams } from '../accounts/schema.js';
import { success, successPage } from '../envelope.js';
import { AUDIT_PAGES, onePage, pageOf, resultInfo } from '../paging.js';
import { timeValue } from '../query.js';
import { type ContextOf, queryOf, type RouteScope } from '../request.js';
import { accountResource } from '../resource.js';
import { answersList, answersOne } from '../schema.js';
import {
  alertPolicy,
  alertPolicyBody,
  availableAlerts,
  delivery,
  eligible,
  historyItem,
  historyQuery,
  policyParams,
  webhook,
  webhookBody,
  webhookParams,
} from './schema.js';
import { deliveryView, historyView, policyView, testView, webhookView } from './view.js';

const tags = ['Alerting'];
const config = { area: 'account' } as const;
const BASE = '/accounts/:account_id/alerting/v3';

interface Parts {
  readonly contextOf: ContextOf;
  readonly alerts: TestServices & MailServices;
}

export const alertingRoutes: FastifyPluginAsyncZod<Parts> = async (app, { contextOf, alerts }) => {
  const shared = { tags, isPaged: true, oneCommit: true };
  accountResource(app, contextOf, {
    ...shared,
    ...{ path: 'alerting/v3/destinations/webhooks', id: 'webhook_id', one: 'a webhook', many: 'webhooks' },
    ...{ params: webhookParams, item: webhook, body: webhookBody, view: webhookView },
    ...{ list: listWebhooks, get: getWebhook, remove: deleteWebhook },
    create: (ctx, account, body) => createWebhook(ctx, alerts, account, body),
    replace: (ctx, account, id, body) => replaceWebhook(ctx, alerts, account, id, body),
  });
  accountResource(app, contextOf, {
    ...shared,
    ...{ path: 'alerting/v3/policies', id: 'policy_id', one: 'a notification policy', many: 'notification policies' },
    ...{ params: policyParams, item: alertPolicy, body: alertPolicyBody, view: policyView },
    ...{ list: listPolicies, get: getPolicy, remove: deletePolicy },
    create: (ctx, account, body) => createPolicy(ctx, alerts, account, body),
    replace: (ctx, account, id, body) => replacePolicy(ctx, alerts, account, id, body),
  });
  addDeliveries(app, { contextOf, alerts });
  addAvailable(app, { contextOf, alerts });
  addHistory(app, { contextOf });
};

function addDeliveries(app: RouteScope, { contextOf, alerts }: Parts): void {
  app.get(
    `${BASE}/destinations/webhooks/:webhook_id/deliveries`,
    {
      config,
      schema: {
        tags,
        summary: 'List deliveries to a webhook',
        params: webhookParams,
        response: answersList(delivery),
      },
    },
    async (request) => {
      const { account_id: account, webhook_id: id } = request.params;
      return onePage((await listDeliveries(contextOf(request), account, id)).map(deliveryView));
    },
  );
  app.post(
    `${BASE}/destinations/webhooks/:webhook_id/test`,
    {
      config,
      schema: {
        tags,
        summary: 'Send a test message to a webhook',
        params: webhookParams,
        response: answersOne(delivery),
      },
    },
    async (request) => {
      const { account_id: account, webhook_id: id } = request.params;
      return success(testView(await testWebhook(contextOf(request), alerts, account, id)));
    },
  );
}

function addAvailable(app: RouteScope, { contextOf, alerts }: Parts): void {
  app.get(
    `${BASE}/available_alerts`,
    {
      config,
      schema: { tags, summary: 'List types of alerts', params: accountParams, response: answersOne(availableAlerts) },
    },
    async (request) => {
      requireAccount(contextOf(request), request.params.account_id);
      return success(listAlertTypes());
    },
  );
  app.get(
    `${BASE}/destinations/eligible`,
    {
      config,
      schema: { tags, summary: 'List mechanisms of alerts', params: accountParams, response: answersOne(eligible) },
    },
    async (request) => {
      requireAccount(contextOf(request), request.params.account_id);
      const mechanism = (type: string, isThere: boolean) => [{ type, eligible: isThere, ready: isThere }];
      return success({
        Email: mechanism('email', alerts.sendsMail),
        PagerDuty: mechanism('pagerduty', false),
        Webhooks: mechanism('webhook', true),
      });
    },
  );
}

function listAlertTypes(): z.output<typeof availableAlerts> {
  const groups: z.output<typeof availableAlerts> = {};
  for (const { group, type, name, description, filters } of ALERT_TYPES) {
    const options = filters.map((key) => ({
      ...{ Key: key, Description: FILTERS[key], ComparisonOperator: '==', Optional: true },
    }));
    groups[group] = [...(groups[group] ?? []), { type, display_name: name, description, filter_options: options }];
  }
  return groups;
}

function addHistory(app: RouteScope, { contextOf }: Pick<Parts, 'contextOf'>): void {
  app.get(
    `${BASE}/history`,
    {
      config,
      schema: {
        ...{
          tags,
          summary: 'List the alerts that were sent to an account',
          params: accountParams,
          querystring: historyQuery,
        },
        response: answersList(historyItem),
      },
    },
    async (request) => {
      const query = queryOf(request);
      const page = pageOf(query, AUDIT_PAGES);
      const asked = { ...page, since: timeValue(query, 'since'), before: timeValue(query, 'before') };
      const { items, totalCount } = await listHistory(contextOf(request), request.params.account_id, asked);
      return successPage(items.map(historyView), resultInfo(page, items.length, totalCount));
    },
  );
}
