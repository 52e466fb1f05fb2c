/**
 * Every request that changes something makes exactly the events that tell of it: what was touched by name, before and after, who
 * did it with which credential; nothing secret, and nothing when it is refused. A new route needs a step here, or a reason.
 */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { EVENT_KINDS } from '../../src/control/kernel/event.js';
import type { Store } from '../../src/store/driver.js';
import type { EventRow } from '../../src/store/log/events.js';
import { latestEvents } from '../support/rows.js';
import { install } from './installation.js';

/** Routes that make no event, or not here, and why. */
const SILENT: Readonly<Record<string, string>> = {
  'PUT /zones/{zone_id}/custom_hostnames/{custom_hostname_id}/certificate_pack/{certificate_pack_id}/certificates/{certificate_id}':
    'test/api/custom-hostnames.long.test.ts has certificates that somebody brings, and looks at their events',
  'DELETE /zones/{zone_id}/custom_hostnames/{custom_hostname_id}/certificate_pack/{certificate_pack_id}/certificates/{certificate_id}':
    'the same',
  ...Object.fromEntries(
    [
      ...['POST /user/load_balancers/monitors', 'POST /user/load_balancers/pools', 'PATCH /user/load_balancers/pools'],
      ...['PUT', 'PATCH', 'DELETE'].flatMap((method) => [
        `${method} /user/load_balancers/monitors/{monitor_id}`,
        `${method} /user/load_balancers/pools/{pool_id}`,
      ]),
      'POST /user/load_balancers/monitors/{monitor_id}/preview',
      'POST /user/load_balancers/pools/{pool_id}/preview',
    ].map((route) => [route, 'the same as below the account, here refused: there are several']),
  ),
  'POST /accounts/{account_id}/load_balancers': 'it is refused: load balancers belong to zones',
  'POST /zones/{zone_id}/dns_records/scan/review': 'test/api/scan.test.ts finds something to accept',
  'DELETE /zones/{zone_id}/rulesets/{ruleset_id}/versions/{version}': 'it is refused: there is one version',
  'POST /accounts': 'it is refused: accounts are made at the command line',
  'POST /graphql': 'it reads',
  'POST /accounts/{account_id}/load_balancers/monitors/{monitor_id}/preview':
    'it probes once, and stores nothing of the monitor',
  'POST /accounts/{account_id}/load_balancers/pools/{pool_id}/preview': 'the same',
  'POST /user/sign_in': 'test/api/sign-in.test.ts has people, and looks at their events',
  'POST /user/sign_in/link': 'the same',
  'POST /user/confirm': 'the same',
  'PUT /user/password': 'the same',
  'POST /user/password_reset': 'the same',
  'PUT /user/password_reset/{code}': 'the same',
  'POST /user/sign_in/{challenge}': 'test/api/second-factors.test.ts, too',
  'POST /user/sign_in/passkey': 'the same',
  'POST /user/sign_in/passkey/options': 'the same',
  'POST /user/confirm/options': 'the same',
  'POST /user/totp': 'the same',
  'POST /user/sso_link': 'test/api/single-sign-on.test.ts has a provider',
  'POST /user/sign_in/oidc/{provider_id}/logout': 'the same',
  'POST /oidc_providers': 'the same',
  'PUT /oidc_providers/{provider_id}': 'the same',
  'DELETE /oidc_providers/{provider_id}': 'the same',
  'POST /oidc_providers/{provider_id}/test': 'the same',
  'PUT /user/totp': 'the same',
  'DELETE /user/totp': 'the same',
  'POST /user/recovery_codes': 'the same',
  'POST /user/passkeys': 'the same',
  'POST /user/passkeys/options': 'the same',
  'PATCH /user/passkeys/{passkey_id}': 'the same',
  'DELETE /user/passkeys/{passkey_id}': 'the same',
  'PUT /zones/{zone_id}/custom_ns': 'there is none, it is refused or changes nothing',
  'POST /zones/{zone_id}/subscription': 'the same',
  'PUT /zones/{zone_id}/subscription': 'the same',
  'PUT /zones/{zone_id}/url_normalization': 'the same',
  'PATCH /zones/{zone_id}/argo/tiered_caching': 'the same',
  'POST /zones/{zone_id}/ssl/analyze': 'it reads',
  'POST /accounts/{account_id}/alerting/v3/destinations/webhooks/{webhook_id}/test': 'it changes nothing',
  'PUT /zones/{zone_id}/activation_check': 'it looks again; what is found makes an event of its own',
  'POST /zones/{zone_id}/dns_records/scan/trigger': 'it looks; what is accepted makes an event',
  'PUT /accounts/{account_id}/r2/buckets/{bucket_name}/domains/managed': 'there are none, it is refused',
  'PUT /accounts/{account_id}/r2/buckets/{bucket_name}/objects/{object_key}': 'objects are data',
  'DELETE /accounts/{account_id}/r2/buckets/{bucket_name}/objects/{object_key}': 'objects are data',
  'DELETE /accounts/{account_id}/r2/buckets/{bucket_name}/objects': 'objects are data',
  'POST /accounts/{account_id}/r2/buckets/{bucket_name}/links': 'nothing is stored',
};

const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
const OTHER_SECRET = Buffer.from('fedcba9876543210fedcba9876543210').toString('base64');
const A = { type: 'A', name: 'www', content: '192.0.2.1' };

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const newest = (store: Store): number => latestEvents(store, 1)[0]?.seq ?? 0;

/** The events since one, the oldest first, apart from what the service does by itself, such as issuing a certificate. */
const since = (store: Store, seq: number): EventRow[] =>
  latestEvents(store, 100)
    .filter((event) => event.seq > seq && event.source !== 'service')
    .reverse();

t.test('a walk through all requests that change something', async (t) => {
  const { app, call, store, token, clock, operator } = await install(t, {
    askOutside: async () => ({ status: 'nxdomain', records: [], referral: [] }) as never,
  });
  const headers = await token({ name: 'ci' });
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const alter = (sql: string) => store.write(() => store.prepare(sql).run());
  const walked = new Set<string>();
  const secrets: string[] = [SECRET, OTHER_SECRET, 'key-in-the-path', headers.authorization.slice(7)];

  /** Sends a request as the token; `expected`: kind and name of each event. */
  const does = async (
    route: string,
    ids: Readonly<Record<string, string>>,
    body: unknown,
    expected: readonly (readonly [kind: string, name: string | RegExp])[],
    more: Readonly<Record<string, string>> = {},
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  ): Promise<any> => {
    const [method, path] = route.split(' ') as [Method, string];
    const url = path.replace(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent({ account_id: account, ...ids }[name]!),
    );
    const before = newest(store);
    const options =
      typeof body === 'string'
        ? { text: body, headers: { ...headers, ...more } }
        : { headers: { ...headers, ...more } };
    const { status, json, text } = await call(method, url, typeof body === 'string' ? undefined : body, options);
    t.ok(status === 200 || status === 204, `${route}: ${text.slice(0, 300)}`);
    walked.add(route);
    const events = since(store, before);
    t.match(
      events.map(({ kind, name }) => [kind, name]),
      expected,
      route,
    );
    t.equal(
      events.length,
      expected.length,
      `${route}: ${events.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`,
    );
    for (const event of events) {
      t.ok((EVENT_KINDS as readonly string[]).includes(event.kind), event.kind);
      t.match(event, { actor: 'admin@localhost', credential_name: 'ci', source: 'api', address: '127.0.0.1' }, route);
      const [thing, verb] = event.kind.split('.');
      // A hold is a state of its zone.
      if (thing === 'zone_hold') continue;
      if (verb === 'create') t.ok(event.after !== null && event.before === null, `${event.kind} has what is now`);
      if (verb === 'delete') t.ok(event.after === null, `${event.kind} has nothing after it`);
      if (verb === 'edit' || verb === 'replace') t.ok(event.after !== null, `${event.kind} has what is now`);
    }
    return json?.result ?? {};
  };

  // Accounts, credentials.
  await does('PUT /accounts/{account_id}', {}, { name: 'Renamed' }, [['account.edit', 'Renamed']]);
  await does('PATCH /user', {}, { first_name: 'Ada' }, [['user.edit', 'admin@localhost']]);
  await does('PATCH /accounts/{account_id}/quotas', {}, { zones: 50 }, [['account_quota.edit', /^zones of /]]);
  await does('PATCH /accounts/{account_id}/dns_settings', {}, { zone_defaults: { ns_ttl: 7200 } }, [
    ['account.dns_settings', /./],
  ]);
  const policies = [
    {
      effect: 'allow',
      permission_groups: [{ id: '4755a26eedb94da69e1066d98aa820be' }],
      resources: { 'com.cloudflare.api.account.zone.*': '*' },
    },
  ];
  for (const [owner, ids] of [
    ['/accounts/{account_id}', { account_id: account }],
    ['/user', {}],
  ] as const) {
    const created = await does(`POST ${owner}/tokens`, ids, { name: 'deploy', policies }, [['key.create', 'deploy']]);
    secrets.push(created.value);
    const one = { ...ids, token_id: created.id as string };
    await does(`PUT ${owner}/tokens/{token_id}`, one, { name: 'deploys', policies, status: 'active' }, [
      ['key.edit', 'deploys'],
    ]);
    secrets.push(await does(`PUT ${owner}/tokens/{token_id}/value`, one, {}, [['key.roll', 'deploys']]));
    await does(`DELETE ${owner}/tokens/{token_id}`, one, undefined, [['key.revoke', 'deploys']]);
  }
  // Members and groups.
  const dns = '069fe803647ed3609e93d041d5df6050';
  const scope = { key: `com.cloudflare.api.account.${account}`, objects: [{ key: '*' }] };
  const groups = 'POST /accounts/{account_id}/iam/resource_groups';
  const shops = await does(groups, {}, { name: 'Shops', scope }, [['resource_group.create', 'Shops']]);
  const ofShops = { resource_group_id: shops.id };
  const one = '/accounts/{account_id}/iam/resource_groups/{resource_group_id}';
  await does(`PUT ${one}`, ofShops, { name: 'All shops' }, [['resource_group.edit', 'All shops']]);
  const allow = { access: 'allow', permission_groups: [{ id: dns }], resource_groups: [{ id: shops.id }] };
  const grace = await does('POST /accounts/{account_id}/members', {}, { email: 'grace@example.org', roles: [dns] }, [
    ['user.create', 'grace@example.org'],
    ['member.invite', 'grace@example.org'],
  ]);
  const member = { member_id: grace.id };
  const asked = await does('POST /accounts/{account_id}/members/{member_id}/invitation', member, undefined, [
    ['member.invite', 'grace@example.org'],
    ['user_link.create', 'grace@example.org'],
  ]);
  secrets.push(asked.link.split('=')[1]);
  const connectors = '/accounts/{account_id}/sso_connectors';
  const named = [['sso_connector.edit', 'example.org']] as const;
  const connector = await does(`POST ${connectors}`, {}, { email_domain: 'example.org' }, [
    ['sso_connector.create', 'example.org'],
  ]);
  const domain = { sso_connector_id: connector.id };
  await does(`POST ${connectors}/{sso_connector_id}/begin_verification`, domain, undefined, named);
  await does(`PATCH ${connectors}/{sso_connector_id}`, domain, { enabled: false }, named);
  await does(`DELETE ${connectors}/{sso_connector_id}`, domain, undefined, [['sso_connector.delete', 'example.org']]);
  await does('PUT /accounts/{account_id}/members/{member_id}', member, { policies: [allow] }, [
    ['member.edit', 'grace@example.org'],
  ]);
  const users = '/accounts/{account_id}/iam/user_groups';
  const editors = await does(`POST ${users}`, {}, { name: 'Editors', policies: [allow] }, [
    ['user_group.create', 'Editors'],
  ]);
  const group = { user_group_id: editors.id };
  await does(`PUT ${users}/{user_group_id}`, group, { policies: [] }, [['user_group.edit', 'Editors']]);
  await does(`POST ${users}/{user_group_id}/members`, group, [{ id: grace.id }], [['user_group.edit', 'Editors']]);
  await does(`PUT ${users}/{user_group_id}/members`, group, [{ id: grace.id }], [['user_group.edit', 'Editors']]);
  await does(`DELETE ${users}/{user_group_id}/members/{member_id}`, { ...group, ...member }, undefined, [
    ['user_group.edit', 'Editors'],
  ]);
  await does(`DELETE ${users}/{user_group_id}`, group, undefined, [['user_group.delete', 'Editors']]);
  await does('DELETE /accounts/{account_id}/members/{member_id}', member, undefined, [
    ['member.remove', 'grace@example.org'],
  ]);
  await does(`DELETE ${one}`, ofShops, undefined, [['resource_group.delete', 'All shops']]);
  const { id: elsewhere } = await createAccount(operator, { name: 'Second', members: ['head@example.org'] });
  const invited = (): Promise<{ id: string; invite: { id: string } }> =>
    does('POST /accounts/{account_id}/members', { account_id: elsewhere }, { email: 'admin@localhost', roles: [dns] }, [
      ['member.invite', 'admin@localhost'],
    ]);
  const { id: membership_id } = await invited();
  await does('PUT /memberships/{membership_id}', { membership_id }, { status: 'accepted' }, [
    ['member.accept', 'admin@localhost'],
  ]);
  await does('DELETE /memberships/{membership_id}', { membership_id }, undefined, [
    ['member.remove', 'admin@localhost'],
  ]);
  const { invite } = await invited();
  await does('PATCH /user/invites/{invite_id}', { invite_id: invite.id }, { status: 'rejected' }, [
    ['member.reject', 'admin@localhost'],
  ]);

  const session = await does('POST /user/sessions', {}, undefined, [['session.create', 'ci']]);
  await does('DELETE /user/sessions/{session_id}', { session_id: session.id }, undefined, [['session.delete', 'ci']]);

  // Zones and records.
  const zone = await does('POST /zones', {}, { name: 'example.com' }, [['zone.create', 'example.com']]);
  const z = { zone_id: zone.id as string };
  await does(
    'POST /zones/import',
    {},
    '$ORIGIN imported.example.\n@ 300 SOA ns1.x. h.x. 1 2 3 4 5\n@ 300 NS ns1.dns.test.\n',
    [['zone.import', 'imported.example']],
    { 'content-type': 'text/dns' },
  ).catch(() => undefined);
  const record = await does('POST /zones/{zone_id}/dns_records', z, A, [['record.create', 'www.example.com A']]);
  const r = { ...z, dns_record_id: record.id as string };
  await does('PATCH /zones/{zone_id}/dns_records/{dns_record_id}', r, { content: '192.0.2.2' }, [
    ['record.edit', 'www.example.com A'],
  ]);
  const edit = latestEvents(store, 1)[0]!;
  t.match([JSON.parse(edit.before!).content, JSON.parse(edit.after!).content], ['192.0.2.1', '192.0.2.2']);
  t.ok(edit.change! > 0 && edit.zone_name === 'example.com' && edit.account === 1, 'with its change in DNS');
  await does('PUT /zones/{zone_id}/dns_records/{dns_record_id}', r, { ...A, ttl: 600 }, [
    ['record.replace', 'www.example.com A'],
  ]);
  await does('DELETE /zones/{zone_id}/dns_records/{dns_record_id}', r, undefined, [
    ['record.delete', 'www.example.com A'],
  ]);
  await does('POST /zones/{zone_id}/dns_records/batch', z, { posts: [A, { ...A, name: 'b' }] }, [
    ['record.create', 'www.example.com A'],
    ['record.create', 'b.example.com A'],
  ]);
  await does('POST /zones/{zone_id}/dns_records/scan', z, undefined, []);
  await does('PATCH /zones/{zone_id}', z, { paused: true }, [['zone.edit', 'example.com']]);
  await does('PATCH /zones/{zone_id}', z, { paused: false }, [['zone.edit', 'example.com']]);
  await does('PATCH /zones/{zone_id}/dns_settings', z, { ns_ttl: 3600 }, [['dns_settings.edit', 'example.com']]);
  await does('PATCH /zones/{zone_id}/settings', z, { items: [{ id: 'min_tls_version', value: '1.3' }] }, [
    ['zone_settings.edit', 'min_tls_version'],
  ]);
  await does('PATCH /zones/{zone_id}/settings/{setting}', { ...z, setting: 'http2' }, { value: 'off' }, [
    ['zone_settings.edit', 'http2'],
  ]);
  await does('POST /zones/{zone_id}/hold', z, undefined, [['zone_hold.create', 'example.com']]);
  await does('PATCH /zones/{zone_id}/hold', z, { include_subdomains: true }, [['zone_hold.edit', 'example.com']]);
  await does('DELETE /zones/{zone_id}/hold', z, undefined, [['zone_hold.delete', 'example.com']]);
  await does('POST /zones/{zone_id}/purge_cache', z, { hosts: ['www.example.com'] }, [['cache.purge', 'example.com']]);
  await does('POST /zones/{zone_id}/invalidate_cache', z, { hosts: ['www.example.com'] }, [
    ['cache.purge', 'example.com'],
  ]);

  await does(
    'POST /zones/{zone_id}/dns_records/import',
    z,
    '--x\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nc 300 IN A 192.0.2.3\r\n--x--\r\n',
    [['record.import', 'example.com']],
    { 'content-type': 'multipart/form-data; boundary=x' },
  );
  const state = (await call('GET', `/zones/${zone.id}/history`)).json.result.at(-1);
  await does(
    'POST /zones/{zone_id}/history/{change}/restore',
    { ...z, change: `version:${state.version}` },
    undefined,
    [['zone.restore', 'example.com']],
  );

  // Names of customers, and certificates.
  const hostnames = '/zones/{zone_id}/custom_hostnames';
  await does('POST /zones/{zone_id}/dns_records', z, { ...A, name: 'origin', proxied: true }, [
    ['record.create', 'origin.example.com A'],
  ]);
  await does(`PUT ${hostnames}/fallback_origin`, z, { origin: 'origin.example.com' }, [['fallback_origin.edit', /./]]);
  const hostname = await does(
    `POST ${hostnames}`,
    z,
    { hostname: 'shop.customer.net', ssl: { method: 'txt', type: 'dv' } },
    [['custom_hostname.create', 'shop.customer.net']],
  );
  const h = { ...z, custom_hostname_id: hostname.id as string };
  await does(`PATCH ${hostnames}/{custom_hostname_id}`, h, { custom_metadata: { a: 'b' } }, [
    ['custom_hostname.edit', 'shop.customer.net'],
  ]);
  await does(`DELETE ${hostnames}/{custom_hostname_id}`, h, undefined, [
    ['custom_hostname.delete', 'shop.customer.net'],
  ]);
  await does(`DELETE ${hostnames}/fallback_origin`, z, undefined, [['fallback_origin.delete', /./]]);
  const packs = '/zones/{zone_id}/ssl/certificate_packs';
  const order = { type: 'advanced', hosts: ['example.com'], validation_method: 'txt', validity_days: 90 };
  const pack = await does(`POST ${packs}/order`, z, { ...order, certificate_authority: 'lets_encrypt' }, [
    ['certificate_pack.create', 'example.com'],
  ]);
  const o = { ...z, certificate_pack_id: pack.id as string };
  await does('PATCH /zones/{zone_id}/ssl/verification/{certificate_pack_id}', o, { validation_method: 'http' }, [
    ['certificate_pack.edit', 'example.com'],
  ]);
  await does(`PATCH ${packs}/{certificate_pack_id}`, o, {}, [['certificate_pack.edit', 'example.com']]);
  await does(`DELETE ${packs}/{certificate_pack_id}`, o, undefined, [['certificate_pack.delete', 'example.com']]);
  await does('PATCH /zones/{zone_id}/ssl/universal/settings', z, { enabled: false }, [
    ['universal_certificate.edit', 'example.com'],
  ]);

  // Signed.
  await does('PATCH /zones/{zone_id}/dnssec', z, { status: 'active' }, [['dnssec.enable', 'example.com']]);
  await does('POST /zones/{zone_id}/dnssec/resign', z, undefined, [['dnssec.resign', 'example.com']]);
  await does('DELETE /zones/{zone_id}/dnssec', z, undefined, [
    ['dnssec.edit', 'example.com'],
    ['dnssec.delete', 'example.com'],
  ]);

  const signed = { zone_id: (await call('POST', '/zones', { name: 'signed.example' })).json.result.id as string };
  await call('PATCH', `/zones/${signed.zone_id}/dnssec`, { status: 'active' });
  const tag = (await call('GET', `/zones/${signed.zone_id}/dnssec`)).json.result.key_tag as number;
  await does('POST /zones/{zone_id}/dnssec/ds_seen', signed, { key_tag: tag }, [['dnssec.ds_seen', 'signed.example']]);
  await does('POST /zones/{zone_id}/dnssec/rollover', signed, { role: 'zsk', emergency: true }, [
    ['dnssec.rollover', 'signed.example'],
  ]);

  // Who is told.
  const told = '/accounts/{account_id}/alerting/v3';
  const webhook = { name: 'chat', url: 'https://192.0.2.7/x/key-in-the-path', secret: SECRET };
  const hook = await does(`POST ${told}/destinations/webhooks`, {}, webhook, [['webhook.create', 'chat']]);
  const hooked = { webhook_id: hook.id as string };
  await does(`PUT ${told}/destinations/webhooks/{webhook_id}`, hooked, { ...webhook, secret: OTHER_SECRET }, [
    ['webhook.edit', 'chat'],
  ]);
  const chosen = { name: 'all', alert_type: 'zoneplane_event', mechanisms: { webhooks: [{ id: hook.id }] } };
  const policy = await does(`POST ${told}/policies`, {}, chosen, [['alert_policy.create', 'all']]);
  const which = { policy_id: policy.id as string };
  await does(`PUT ${told}/policies/{policy_id}`, which, { enabled: false }, [['alert_policy.edit', 'all']]);
  await does(`DELETE ${told}/policies/{policy_id}`, which, undefined, [['alert_policy.delete', 'all']]);

  // Templates.
  const templates = '/accounts/{account_id}/dns_templates';
  const plain = { name: 'plain', records: [{ type: 'TXT', name: 'from-template', content: 'x' }] };
  const template = await does(`POST ${templates}`, {}, plain, [['dns_template.create', 'plain']]);
  const asYaml = JSON.stringify({ ...plain, name: 'other' });
  await does(`POST ${templates}/import`, {}, asYaml, [['dns_template.create', 'other']]);
  const ofTemplate = { template_id: template.id };
  await does(`PUT ${templates}/{template_id}`, ofTemplate, plain, [['dns_template.edit', 'plain']]);
  await does(`POST ${templates}/{template_id}/apply`, ofTemplate, { zones: [signed.zone_id] }, [
    ['record.create', 'from-template.signed.example TXT'],
    ['dns_template.apply', 'plain'],
  ]);
  await does(`DELETE ${templates}/{template_id}`, ofTemplate, undefined, [['dns_template.delete', 'plain']]);
  await does(`DELETE ${told}/destinations/webhooks/{webhook_id}`, hooked, undefined, [['webhook.delete', 'chat']]);

  // Other servers.
  const list = '/accounts/{account_id}/secondary_dns';
  const key = await does(`POST ${list}/tsigs`, {}, { name: 'k.example.', algo: 'hmac-sha256.', secret: SECRET }, [
    ['tsig.create', 'k.example.'],
  ]);
  const k = { tsig_id: key.id as string };
  await does(`PUT ${list}/tsigs/{tsig_id}`, k, { name: 'k2.example.', algo: 'hmac-sha256.', secret: OTHER_SECRET }, [
    ['tsig.edit', 'k2.example.'],
  ]);
  const peer = await does(`POST ${list}/peers`, {}, { name: 'ns2' }, [['transfer_peer.create', 'ns2']]);
  const p = { peer_id: peer.id as string };
  await does(`PUT ${list}/peers/{peer_id}`, p, { name: 'ns3', ip: '192.0.2.53', tsig_id: key.id }, [
    ['transfer_peer.edit', 'ns3'],
  ]);
  const acl = await does(`POST ${list}/acls`, {}, { name: 'office', ip_range: '192.0.2.0/28' }, [
    ['transfer_acl.create', 'office'],
  ]);
  const a = { acl_id: acl.id as string };
  await does(`PUT ${list}/acls/{acl_id}`, a, { name: 'home', ip_range: '192.0.2.0/28' }, [
    ['transfer_acl.edit', 'home'],
  ]);
  await does(`DELETE ${list}/acls/{acl_id}`, a, undefined, [['transfer_acl.delete', 'home']]);
  const spare = await does(`POST ${list}/peers`, {}, { name: 'spare' }, [['transfer_peer.create', 'spare']]);
  await does(`DELETE ${list}/peers/{peer_id}`, { peer_id: spare.id }, undefined, [['transfer_peer.delete', 'spare']]);
  const unused = { name: 'unused.example.', algo: 'hmac-sha256.', secret: SECRET };
  const old = await does(`POST ${list}/tsigs`, {}, unused, [['tsig.create', 'unused.example.']]);
  await does(`DELETE ${list}/tsigs/{tsig_id}`, { tsig_id: old.id }, undefined, [['tsig.delete', 'unused.example.']]);
  const out = '/zones/{zone_id}/secondary_dns/outgoing';
  await does(`POST ${out}`, z, { name: 'example.com', peers: [peer.id] }, [['outgoing.create', 'example.com']]);
  await does(`PUT ${out}`, z, { name: 'example.com', peers: [] }, [['outgoing.edit', 'example.com']]);
  await does(`POST ${out}/disable`, z, undefined, [['outgoing.disable', 'example.com']]);
  await does(`POST ${out}/enable`, z, undefined, [['outgoing.enable', 'example.com']]);
  await does(`POST ${out}/force_notify`, z, undefined, [['outgoing.force_notify', 'example.com']]);
  await does('POST /zones/{zone_id}/secondary_dns/secondaries', z, { name: 'ns4', ip: '192.0.2.54' }, [
    ['tsig.create', /./],
    ['transfer_peer.create', 'ns4'],
    ['outgoing.edit', 'example.com'],
  ]);
  await does(`DELETE ${out}`, z, undefined, [['outgoing.delete', 'example.com']]);
  const second = await does('POST /zones', {}, { name: 'second.example', type: 'secondary' }, [
    ['zone.create', 'second.example'],
  ]);
  const s = { zone_id: second.id as string };
  const incoming = '/zones/{zone_id}/secondary_dns';
  await does(`POST ${incoming}/incoming`, s, { name: 'second.example', peers: [peer.id] }, [
    ['incoming.create', 'second.example'],
  ]);
  await does(`PUT ${incoming}/incoming`, s, { name: 'second.example', peers: [peer.id], auto_refresh_seconds: 900 }, [
    ['incoming.edit', 'second.example'],
  ]);
  await does(`POST ${incoming}/force_axfr`, s, undefined, [['incoming.force_axfr', 'second.example']]);
  await does(`DELETE ${incoming}/incoming`, s, undefined, [['incoming.delete', 'second.example']]);
  const catalog = await does(
    `POST ${list}/catalogs`,
    {},
    { name: 'catalog.invalid', peers: [peer.id], members: 'all' },
    [['catalog.create', 'catalog.invalid']],
  );
  const c = { catalog_id: catalog.id as string };
  await does(`PATCH ${list}/catalogs/{catalog_id}/members/{zone_id}`, { ...c, ...z }, { group: 'blue' }, [
    ['catalog.edit', 'catalog.invalid'],
  ]);
  await does(`DELETE ${list}/catalogs/{catalog_id}`, c, undefined, [['zone.delete', 'catalog.invalid']]);
  const followed = await does(`POST ${list}/consumed_catalogs`, {}, { name: 'theirs.invalid', peers: [peer.id] }, [
    ['consumed_catalog.create', 'theirs.invalid'],
  ]);
  const f = { catalog_id: followed.id as string };
  await alter('UPDATE consumed_catalogs SET held = 2');
  await alter('UPDATE zone_incoming SET serial = 7');
  await does(`POST ${list}/consumed_catalogs/{catalog_id}/confirm`, f, undefined, [
    ['consumed_catalog.confirm', 'theirs.invalid'],
  ]);
  await alter(
    `INSERT INTO removed_zones (zone, catalog_name, member_id, removed_at, kept_until)
    SELECT seq, 'theirs.invalid', 'x', ${clock.nowUs()}, ${clock.nowUs() + 1e12} FROM zones WHERE name = 'second.example'`,
  );
  await does(`POST ${list}/removed_zones/{zone_id}/restore`, s, undefined, [['zone.resume', 'second.example']]);
  await does(`DELETE ${list}/consumed_catalogs/{catalog_id}`, f, undefined, [
    ['zone.delete', 'theirs.invalid'],
    ['consumed_catalog.delete', 'theirs.invalid'],
  ]);

  // Buckets.
  const buckets = '/accounts/{account_id}/r2/buckets';
  await does(`POST ${buckets}`, {}, { name: 'assets' }, [['bucket.create', 'assets']]);
  const b = { bucket_name: 'assets' };
  await does(`PATCH ${buckets}/{bucket_name}`, b, undefined, [['bucket.edit', 'assets']], {
    'cf-r2-storage-class': 'InfrequentAccess',
  });
  await does(`PUT ${buckets}/{bucket_name}/application`, b, { binding: 'MY_BUCKET' }, [['bucket.bind', 'assets']]);
  await does(
    `POST ${buckets}/{bucket_name}/domains/custom`,
    b,
    { domain: 'files.example.com', zoneId: zone.id, enabled: true },
    [
      ['record.create', /files/],
      ['bucket_domain.create', 'files.example.com'],
    ],
  );
  const d = { ...b, domain: 'files.example.com' };
  await does(`PUT ${buckets}/{bucket_name}/domains/custom/{domain}`, d, { enabled: false }, [
    ['bucket_domain.edit', 'files.example.com'],
  ]);
  await does(`DELETE ${buckets}/{bucket_name}/domains/custom/{domain}`, d, undefined, [
    ['record.delete', /files/],
    ['bucket_domain.delete', 'files.example.com'],
  ]);
  const cors = { rules: [{ allowed: { origins: ['https://a.test'], methods: ['GET'] } }] };
  await does(`PUT ${buckets}/{bucket_name}/cors`, b, cors, [['bucket_cors.put', 'assets']]);
  await does(`DELETE ${buckets}/{bucket_name}/cors`, b, undefined, [['bucket_cors.delete', 'assets']]);
  const bucketKey = await does(`POST ${buckets}/{bucket_name}/keys`, b, { read_only: true }, [
    ['key.create', 'S3: assets'],
  ]);
  const temporary = { bucket: 'assets', parentAccessKeyId: bucketKey.access_key_id, permission: 'object-read-only' };
  const derived = await does(
    'POST /accounts/{account_id}/r2/temp-access-credentials',
    {},
    { ...temporary, ttlSeconds: 60, prefixes: ['a/'] },
    [['key.derive', 'S3: assets']],
  );
  secrets.push(derived.secretAccessKey, derived.sessionToken);
  const lock = { rules: [{ id: 'l', enabled: true, condition: { type: 'Indefinite' } }] };
  await does(`PUT ${buckets}/{bucket_name}/lock`, b, lock, [['bucket_lock.put', 'assets']]);
  const condition = { type: 'Age', maxAge: 60 };
  const aged = { id: 'o', enabled: true, conditions: { prefix: '' }, deleteObjectsTransition: { condition } };
  await does(`PUT ${buckets}/{bucket_name}/lifecycle`, b, { rules: [aged] }, [['bucket_lifecycle.put', 'assets']]);
  await does(`DELETE ${buckets}/{bucket_name}`, b, undefined, [['bucket.delete', 'assets']]);

  await walkBalancing(does, zone.id);
  await walkRules(does, zone.id);

  await does('DELETE /zones/{zone_id}', z, undefined, [['zone.delete', 'example.com']]);
  const gone = latestEvents(store, 1)[0]!;
  t.match(JSON.parse(gone.before!), { name: 'example.com' });
  t.equal(gone.zone_name, 'example.com', 'its name stays');

  const document = (await app.inject('/openapi.json')).json();
  const routes = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => method !== 'get')
      .map((method) => `${method.toUpperCase()} ${path.replace(/^\/client\/v4/, '')}`),
  );
  t.strictSame(
    routes.filter((route) => !walked.has(route) && !SILENT[route]),
    [],
    'every request that changes something',
  );
  const all = JSON.stringify(store.prepare('SELECT * FROM events').all());
  for (const secret of secrets) t.notOk(all.includes(secret), 'no secret is in an event');
  t.notMatch(all, /PRIVATE KEY|"secret"|"hash"/);
});

type Does = (
  route: string,
  ids: Readonly<Record<string, string>>,
  body: unknown,
  expected: readonly (readonly [kind: string, name: string | RegExp])[],
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
) => Promise<any>;

async function walkBalancing(does: Does, zone: string): Promise<void> {
  const base = '/accounts/{account_id}/load_balancers';
  const made = await does(`POST ${base}/monitors`, {}, { description: 'probe' }, [['monitor.create', 'probe']]);
  const m = { monitor_id: made.id };
  await does(`PUT ${base}/monitors/{monitor_id}`, m, { description: 'other' }, [['monitor.edit', 'other']]);
  await does(`PATCH ${base}/monitors/{monitor_id}`, m, { interval: 90 }, [['monitor.edit', 'other']]);
  const members = [{ monitor_id: made.id, enabled: true, monitoring_only: false, must_be_healthy: true }];
  const group = { description: 'both', members };
  const grouped = await does(`POST ${base}/monitor_groups`, {}, group, [['monitor_group.create', 'both']]);
  const g = { monitor_group_id: grouped.id };
  await does(`PUT ${base}/monitor_groups/{monitor_group_id}`, g, group, [['monitor_group.edit', 'both']]);
  await does(`PATCH ${base}/monitor_groups/{monitor_group_id}`, g, group, [['monitor_group.edit', 'both']]);
  const pool = { name: 'web', origins: [{ name: 'a', address: '198.51.100.1' }] };
  const pooled = await does(`POST ${base}/pools`, {}, pool, [['pool.create', 'web']]);
  const p = { pool_id: pooled.id };
  await does(`PUT ${base}/pools/{pool_id}`, p, { ...pool, name: 'web-2' }, [['pool.edit', 'web-2']]);
  await does(`PATCH ${base}/pools/{pool_id}`, p, { minimum_origins: 0 }, [['pool.edit', 'web-2']]);
  await does(`PATCH ${base}/pools`, {}, { notification_email: 'a@example.com' }, [['pool.edit', 'web-2']]);
  const balancer = { name: 'lb.example.com', default_pools: [pooled.id], fallback_pool: pooled.id };
  const all = '/zones/{zone_id}/load_balancers';
  const z = { zone_id: zone };
  const balanced = await does(`POST ${all}`, z, balancer, [['load_balancer.create', 'lb.example.com']]);
  const b = { ...z, load_balancer_id: balanced.id };
  const edited = [['load_balancer.edit', 'lb.example.com']] as const;
  await does(`PUT ${all}/{load_balancer_id}`, b, { ...balancer, ttl: 60 }, edited);
  await does(`PATCH ${all}/{load_balancer_id}`, b, { enabled: false }, edited);
  await does(`DELETE ${all}/{load_balancer_id}`, b, undefined, [['load_balancer.delete', 'lb.example.com']]);
  await does(`DELETE ${base}/pools/{pool_id}`, p, undefined, [['pool.delete', 'web-2']]);
  await does(`DELETE ${base}/monitor_groups/{monitor_group_id}`, g, undefined, [['monitor_group.delete', 'both']]);
  await does(`DELETE ${base}/monitors/{monitor_id}`, m, undefined, [['monitor.delete', 'other']]);
}

async function walkRules(does: Does, zone: string): Promise<void> {
  const z = { zone_id: zone };
  const base = '/zones/{zone_id}/rulesets';
  const [phase, other] = ['http_request_dynamic_redirect', 'http_request_transform'];
  const target_url = { value: 'https://example.org/' };
  const rule = { action: 'redirect', expression: 'true', action_parameters: { from_value: { target_url } } };
  const edited = [['ruleset.edit', phase]] as const;
  const { id } = await does(`POST ${base}`, z, { name: 'a', kind: 'zone', phase, rules: [rule] }, [
    ['ruleset.create', phase],
  ]);
  const r = { ...z, ruleset_id: id };
  await does(`PUT ${base}/{ruleset_id}`, r, { name: 'b' }, edited);
  const { rules } = await does(`POST ${base}/{ruleset_id}/rules`, r, rule, edited);
  const one = { ...r, rule_id: rules[1].id };
  await does(`PATCH ${base}/{ruleset_id}/rules/{rule_id}`, one, { enabled: false }, edited);
  await does(`DELETE ${base}/{ruleset_id}/rules/{rule_id}`, one, undefined, edited);
  await does(`PUT ${base}/phases/{phase}/entrypoint`, { ...z, phase: other }, { rules: [] }, [
    ['ruleset.create', other],
  ]);
  await does(`DELETE ${base}/{ruleset_id}`, r, undefined, [['ruleset.delete', phase]]);
  const value = 'example.com/*';
  const targets = [{ target: 'url', constraint: { operator: 'matches', value } }];
  const page = { targets, actions: [{ id: 'always_use_https' }] };
  const pages = '/zones/{zone_id}/pagerules';
  const made = await does(`POST ${pages}`, z, page, [['page_rule.create', value]]);
  const p = { ...z, pagerule_id: made.id };
  await does(`PUT ${pages}/{pagerule_id}`, p, { ...page, priority: 2 }, [['page_rule.edit', value]]);
  await does(`PATCH ${pages}/{pagerule_id}`, p, { status: 'active' }, [['page_rule.edit', value]]);
  await does(`DELETE ${pages}/{pagerule_id}`, p, undefined, [['page_rule.delete', value]]);
}

t.test('what is refused or only tried makes no event, and others read none', async (t) => {
  const { call, createZone, token, operator, store } = await install(t);
  const zone = await createZone('example.com');
  const home = (await call('GET', '/accounts')).json.result[0].id as string;
  await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const theirs = { headers: await token({ name: 'theirs', email: 'other@example.org' }) };
  const reading = { headers: await token({ name: 'reading', readOnly: true }) };
  const before = newest(store);
  for (const [method, path, body, options] of [
    ['POST', `/zones/${zone}/dns_records`, { ...A, content: 'x' }, {}],
    ['POST', `/zones/${zone}/dns_records`, A, reading],
    ['POST', `/zones/${zone}/dns_records`, A, theirs],
    ['POST', `/zones/${zone}/dns_records/batch`, { posts: [A, { ...A, name: 'b', content: 'x' }] }, {}],
    ['POST', `/accounts/${home}/secondary_dns/tsigs`, { name: 'k', algo: 'none', secret: SECRET }, {}],
    ['DELETE', `/zones/${zone}`, undefined, theirs],
    ['POST', '/zones', { name: 'example.com' }, {}],
  ] as const) {
    const { status, text } = await call(method, path, body, options);
    t.ok(status >= 400 && status < 500, `${method} ${path}: ${text}`);
  }
  t.equal((await call('POST', `/zones/${zone}/dns_records?dry_run=true`, A)).status, 200);
  t.equal(newest(store), before);

  await call('POST', `/zones/${zone}/dns_records`, A);
  for (const path of [`/accounts/${home}/audit_logs`, `/accounts/${home}/logs/audit`]) {
    t.match(await call('GET', path, undefined, theirs), { status: 403, json: { result: null } }, path);
  }
  t.notMatch((await call('GET', '/user/audit_logs', undefined, theirs)).text, /example\.com/);
  const [entry] = (await call('GET', `/accounts/${home}/audit_logs`)).json.result;
  t.match(entry, {
    action: { type: 'record.create' },
    resource: { name: 'www.example.com A', type: 'record' },
    metadata: { zone_name: 'example.com', credential: 'key', credential_id: /^[0-9a-f]{32}$/ },
  });
  await createAccount(operator, { name: 'By hand', members: [] });
  t.match(latestEvents(store, 1), [
    { kind: 'account.create', name: 'By hand', actor: 'operator@localhost', source: 'cli', credential: null },
  ]);
});
