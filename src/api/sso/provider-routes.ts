/** `/oidc_providers` (ours): identity providers of the installation, for super administrators. */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import {
  deleteProvider,
  type GroupRole,
  getProvider,
  listProviders,
  type ProviderInput,
  providerId,
  putProvider,
  testProvider,
} from '../../sign-in/oidc/providers.js';
import type { SignInServices } from '../../sign-in/services.js';
import type { ProviderRow } from '../../store/access/oidc.js';
import { success } from '../envelope.js';
import type { ContextOf } from '../request.js';
import { answersList, answersOne, onlyId } from '../schema.js';
import { printTime } from '../times.js';
import { endpoints, type Provider, type ProviderBody, provider, providerBody, providerParams } from './schema.js';

const tags = ['Sign-in'];
/** No token can have it: the use cases ask for a super administrator. */
const config = { area: 'user' } as const;
const PATH = '/oidc_providers';
const ONE = `${PATH}/:provider_id`;

interface Parts {
  readonly contextOf: ContextOf;
  readonly signIn: SignInServices;
}

export const providerRoutes: FastifyPluginAsyncZod<Parts> = async (app, { contextOf, signIn }) => {
  const view = (row: ProviderRow): Provider => viewOf(row, signIn.settings.publicUrl);
  const vault = () => signIn.vault;

  app.get(
    PATH,
    { config, schema: { tags, summary: 'List identity providers', response: answersList(provider) } },
    async (request) => success((await listProviders(contextOf(request))).map(view)),
  );

  app.post(
    PATH,
    {
      config,
      schema: { tags, summary: 'Add an identity provider', body: providerBody, response: answersOne(provider) },
    },
    async (request) => success(view(await putProvider(contextOf(request), vault, inputOf(request.body)))),
  );

  app.get(
    ONE,
    {
      config,
      schema: { tags, summary: 'Get an identity provider', params: providerParams, response: answersOne(provider) },
    },
    async (request) => success(view(await getProvider(contextOf(request), request.params.provider_id))),
  );

  app.put(
    ONE,
    {
      config,
      schema: {
        tags,
        summary: 'Replace what is said of an identity provider',
        params: providerParams,
        body: providerBody,
        response: answersOne(provider),
      },
    },
    async (request) => {
      const { provider_id: id } = request.params;
      return success(view(await putProvider(contextOf(request), vault, inputOf(request.body), id)));
    },
  );

  app.delete(
    ONE,
    {
      config,
      schema: { tags, summary: 'Remove an identity provider', params: providerParams, response: answersOne(onlyId) },
    },
    async (request) => success({ id: await deleteProvider(contextOf(request), request.params.provider_id) }),
  );

  app.post(
    `${ONE}/test`,
    {
      config,
      schema: {
        tags,
        summary: 'Ask an identity provider to describe itself',
        params: providerParams,
        response: answersOne(endpoints),
      },
    },
    async (request) => {
      const { provider_id: id } = request.params;
      return success({ endpoints: await testProvider(contextOf(request), signIn.providers, id) });
    },
  );
};

function inputOf(body: ProviderBody): ProviderInput {
  return {
    ...{ name: body.name, issuer: body.issuer, clientId: body.client_id, clientSecret: body.client_secret },
    ...{ scopes: body.scopes, groupsClaim: body.groups_claim, groupMap: body.group_map, domains: body.domains },
    ...{ creates: body.creates, updatesRoles: body.updates_roles },
    ...{ trustsEmail: body.trusts_email, trustsFactors: body.trusts_factors },
  };
}

function viewOf(row: ProviderRow, publicUrl: string | undefined): Provider {
  const id = providerId(row);
  return {
    ...{ id, name: row.name, issuer: row.issuer, client_id: row.client_id, has_secret: row.client_secret !== null },
    ...{ scopes: row.scopes, groups_claim: row.groups_claim, creates: row.creates },
    group_map: JSON.parse(row.group_map) as GroupRole[],
    domains: JSON.parse(row.domains) as string[],
    updates_roles: row.updates_roles === 1,
    trusts_email: row.trusts_email === 1,
    trusts_factors: row.trusts_factors === 1,
    callback: publicUrl === undefined ? null : `${publicUrl}/client/v4/user/sign_in/oidc/${id}/callback`,
    created_on: printTime(row.created_at),
    modified_on: printTime(row.modified_at),
  };
}
