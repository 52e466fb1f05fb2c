/** Domains of e-mail addresses: how an account proves them, what it may do then, and what strangers cannot. */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { ADMIN_HEADERS, install } from './installation.js';
import { sent } from './sdk-fetch.js';

const DNS = '069fe803647ed3609e93d041d5df6050';
const AUDIT = '9dfa4d1b73034f70ad896bf1c26d78f3';
/** Members, too. */
const ACCOUNT_SETTINGS = '1af1fa2adc104452b74a9a3364202f20';

t.test('a domain is proved by a record, and counts for its account alone', async (t) => {
  const outside = new Map<string, string>();
  let isAway = false;
  const world = await install(t, {
    askOutside: async (name, type) => {
      const content = type === 'TXT' ? outside.get(name) : undefined;
      const records = content === undefined ? [] : [{ name, type: 'TXT' as const, content, ttl: 60 }];
      return {
        status: isAway ? 'servfail' : content === undefined ? 'nxdomain' : 'ok',
        records,
        referral: [],
      } as never;
    },
  });
  const { operator, token, call } = world;
  const { id: account } = await createAccount(operator, { name: 'Team', members: ['head@example.org'] });
  const { id: other } = await createAccount(operator, { name: 'Other', members: ['eve@evil.example'] });
  const head = { headers: await token({ email: 'head@example.org', name: 'head' }) };
  const eve = { headers: await token({ email: 'eve@evil.example', name: 'eve' }) };
  const path = `/accounts/${account}/sso_connectors`;
  const made = await call('POST', path, { email_domain: 'Example.COM.', begin_verification: true }, head);
  const { id, verification } = made.json.result;
  t.match(made.json.result, { email_domain: 'example.com', enabled: false, verification: { status: 'failed' } });
  t.equal(verification.record, '_zoneplane-sso.example.com');
  t.match(await call('PATCH', `${path}/${id}`, { enabled: true }, head), { status: 400 }, 'not before it is proved');
  const accept = (by: object, where: string, email: string) =>
    call('POST', `/accounts/${where}/members`, { email, roles: [DNS], status: 'accepted' }, by);
  t.equal((await accept(head, account, 'new@example.com')).json.result.status, 'pending');
  outside.set(verification.record, verification.code);
  const verify = () => call('POST', `${path}/${id}/begin_verification`, undefined, head);
  t.equal((await verify()).json.result.verification.status, 'verified');
  isAway = true;
  t.equal((await verify()).json.result.verification.status, 'verified', 'what nobody can say changes nothing');
  isAway = false;
  t.equal((await call('PATCH', `${path}/${id}`, { enabled: true }, head)).json.result.enabled, true);
  t.equal((await accept(head, account, 'ada@EXAMPLE.com')).json.result.status, 'accepted');
  t.equal((await accept(head, account, 'bob@sub.example.com')).json.result.status, 'pending', 'the domain alone');
  t.equal((await accept(eve, other, 'carl@example.com')).json.result.status, 'pending', 'in its account alone');
  t.match(await call('GET', `${path}/${id}`, undefined, eve), { status: 403 });
  t.match(await call('GET', `/accounts/${other}/sso_connectors/${id}`, undefined, eve), { status: 404 });
  const theirs = await call('POST', `/accounts/${other}/sso_connectors`, { email_domain: 'example.com' }, eve);
  t.not(theirs.json.result.verification.code, verification.code, 'nobody proves with the record of another');
  const zoe = await call('POST', `/accounts/${account}/members`, { email: 'zoe@example.com', roles: [AUDIT] }, head);
  const again = `/accounts/${account}/members/${zoe.json.result.id}/invitation`;
  t.match((await call('POST', again, undefined, head)).json.result.link, /#password=/);
  const policies = [
    {
      effect: 'allow',
      permission_groups: [{ id: ACCOUNT_SETTINGS }],
      resources: { [`com.cloudflare.api.account.${account}`]: '*' },
    },
  ];
  const limited = {
    headers: await token({ email: 'head@example.org', name: 'settings', policies: policies as never }),
  };
  t.match(
    await call('POST', again, undefined, limited),
    { status: 200, json: { result: { link: null } } },
    'not for a limited token',
  );
  outside.clear();
  t.equal((await call('POST', again, undefined, head)).json.result.link, null, 'the domain may be of others by now');
  t.match(await call('GET', `${path}/${id}`, undefined, head), { json: { result: { enabled: false } } });
  t.match((await verify()).json.result, { enabled: false, verification: { status: 'failed' } });
  for (const domain of ['com', 'co.uk', '*.example.com', 'x', '', '192.0.2.1', 'a b.example']) {
    t.match(await call('POST', path, { email_domain: domain }, head), { status: 400 }, domain);
  }
  t.equal((await call('POST', path, { email_domain: 'EXAMPLE.com' }, head)).status, 400, 'once');
  t.equal((await call('DELETE', `${path}/${id}`, undefined, head)).json.result.id, id);
  t.strictSame(world.misfits, []);
});

t.test('a record in a zone of another account proves nothing, and the SDK knows the rest', async (t) => {
  const world = await install(t);
  const { operator, call } = world;
  const { id: account } = await createAccount(operator, { name: 'Team' });
  const zone = await world.createZone('shop.test');
  await world.store.write(() => world.store.prepare("UPDATE zones SET proven_by = 'operator'").run());
  const client = new Cloudflare({
    apiToken: 'x',
    baseURL: 'http://api.test/client/v4',
    fetch: ((url: string, init?: RequestInit) =>
      sent(world, String(url), { ...init, headers: ADMIN_HEADERS })) as never,
  });
  const connector = await client.iam.sso.create({ account_id: account, email_domain: 'shop.test' });
  const begin = async () => {
    await client.iam.sso.beginVerification(connector.id!, { account_id: account });
    return (await client.iam.sso.get(connector.id!, { account_id: account })).verification?.status;
  };
  t.equal(await begin(), 'failed');
  const record = { type: 'TXT', name: '_zoneplane-sso', content: `"${connector.verification!.code}"` };
  t.equal((await call('POST', `/zones/${zone}/dns_records`, record)).status, 200);
  t.equal(await begin(), 'verified', 'the owner of the zone has said so');
  t.equal((await client.iam.sso.update(connector.id!, { account_id: account, enabled: true })).enabled, true);
  t.equal((await client.iam.sso.list({ account_id: account })).result.length, 1);
  await client.iam.sso.delete(connector.id!, { account_id: account });
});
