/** `/oidc_providers` (ours): identity providers of the installation, for super administrators. */
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
import { routes } from '../routing/route.js';
import { onlyId } from '../schema.js';
import { printTime } from '../times.js';
import { endpoints, type Provider, type ProviderBody, provider, providerBody, providerParams } from './schema.js';

const PATH = '/oidc_providers';
const ONE = `${PATH}/:provider_id`;

interface Parts {
  readonly signIn: SignInServices;
}

export const providerRoutes = routes<Parts>({ tags: ['Sign-in'], area: 'user' }, (app, { signIn }) => {
  const view = (row: ProviderRow): Provider => viewOf(row, signIn.settings.publicUrl);
  const vault = () => signIn.vault;

  app.get(PATH, { summary: 'List identity providers', list: provider }, async (ctx) =>
    success((await listProviders(ctx)).map(view)),
  );

  app.post(PATH, { summary: 'Add an identity provider', body: providerBody, answer: provider }, async (ctx, { body }) =>
    view(await putProvider(ctx, vault, inputOf(body))),
  );

  app.get(
    ONE,
    { summary: 'Get an identity provider', params: providerParams, answer: provider },
    async (ctx, { params }) => view(await getProvider(ctx, params.provider_id)),
  );

  app.put(
    ONE,
    {
      summary: 'Replace what is said of an identity provider',
      params: providerParams,
      body: providerBody,
      answer: provider,
    },
    async (ctx, { params: { provider_id: id }, body }) => view(await putProvider(ctx, vault, inputOf(body), id)),
  );

  app.delete(
    ONE,
    { summary: 'Remove an identity provider', params: providerParams, answer: onlyId },
    async (ctx, { params }) => ({ id: await deleteProvider(ctx, params.provider_id) }),
  );

  app.post(
    `${ONE}/test`,
    { summary: 'Ask an identity provider to describe itself', params: providerParams, answer: endpoints },
    async (ctx, { params: { provider_id: id } }) => ({ endpoints: await testProvider(ctx, signIn.providers, id) }),
  );
});

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
