/** `/accounts/{account_id}/sso_connectors`: domains of e-mail addresses that the account claims and proves. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
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
import type { ContextOf } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { printTime } from '../times.js';
import { type Connector, connector, connectorBody, connectorEdit, connectorParams } from './connector-schema.js';

const tags = ['Members'];
const read = { area: 'members' } as const;
const write = { area: 'members' } as const;
const ALL = '/accounts/:account_id/sso_connectors';
const ONE = `${ALL}/:sso_connector_id`;

export const connectorRoutes: FastifyPluginAsyncZod<{ contextOf: ContextOf }> = async (app, { contextOf }) => {
  const shown = answersOne(connector);
  const params = connectorParams;
  app.get(
    ALL,
    {
      config: read,
      schema: { tags, summary: 'List SSO connectors', params: accountParams, response: answersList(connector) },
    },
    async (request) => success((await listConnectors(contextOf(request), request.params.account_id)).map(view)),
  );
  app.post(
    ALL,
    {
      config: write,
      schema: { tags, summary: 'Create an SSO connector', params: accountParams, body: connectorBody, response: shown },
    },
    async (request) => {
      const { account_id: account } = request.params;
      const { email_domain: domain, begin_verification: begins } = request.body;
      const row = await createConnector(contextOf(request), account, domain);
      return success(view(begins ? await verifyConnector(contextOf(request), account, toHex(row.id)) : row));
    },
  );
  app.get(
    ONE,
    { config: read, schema: { tags, summary: 'Get an SSO connector', params, response: shown } },
    async (request) => {
      const { account_id: account, sso_connector_id: id } = request.params;
      return success(view(await getConnector(contextOf(request), account, id)));
    },
  );
  app.patch(
    ONE,
    {
      config: write,
      schema: { tags, summary: 'Switch an SSO connector on or off', params, body: connectorEdit, response: shown },
    },
    async (request) => {
      const { account_id: account, sso_connector_id: id } = request.params;
      return success(view(await enableConnector(contextOf(request), account, id, request.body.enabled)));
    },
  );
  app.delete(
    ONE,
    { config: write, schema: { tags, summary: 'Delete an SSO connector', params, response: answersOne(onlyId) } },
    async (request) => {
      const { account_id: account, sso_connector_id: id } = request.params;
      return success({ id: await deleteConnector(contextOf(request), account, id) });
    },
  );
  app.post(
    `${ONE}/begin_verification`,
    { config: write, schema: { tags, summary: 'Look for the record that proves the domain', params, response: shown } },
    async (request) => {
      const { account_id: account, sso_connector_id: id } = request.params;
      return success(view(await verifyConnector(contextOf(request), account, id)));
    },
  );
};

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
