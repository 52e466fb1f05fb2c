/** The vendor's SDK, and the requests of Terraform's cloudflare_account_member: create, read, plan, update, read, delete. */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { install } from './installation.js';
import { sent } from './sdk-fetch.js';

const SUPER = '33666b9c79b9a5273fc7344ff42f953d';
const DNS = '069fe803647ed3609e93d041d5df6050';
const READ_ONLY = 'f2b20eaa1a5d4af42b53ac16238c99c7';
const DOMAIN_DNS = '132c52e7e6654b999c183cfcbafd37d7';

t.test('members, roles, groups, memberships and invitations by the SDK', async (t) => {
  const installed = await install(t);
  const { operator, token, call } = installed;
  const { id: account_id } = await createAccount(operator, { name: 'Team', members: ['head@example.org'] });
  const clientOf = (headers: { authorization: string }) =>
    new Cloudflare({
      apiToken: headers.authorization.slice(7),
      baseURL: 'http://api.test/client/v4',
      maxRetries: 0,
      fetch: (url, init) => sent(installed, String(url), init),
    });
  const head = await token({ email: 'head@example.org' });
  const client = clientOf(head);
  const zone = (await call('POST', '/zones', { name: 'team.test', account: { id: account_id } }, { headers: head }))
    .json.result.id as string;

  const roles: string[] = [];
  for await (const role of client.accounts.roles.list({ account_id })) roles.push(role.id);
  t.ok(roles.includes(SUPER));
  t.match(await client.accounts.roles.get(DNS, { account_id }), { name: 'DNS', permissions: { dns: { write: true } } });
  const groups: string[] = [];
  for await (const group of client.iam.permissionGroups.list({ account_id })) groups.push(group.id);
  t.equal(groups.length, 16, 'over several requests or one');
  t.match(await client.iam.permissionGroups.get(DOMAIN_DNS, { account_id }), { name: 'Domain DNS' });

  // Terraform, with roles: what is read back is what was made, so that a plan is empty.
  const made = await client.accounts.members.create({ account_id, email: 'grace@example.org', roles: [DNS] });
  t.match(made, { status: 'pending', roles: [{ id: DNS }] });
  t.strictSame(await client.accounts.members.get(made.id!, { account_id }), made);
  const changed = await client.accounts.members.update(made.id!, {
    account_id,
    roles: [{ id: READ_ONLY }, { id: DNS }],
    ...{ status: 'accepted' },
  });
  t.match(changed, { status: 'pending', roles: [{ id: READ_ONLY }, { id: DNS }] }, 'the order and the true status');
  const full = await client.accounts.members.update(made.id!, { account_id, roles: changed.roles! });
  t.strictSame(full, changed, 'the whole objects of roles, as they were read');

  // The same with policies.
  const scope = {
    key: `com.cloudflare.api.account.${account_id}`,
    objects: [{ key: `com.cloudflare.api.account.zone.${zone}` }],
  };
  const shops = await client.iam.resourceGroups.create({ account_id, name: 'Shops', scope });
  t.strictSame(await client.iam.resourceGroups.get(shops.id, { account_id }), shops);
  const policy = {
    access: 'allow' as const,
    permission_groups: [{ id: DOMAIN_DNS }],
    resource_groups: [{ id: shops.id }],
  };
  const update = { account_id, policies: [policy] };
  const withPolicy = await client.accounts.members.update(made.id!, update);
  t.match(withPolicy, { roles: [], policies: [{ access: 'allow', resource_groups: [{ id: shops.id, scope }] }] });
  t.strictSame(await client.accounts.members.update(made.id!, update), withPolicy, 'identifiers of policies stay');
  t.strictSame(await client.accounts.members.get(made.id!, { account_id }), withPolicy);
  const listed: string[] = [];
  for await (const { email } of client.accounts.members.list({ account_id, order: 'user.email' })) listed.push(email!);
  t.strictSame(listed, ['grace@example.org', 'head@example.org']);

  const editors = await client.iam.userGroups.create({ account_id, name: 'Editors', policies: [policy] });
  t.match(await client.iam.userGroups.get(editors.id, { account_id }), { name: 'Editors', policies: [{}] });
  const added = await client.iam.userGroups.members.create(editors.id, { account_id, members: [{ id: made.id! }] });
  t.match(added.result, [{ id: made.id, email: 'grace@example.org', status: 'pending' }]);
  const gone = await client.iam.userGroups.members.delete(made.id!, { account_id, user_group_id: editors.id });
  t.match(gone, { id: made.id });
  t.match(await client.iam.userGroups.delete(editors.id, { account_id }), { id: editors.id });

  // The invited user.
  const grace = clientOf(await token({ email: 'grace@example.org' }));
  const invites = (await grace.user.invites.list()).result;
  t.match(invites, [{ status: 'pending', organization_id: account_id, invited_member_id: made.id }]);
  t.match(await grace.user.invites.edit(invites[0]!.id!, { status: 'accepted' }), { status: 'accepted' });
  t.match((await grace.memberships.list()).result, [{ id: made.id, status: 'accepted' }]);
  t.match(await grace.memberships.get(made.id!), { account: { id: account_id } });
  t.match(await grace.user.edit({ first_name: 'Grace', country: 'US' }), { first_name: 'Grace', country: 'US' });
  t.match(await grace.memberships.delete(made.id!), { id: made.id });
  await t.rejects(client.accounts.members.get(made.id!, { account_id }), { message: /^404 / });
  t.match(await client.iam.resourceGroups.delete(shops.id, { account_id }), { id: shops.id });
  t.strictSame(installed.misfits, []);
});
