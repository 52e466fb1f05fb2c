/**
 * The vendor's own client, unmodified, against a listening server: the server understands its requests, and it
 * understands the answers.
 */
import Cloudflare from 'cloudflare';
import t, { type Test } from 'tap';
import { EMAIL, type Installation, install, KEY } from '../../api/installation.js';

type RecordParams = Cloudflare.DNS.RecordCreateParams;
type NewRecord = {
  readonly type: string;
  readonly name: string;
  readonly content?: string;
  readonly data?: object;
  readonly priority?: number;
};

const HEX64 = 'ab12'.repeat(16);
const BASE64 = 'AwEAAcDIjQ==';

/** One record of each type the client can create, and the text it is answered with where that differs. */
const RECORDS: readonly (NewRecord & { readonly answer: string })[] = [
  { type: 'A', name: 'a', content: '198.51.100.4', answer: '198.51.100.4' },
  { type: 'AAAA', name: 'aaaa', content: '2001:DB8:0::1', answer: '2001:db8::1' },
  { type: 'CAA', name: 'caa', data: { flags: 0, tag: 'issue', value: 'ca.test' }, answer: '0 issue "ca.test"' },
  {
    type: 'CERT',
    name: 'cert',
    data: { type: 1, key_tag: 2, algorithm: 3, certificate: BASE64 },
    answer: `1 2 3 ${BASE64}`,
  },
  { type: 'CNAME', name: 'cname', content: 'Target.example.net.', answer: 'target.example.net' },
  {
    type: 'DNSKEY',
    name: '@',
    data: { flags: 257, protocol: 3, algorithm: 13, public_key: BASE64 },
    answer: `257 3 13 ${BASE64}`,
  },
  { type: 'NS', name: 'child', content: 'ns.example.net', answer: 'ns.example.net' },
  {
    type: 'DS',
    name: 'child',
    data: { key_tag: 1, algorithm: 13, digest_type: 2, digest: HEX64 },
    answer: `1 13 2 ${HEX64}`,
  },
  {
    type: 'HTTPS',
    name: 'https',
    data: { priority: 1, target: '.', value: 'alpn="h3,h2"' },
    answer: '1 . alpn="h3,h2"',
  },
  {
    type: 'LOC',
    name: 'loc',
    data: {
      lat_degrees: 37,
      lat_minutes: 46,
      lat_seconds: 46,
      lat_direction: 'N',
      long_degrees: 122,
      long_minutes: 23,
      long_seconds: 35,
      long_direction: 'W',
      altitude: 0,
      size: 100,
      precision_horz: 0,
      precision_vert: 0,
    },
    answer: '37 46 46.000 N 122 23 35.000 W 0.00 100.00 0.00 0.00',
  },
  { type: 'MX', name: 'mx', content: 'mx1.example.com', priority: 10, answer: 'mx1.example.com' },
  {
    type: 'NAPTR',
    name: 'naptr',
    data: {
      order: 100,
      preference: 10,
      flags: 'S',
      service: 'SIP+D2T',
      regex: '',
      replacement: '_sip._tcp.example.com.',
    },
    answer: '100 10 "S" "SIP+D2T" "" _sip._tcp.example.com.',
  },
  { type: 'OPENPGPKEY', name: 'openpgpkey', content: BASE64, answer: BASE64 },
  { type: 'PTR', name: 'ptr', content: 'host.example.com', answer: 'host.example.com' },
  {
    type: 'SMIMEA',
    name: 'smimea',
    data: { usage: 3, selector: 1, matching_type: 1, certificate: HEX64 },
    answer: `3 1 1 ${HEX64}`,
  },
  {
    type: 'SRV',
    name: '_sip._tcp',
    data: { priority: 10, weight: 5, port: 5060, target: 'sip.example.com' },
    answer: '5 5060 sip.example.com',
  },
  { type: 'SSHFP', name: 'sshfp', data: { algorithm: 4, type: 2, fingerprint: HEX64 }, answer: `4 2 ${HEX64}` },
  {
    type: 'SVCB',
    name: '_dns.svcb',
    data: { priority: 1, target: 'dns.example.com', value: 'alpn="dot"' },
    answer: '1 dns.example.com alpn="dot"',
  },
  {
    type: 'TLSA',
    name: '_443._tcp.tlsa',
    data: { usage: 3, selector: 1, matching_type: 1, certificate: HEX64 },
    answer: `3 1 1 ${HEX64}`,
  },
  { type: 'TXT', name: 'txt', content: '"v=spf1 -all"', answer: '"v=spf1 -all"' },
  {
    type: 'URI',
    name: '_http._tcp.uri',
    data: { weight: 1, target: 'https://example.com/' },
    priority: 10,
    answer: '1 "https://example.com/"',
  },
];

async function serve(t: Test): Promise<{ installation: Installation; baseURL: string; token: string }> {
  const installation = await install(t);
  await installation.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = installation.app.server.address() as { port: number };
  const token = (await installation.token()).authorization.slice('Bearer '.length);
  return { installation, baseURL: `http://127.0.0.1:${port}/client/v4`, token };
}

async function collect<Item>(pages: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of pages) items.push(item);
  return items;
}

for (const credential of ['token', 'key'] as const) {
  t.test(`zones and records with a ${credential}`, async (t) => {
    const { installation, baseURL, token } = await serve(t);
    const client = new Cloudflare({
      baseURL,
      maxRetries: 0,
      apiToken: credential === 'token' ? token : null,
      apiEmail: credential === 'key' ? EMAIL : null,
      apiKey: credential === 'key' ? KEY : null,
    });

    const [account] = await collect(client.accounts.list());
    t.match(account, { id: /^[0-9a-f]{32}$/, type: 'standard' });
    t.strictSame(await client.accounts.get({ account_id: account!.id }), account);
    const zone = await client.zones.create({ account: { id: account!.id }, name: 'example.com', type: 'full' });
    t.match(zone, {
      name: 'example.com',
      status: 'active',
      account: { id: account!.id },
      name_servers: ['ns1.dns.test', 'ns2.dns.test'],
    });
    const zone_id = zone.id;
    t.strictSame(await client.zones.get({ zone_id }), zone);
    for (let i = 0; i < 25; i++) {
      await client.zones.create({ account: { id: account!.id }, name: `zone${String(i).padStart(2, '0')}.test` });
    }
    const names = (await collect(client.zones.list({ per_page: 5 }))).map(({ name }) => name);
    t.equal(names.length, 26, 'auto-paging comes to its end');
    t.equal(new Set(names).size, 26);
    t.strictSame(
      (await collect(client.zones.list({ name: 'contains:zone1', order: 'name', direction: 'desc' }))).length,
      10,
    );
    t.equal((await client.zones.edit({ zone_id, paused: true })).paused, true);
    t.strictSame(await client.zones.activationCheck.trigger({ zone_id }), { id: zone_id });

    await t.test('each of the 21 types', async (t) => {
      t.equal(new Set(RECORDS.map(({ type }) => type)).size, 21);
      const ids = new Map<string, string>();
      for (const { answer, ...input } of RECORDS) {
        const made = await client.dns.records.create({ zone_id, ttl: 300, ...input } as RecordParams);
        t.match(
          made,
          { type: input.type, content: answer, ttl: 300, proxied: false, comment: null, tags: [] },
          input.type,
        );
        t.equal(made.name, input.name === '@' ? 'example.com' : `${input.name}.example.com`, input.type);
        if (input.priority !== undefined) t.equal((made as { priority?: number }).priority, input.priority);
        if (input.data)
          t.strictSame(sorted((made as { data?: object }).data), sorted(input.data), `${input.type} data`);
        t.strictSame(await client.dns.records.get(made.id, { zone_id }), made);
        ids.set(input.type, made.id);
      }
      for (const { answer, ...input } of RECORDS) {
        const id = ids.get(input.type)!;
        const edited = await client.dns.records.edit(id, { zone_id, ...input, ttl: 600, comment: 'edited' } as never);
        t.match(edited, { id, ttl: 600, comment: 'edited', content: answer }, `edit ${input.type}`);
        const put = await client.dns.records.update(id, { zone_id, ttl: 120, ...input, tags: ['a:b'] } as never);
        t.match(put, { id, ttl: 120, comment: null, tags: ['a:b'], content: answer }, `update ${input.type}`);
        // What was answered as text may be sent again as text.
        const { priority } = put as { priority?: number };
        const again = await client.dns.records.update(id, {
          zone_id,
          ttl: 120,
          type: input.type,
          name: put.name,
          content: answer,
          ...(priority === undefined ? {} : { priority }),
        } as never);
        t.match(again, { id, content: answer, ttl: 120 }, `${input.type} from its content`);
      }
      const all = await collect(client.dns.records.list({ zone_id, per_page: 4 }));
      t.strictSame(all.map(({ type }) => type).sort(), RECORDS.map(({ type }) => type).sort());
      const filtered = client.dns.records.list({
        zone_id,
        name: { endswith: 'example.com' },
        type: 'MX',
        match: 'all',
        tag_match: 'any',
        order: 'name',
        direction: 'asc',
      });
      t.strictSame(
        (await collect(filtered)).map(({ id }) => id),
        [ids.get('MX')],
      );
      t.strictSame((await collect(client.dns.records.list({ zone_id, comment: { present: '' } }))).length, 0);
      for (const id of [...ids.values()].reverse()) {
        t.strictSame(await client.dns.records.delete(id, { zone_id }), { id });
      }
      t.strictSame(await collect(client.dns.records.list({ zone_id })), []);
    });

    await t.test('batch, import, export', async (t) => {
      const old = await client.dns.records.create({ zone_id, type: 'A', name: 'old', content: '192.0.2.1', ttl: 1 });
      const done = await client.dns.records.batch({
        zone_id,
        deletes: [{ id: old.id }],
        posts: [
          { type: 'A', name: 'new', content: '192.0.2.2', ttl: 60 },
          { type: 'TXT', name: 'new', content: 'text', ttl: 60 },
        ],
      });
      t.equal(done.deletes?.[0]?.id, old.id);
      t.strictSame(
        done.posts?.map(({ name }) => name),
        ['new.example.com', 'new.example.com'],
      );
      const imported = await client.dns.records.import({ zone_id, file: 'import.example.com. 300 IN A 127.0.0.1\n' });
      t.match(imported, { recs_added: 1, total_records_parsed: 1 });
      const text = await client.dns.records.export({ zone_id });
      t.match(text, /^new\.example\.com\.\t60\tIN\tA\t192\.0\.2\.2/m);
    });

    t.strictSame(await client.zones.delete({ zone_id }), { id: zone_id });
    t.strictSame(installation.misfits, []);
  });
}

/** `data` comes with its members in the order of their names. */
function sorted(data: object | undefined): [string, unknown][] {
  return Object.entries(data ?? {}).sort(([a], [b]) => (a < b ? -1 : 1));
}

t.test('user, tokens, memberships, networks, neighbours', async (t) => {
  const { baseURL, token, installation } = await serve(t);
  const client = new Cloudflare({ baseURL, maxRetries: 0, apiToken: token });
  t.match(await client.user.get(), {
    email: EMAIL,
    two_factor_authentication_enabled: false,
    suspended: false,
  } as object);
  t.match(await client.user.tokens.verify(), { id: /^[0-9a-f]{32}$/, status: 'active' });
  const [account] = await collect(client.accounts.list());
  t.match(await client.accounts.tokens.verify({ account_id: account!.id }), { status: 'active' });
  const memberships = await collect(client.memberships.list({ order: 'account.name' }));
  t.match(memberships, [{ status: 'accepted', account: { id: account!.id } }]);
  const networks = await client.ips.list();
  t.match(networks, { ipv4_cidrs: ['192.0.2.250/32'], ipv6_cidrs: ['2001:db8::fa/128'] });
  const zone = await client.zones.create({ account: { id: account!.id }, name: 'example.com' });
  const [plan] = await collect(client.zones.plans.list({ zone_id: zone.id }));
  t.match(plan, { legacy_id: 'free', is_subscribed: false });
  t.match(await client.dns.settings.zone.get({ zone_id: zone.id }), { ns_ttl: 86400, zone_mode: 'standard' });
  t.match(await client.dns.settings.zone.edit({ zone_id: zone.id, ns_ttl: 300 }), { ns_ttl: 300 });
  const account_id = account!.id;
  t.match(await client.dns.settings.account.get({ account_id }), {
    enforce_dns_only: false,
    zone_defaults: { ns_ttl: 86400, nameservers: { type: 'cloudflare.standard' }, internal_dns: {} },
  } as object);
  const zone_defaults = { ns_ttl: 600, nameservers: { type: 'cloudflare.standard' as const }, internal_dns: {} };
  t.match(await client.dns.settings.account.edit({ account_id, zone_defaults }), { zone_defaults: { ns_ttl: 600 } });
  const second = await client.zones.create({ account: { id: account_id }, name: 'example.net' });
  t.match(await client.dns.settings.zone.get({ zone_id: second.id }), { ns_ttl: 600 });
  await client.zones.delete({ zone_id: second.id });
  const zone_id = zone.id;
  t.strictSame(await client.zones.holds.get({ zone_id }), { hold: false, hold_after: null, include_subdomains: false });
  t.match(await client.zones.holds.create({ zone_id, include_subdomains: true }), {
    hold: true,
    hold_after: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/,
    include_subdomains: true,
  } as object);
  const until = '2099-01-01T00:00:00.000000Z';
  t.match(await client.zones.holds.edit({ zone_id, hold_after: until }), { hold: false, hold_after: until });
  t.strictSame(await client.cache.purge({ zone_id, hosts: ['www.example.com'] }), { id: zone_id });
  await t.rejects(client.cache.purge({ zone_id, hosts: ['other.test'] }), { status: 400, errors: [{ code: 1012 }] });
  t.match(await client.zones.holds.delete({ zone_id }), { hold: false, hold_after: null } as object);
  t.match(await client.zones.settings.get('http3', { zone_id }), {
    id: 'http3',
    value: 'on',
    modified_on: null,
  } as object);
  t.match(await client.zones.settings.edit('http3', { zone_id, value: 'off' }), {
    value: 'off',
    editable: true,
  } as object);
  t.strictSame(installation.misfits, []);
});

t.test('tokens: of the user, of an account', async (t) => {
  const { baseURL, token, installation } = await serve(t);
  const client = new Cloudflare({ baseURL, maxRetries: 0, apiToken: token });
  const [account] = await collect(client.accounts.list());
  const account_id = account!.id;
  const { id: zone_id } = await client.zones.create({ account: { id: account_id }, name: 'example.com' });
  const groups = await collect(client.user.tokens.permissionGroups.list({ name: 'DNS%20Write' }));
  const everything = await collect(client.user.tokens.permissionGroups.list());
  t.equal(groups.length, 1);
  t.ok(everything.length > 10);
  const write = everything.find(({ name }) => name === 'DNS Write')!;
  const policies = [
    {
      effect: 'allow' as const,
      permission_groups: [{ id: write.id! }],
      resources: { [`com.cloudflare.api.account.zone.${zone_id}`]: '*' },
    },
  ];
  const made = await client.user.tokens.create({ name: 'by the client', policies });
  t.match(made, { name: 'by the client', status: 'active', policies: [{ effect: 'allow' }] });
  const limited = new Cloudflare({ baseURL, maxRetries: 0, apiToken: made.value! });
  const record = { zone_id, type: 'A', name: 'www', content: '192.0.2.1', ttl: 300 } as const;
  t.match(await limited.dns.records.create(record), { name: 'www.example.com' });
  await t.rejects(limited.zones.edit({ zone_id, paused: true }), { status: 403, errors: [{ code: 10000 }] });
  await t.rejects(limited.user.tokens.create({ name: 'more', policies }), { status: 403, errors: [{ code: 10000 }] });
  t.match(await client.user.tokens.get(made.id!), { id: made.id, name: 'by the client' } as object);
  const update = { name: 'renamed', policies, status: 'disabled' as const };
  t.match(await client.user.tokens.update(made.id!, update), { name: 'renamed', status: 'disabled' } as object);
  await t.rejects(limited.dns.records.create(record), { status: 403, errors: [{ code: 9109 }] });
  await client.user.tokens.update(made.id!, { ...update, status: 'active' });
  const rolled = await client.user.tokens.value.update(made.id!);
  t.not(rolled, made.value);
  const renewed = new Cloudflare({ baseURL, maxRetries: 0, apiToken: rolled });
  t.match(await renewed.user.tokens.verify(), { id: made.id, status: 'active' });
  t.ok((await collect(client.user.tokens.list({ per_page: 1 }))).some(({ id }) => id === made.id));
  t.strictSame(await client.user.tokens.delete(made.id!), { id: made.id! });

  const owned = await client.accounts.tokens.create({ account_id, name: 'owned', policies });
  const one = { account_id };
  t.match(await client.accounts.tokens.get(owned.id!, one), { id: owned.id, name: 'owned' } as object);
  t.match(await client.accounts.tokens.update(owned.id!, { ...one, name: 'o', policies }), { name: 'o' } as object);
  t.match(await client.accounts.tokens.value.update(owned.id!, one), /^[\w-]{40}$/);
  t.strictSame(
    (await collect(client.accounts.tokens.list(one))).map(({ id }) => id),
    [owned.id],
  );
  t.equal((await collect(client.accounts.tokens.permissionGroups.list(one))).length, everything.length);
  t.strictSame(await client.accounts.tokens.delete(owned.id!, one), { id: owned.id! });
  t.strictSame(installation.misfits, []);
});

t.test('audit logs, and extensions: dry runs, entity tags, history', async (t) => {
  const { installation, baseURL, token } = await serve(t);
  const client = new Cloudflare({ baseURL, maxRetries: 0, apiToken: token });
  const [account] = await collect(client.accounts.list());
  const account_id = account!.id;
  const { id: zone_id } = await client.zones.create({ account: { id: account_id }, name: 'example.com' });
  const params = { zone_id, type: 'A', name: 'a.example.com', content: '192.0.2.1', ttl: 300 } as const;
  const dry = await client.dns.records.create(params, { query: { dry_run: true } });
  t.match(dry, { name: 'a.example.com', content: '192.0.2.1' }, 'the result has its usual shape');
  t.strictSame(await collect(client.dns.records.list({ zone_id })), [], 'and nothing was created');
  const { data: record, response } = await client.dns.records.create(params).withResponse();
  const headers = { 'If-Match': response.headers.get('etag')! };
  const change = { zone_id, type: 'A', name: 'a.example.com', content: '192.0.2.2', ttl: 300 } as const;
  await client.dns.records.edit(record.id, change, { headers });
  const late = client.dns.records.edit(record.id, change, { headers });
  await t.rejects(late, { status: 412, errors: [{ code: 10412 }] });
  const asOf = { query: { as_of: `change:${response.headers.get('zoneplane-change')}` } };
  t.match(await client.dns.records.get(record.id, { zone_id }, asOf), { content: '192.0.2.1' } as object);
  const restored = await client.post(`/zones/${zone_id}/history/${response.headers.get('zoneplane-change')}/restore`);
  t.match(restored, { success: true, result: { records_changed: 1 } });
  t.match(await client.dns.records.get(record.id, { zone_id }), { content: '192.0.2.1' } as object);

  const logs = await collect(client.auditLogs.list({ account_id, zone: { name: 'example.com' }, per_page: 2 }));
  t.strictSame(
    logs.map(({ action }) => action?.type),
    ['zone.restore', 'record.edit', 'record.create', 'zone.create'],
  );
  t.match(logs[1], {
    actor: { ip: '127.0.0.1', type: 'user' },
    resource: { id: record.id },
    owner: { id: account_id },
  });
  const edits = client.auditLogs.list({ account_id, action: { type: 'record.edit' }, actor: { email: EMAIL } });
  t.equal((await collect(edits)).length, 1);
  const range = { account_id, since: '2024-01-01', before: '2030-01-01T00:00:00Z', limit: 2 };
  const events = await collect(client.accounts.logs.audit.list({ ...range, zone_id: { not: ['f'.repeat(32)] } }));
  t.strictSame(
    events.slice(0, 4).map(({ action }) => action?.description),
    ['zone.restore', 'record.edit', 'record.create', 'zone.create'],
  );
  const updates = await collect(client.accounts.logs.audit.list({ ...range, action_type: { not: ['create'] } }));
  t.match(updates, [{ action: { type: 'update' } }, { action: { type: 'update' } }]);
  t.equal(updates.length, 2);
  t.match(events[1], {
    account: { id: account_id },
    actor: { context: 'api_token', email: EMAIL, type: 'user' },
    zone: { id: zone_id, name: 'example.com' },
  });
  t.strictSame(installation.misfits, []);
});

t.test('refusals become the classes that callers catch', async (t) => {
  const { baseURL, token } = await serve(t);
  const client = new Cloudflare({ baseURL, maxRetries: 0, apiToken: token });
  const zone = await client.zones.create({ account: { id: '' }, name: 'example.com' });
  const missing = client.dns.records.get('0'.repeat(32), { zone_id: zone.id });
  await t.rejects(missing, { status: 404, errors: [{ code: 81044, message: 'Record does not exist.' }] });
  await missing.catch((error) => t.ok(error instanceof Cloudflare.NotFoundError));
  const bad = client.dns.records.create({ zone_id: zone.id, type: 'A', name: 'x', content: 'no address', ttl: 1 });
  await bad.catch((error) => {
    t.ok(error instanceof Cloudflare.BadRequestError);
    t.match(error.errors, [{ code: 9005, source: { pointer: '/content' } }]);
  });
  const stranger = new Cloudflare({ baseURL, maxRetries: 0, apiToken: 'x'.repeat(40) });
  await stranger.zones.get({ zone_id: zone.id }).catch((error) => {
    t.ok(error instanceof Cloudflare.PermissionDeniedError);
    t.equal(error.errors[0]?.code, 9109);
  });
  await stranger.user.tokens.verify().catch((error) => t.ok(error instanceof Cloudflare.AuthenticationError));
  await new Cloudflare({ baseURL, maxRetries: 0, apiEmail: EMAIL, apiKey: 'z'.repeat(37) }).user
    .get()
    .catch((error) => {
      t.ok(error instanceof Cloudflare.PermissionDeniedError);
      t.equal(error.errors[0]?.code, 9103);
    });
  t.equal(t.counts.pass, 8, 'each of them was refused');
});
