/** `/accounts/{account_id}/sso_connectors`: domains of e-mail addresses that the account claims and proves. */
import { toHex } from '../../base/bytes.js';
import {
  connectorRecord,
  createConnector,
  deleteConnector,
  enableConnector,
  getConnector,
  listConnectors,
  verifyConnector,
} from '../../sign-in/connectors.js';
import type { ConnectorRow } from '../../store/access/sso-connectors.js';
import { accountParams } from '../accounts/schema.js';
import { success } from '../envelope.js';
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { printTime } from '../times.js';
import { type Connector, connector, connectorBody, connectorEdit, connectorParams } from './connector-schema.js';

const ALL = '/accounts/:account_id/sso_connectors';
const ONE = `${ALL}/:sso_connector_id`;

export const connectorRoutes = routes({ tags: ['Members'], area: 'members' }, (app) => {
  const params = connectorParams;
  app.get(ALL, { summary: 'List SSO connectors', params: accountParams, list: connector }, async (ctx, { params }) =>
    success((await listConnectors(ctx, params.account_id)).map(view)),
  );
  app.post(
    ALL,
    { summary: 'Create an SSO connector', params: accountParams, body: connectorBody, answer: connector },
    async (ctx, { params: { account_id: account }, body: { email_domain: domain, begin_verification: begins } }) => {
      const row = await createConnector(ctx, account, domain);
      return view(begins ? await verifyConnector(ctx, account, toHex(row.id)) : row);
    },
  );
  app.get(
    ONE,
    { summary: 'Get an SSO connector', params, answer: connector },
    async (ctx, { params: { account_id: account, sso_connector_id: id } }) =>
      view(await getConnector(ctx, account, id)),
  );
  app.patch(
    ONE,
    { summary: 'Switch an SSO connector on or off', params, body: connectorEdit, answer: connector },
    async (ctx, { params: { account_id: account, sso_connector_id: id }, body }) =>
      view(await enableConnector(ctx, account, id, body.enabled)),
  );
  app.delete(
    ONE,
    { summary: 'Delete an SSO connector', params, answer: onlyId },
    async (ctx, { params: { account_id: account, sso_connector_id: id } }) => ({
      id: await deleteConnector(ctx, account, id),
    }),
  );
  app.post(
    `${ONE}/begin_verification`,
    { summary: 'Look for the record that proves the domain', params, answer: connector },
    async (ctx, { params: { account_id: account, sso_connector_id: id } }) =>
      view(await verifyConnector(ctx, account, id)),
  );
});

function view(row: ConnectorRow): Connector {
  return {
    id: toHex(row.id),
    email_domain: row.domain,
    enabled: row.enabled === 1,
    created_on: printTime(row.created_at),
    updated_on: printTime(row.modified_at),
    verification: { code: row.code, status: row.status, record: connectorRecord(row).name },
    use_fedramp_language: false,
  };
}
