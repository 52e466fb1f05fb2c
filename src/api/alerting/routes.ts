/** `/accounts/{account_id}/alerting/v3/…`: webhooks, notification policies and their history (v4: alerting). */
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
import { successPage } from '../envelope.js';
import { AUDIT_PAGES, onePage, pageOf, resultInfo } from '../paging.js';
import { timeValue } from '../query.js';
import { queryOf } from '../request.js';
import { accountResource } from '../routing/resource.js';
import { type Routes, routes } from '../routing/route.js';
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

const BASE = '/accounts/:account_id/alerting/v3';

interface Parts {
  readonly alerts: TestServices & MailServices;
}

export const alertingRoutes = routes<Parts>({ tags: ['Alerting'], area: 'account' }, (app, { alerts }) => {
  const shared = { isPaged: true, oneCommit: true };
  accountResource(app, {
    ...shared,
    ...{ path: 'alerting/v3/destinations/webhooks', id: 'webhook_id', one: 'a webhook', many: 'webhooks' },
    ...{ params: webhookParams, item: webhook, body: webhookBody, view: webhookView },
    ...{ list: listWebhooks, get: getWebhook, remove: deleteWebhook },
    create: (ctx, account, body) => createWebhook(ctx, alerts, account, body),
    replace: (ctx, account, id, body) => replaceWebhook(ctx, alerts, account, id, body),
  });
  accountResource(app, {
    ...shared,
    ...{ path: 'alerting/v3/policies', id: 'policy_id', one: 'a notification policy', many: 'notification policies' },
    ...{ params: policyParams, item: alertPolicy, body: alertPolicyBody, view: policyView },
    ...{ list: listPolicies, get: getPolicy, remove: deletePolicy },
    create: (ctx, account, body) => createPolicy(ctx, alerts, account, body),
    replace: (ctx, account, id, body) => replacePolicy(ctx, alerts, account, id, body),
  });
  app.get(
    `${BASE}/destinations/webhooks/:webhook_id/deliveries`,
    { summary: 'List deliveries to a webhook', params: webhookParams, list: delivery },
    async (ctx, request) => {
      const { account_id: account, webhook_id: id } = request.params;
      return onePage((await listDeliveries(ctx, account, id)).map(deliveryView), queryOf(request));
    },
  );
  app.post(
    `${BASE}/destinations/webhooks/:webhook_id/test`,
    { summary: 'Send a test message to a webhook', params: webhookParams, answer: delivery },
    async (ctx, { params: { account_id: account, webhook_id: id } }) =>
      testView(await testWebhook(ctx, alerts, account, id)),
  );
  app.get(
    `${BASE}/available_alerts`,
    { summary: 'List types of alerts', params: accountParams, answer: availableAlerts },
    async (ctx, { params }) => {
      requireAccount(ctx, params.account_id);
      return listAlertTypes();
    },
  );
  app.get(
    `${BASE}/destinations/eligible`,
    { summary: 'List mechanisms of alerts', params: accountParams, answer: eligible },
    async (ctx, { params }) => {
      requireAccount(ctx, params.account_id);
      const mechanism = (type: string, isThere: boolean) => [{ type, eligible: isThere, ready: isThere }];
      return {
        Email: mechanism('email', alerts.sendsMail),
        PagerDuty: mechanism('pagerduty', false),
        Webhooks: mechanism('webhook', true),
      };
    },
  );
  addHistory(app);
});

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

function addHistory(app: Routes): void {
  app.get(
    `${BASE}/history`,
    {
      summary: 'List the alerts that were sent to an account',
      params: accountParams,
      querystring: historyQuery,
      list: historyItem,
    },
    async (ctx, request) => {
      const query = queryOf(request);
      const page = pageOf(query, AUDIT_PAGES);
      const asked = { ...page, since: timeValue(query, 'since'), before: timeValue(query, 'before') };
      const { items, totalCount } = await listHistory(ctx, request.params.account_id, asked);
      return successPage(items.map(historyView), resultInfo(page, items.length, totalCount));
    },
  );
}
