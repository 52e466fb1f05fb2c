/** What popular clients call beside zones and records, with the vendor's client where it has it. */
import { execFileSync } from 'node:child_process';
import Cloudflare from 'cloudflare';
import t, { type Test } from 'tap';
import { install } from './installation.js';

async function serve(t: Test) {
  const installation = await install(t);
  await installation.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = installation.app.server.address() as { port: number };
  const apiToken = (await installation.token()).authorization.slice('Bearer '.length);
  const client = new Cloudflare({ baseURL: `http://127.0.0.1:${port}/client/v4`, maxRetries: 0, apiToken });
  return { ...installation, client, zone_id: await installation.createZone('example.com') };
}

t.test('an account and a user get other names', async (t) => {
  const { call, misfits } = await serve(t);
  const [home] = (await call('GET', '/accounts')).json.result;
  const renamed = await call('PUT', `/accounts/${home.id}`, { ...home, name: ' Example Ltd ' });
  t.match(renamed.json.result, { id: home.id, name: 'Example Ltd', type: home.type });
  t.equal((await call('GET', `/accounts/${home.id}`)).json.result.name, 'Example Ltd');
  const type = home.type === 'standard' ? 'enterprise' : 'standard';
  for (const body of [{}, { name: '' }, { name: 'x'.repeat(101) }, { name: 'Other', type }]) {
    t.equal((await call('PUT', `/accounts/${home.id}`, body)).status, 400, JSON.stringify(body));
  }
  t.equal((await call('PUT', `/accounts/${'0'.repeat(32)}`, { name: 'x' })).status, 404);
  const user = { first_name: 'Ada', last_name: null, country: null };
  t.match((await call('PATCH', '/user', user)).json.result, { first_name: 'Ada', last_name: null });
  t.match((await call('PATCH', '/user', {})).json.result, { first_name: 'Ada' });
  t.match((await call('PATCH', '/user', { country: 'US' })).json.result, { country: 'US', zipcode: null });
  t.match((await call('GET', '/user')).json.result, { first_name: 'Ada', country: 'US' });
  t.strictSame(misfits, []);
});

t.test('features that are not here are answered with what is true of them', async (t) => {
  const { call, client, zone_id, misfits } = await serve(t);
  t.match(await client.zones.customNameservers.get({ zone_id }), { enabled: false, success: true });
  const plan = { currency: 'USD', price: 0, state: 'Paid', rate_plan: { id: 'free', scope: 'zone' } };
  t.match(await client.zones.subscriptions.get({ zone_id }), plan);
  t.match(await client.zones.subscriptions.update({ zone_id, rate_plan: { id: 'free' } }), plan);
  await t.rejects(client.zones.subscriptions.update({ zone_id, rate_plan: { id: 'pro' } }), /^400 /);
  const normalization = { scope: 'none', type: 'rfc3986' } as const;
  t.match(await client.urlNormalization.get({ zone_id }), normalization);
  t.match(await client.urlNormalization.update({ zone_id, ...normalization }), normalization);
  await t.rejects(client.urlNormalization.update({ zone_id, scope: 'both', type: 'cloudflare' }), /^400 /);
  t.match(await client.argo.tieredCaching.get({ zone_id }), { value: 'off', editable: false });
  t.match(await client.argo.tieredCaching.edit({ zone_id, value: 'off' }), { id: 'tiered_caching', value: 'off' });
  await t.rejects(client.argo.tieredCaching.edit({ zone_id, value: 'on' }), /not part of this service/);
  const names = await call('PUT', `/zones/${zone_id}/custom_ns`, { enabled: false });
  t.ok(names.json.result.length > 0);
  t.equal((await call('PUT', `/zones/${zone_id}/custom_ns`, { enabled: true })).status, 400);
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', '/dev/null'];
  const about = ['-subj', '/CN=example.com', '-addext', 'subjectAltName=DNS:example.com,DNS:*.example.com'];
  const certificate = execFileSync('openssl', ['req', '-x509', ...key, ...about], { encoding: 'utf8', stdio: 'pipe' });
  const found = await client.ssl.analyze.create({ zone_id, certificate });
  t.match(found, { hosts: ['example.com', '*.example.com'], signature: 'ECDSA-SHA256', issuer: 'CN=example.com' });
  await t.rejects(client.ssl.analyze.create({ zone_id, certificate: 'garbage' }), /^400 /);
  for (const path of ['custom_ns', 'subscription', 'url_normalization', 'argo/tiered_caching']) {
    t.equal((await call('GET', `/zones/${'0'.repeat(32)}/${path}`)).status, 404, path);
  }
  t.strictSame(misfits, []);
});

/**
 * What `cloudflare_zone_settings_override` asks, as its source says (internal/sdkv2provider/resource_cloudflare_zone_settings_override.go of
 * cloudflare/terraform-provider-cloudflare): all settings and six alone, what differs, the same again; at the end, what it found first.
 */
t.test("Terraform's sequence for settings", async (t) => {
  const { call, zone_id } = await serve(t);
  const base = `/zones/${zone_id}/settings`;
  const alone = [
    'binary_ast',
    'h2_prioritization',
    'image_resizing',
    'early_hints',
    'origin_max_http_version',
    'fonts',
  ];
  const read = async (): Promise<Record<string, unknown>> => {
    const answers = [await call('GET', base)];
    for (const name of alone) answers.push(await call('GET', `${base}/${name}`));
    t.ok(answers.every(({ status }) => status === 200));
    return Object.fromEntries(answers.flatMap(({ json }) => json.result).map(({ id, value }) => [id, value]));
  };
  const initial = await read();
  t.match((await call('GET', `/zones/${zone_id}/ssl/universal/settings`)).json.result, { enabled: true });
  t.equal((await call('PATCH', `${base}/origin_max_http_version`, { value: '1' })).status, 200);
  const plan = {
    ...{ always_use_https: 'on', min_tls_version: '1.2', tls_1_3: 'zrt', browser_cache_ttl: 7200, brotli: 'off' },
    security_header: { strict_transport_security: { enabled: true, max_age: 86_400, include_subdomains: false } },
  };
  const items = (of: object) => Object.entries(of).map(([id, value]) => ({ id, value }));
  t.equal((await call('PATCH', base, { items: items(plan) })).status, 200);
  t.match(await read(), { ...plan, origin_max_http_version: '1' }, 'an empty plan');
  const changed = Object.fromEntries(Object.keys(plan).map((name) => [name, initial[name]]));
  await call('PATCH', `${base}/origin_max_http_version`, { value: initial['origin_max_http_version'] });
  t.equal((await call('PATCH', base, { items: items(changed) })).status, 200);
  t.strictSame(await read(), initial, 'as before');
});

t.test('several settings at once: each by itself known or not, and fixed ones true or not', async (t) => {
  const { call, client, zone_id, misfits } = await serve(t);
  const patch = (...items: readonly { id: string; value?: unknown }[]) =>
    call('PATCH', `/zones/${zone_id}/settings`, { items });
  const mixed = await patch(
    { id: 'ssl', value: 'strict' },
    { id: 'unheard_of', value: 1 },
    { id: 'mirage', value: 'off' },
  );
  t.match(mixed.json, {
    success: true,
    result: [
      { id: 'ssl', value: 'strict', editable: true },
      { id: 'mirage', value: 'off', editable: false },
    ],
    messages: [{ code: 1003, message: 'Undefined zone setting: unheard_of' }],
  });
  t.match(await client.zones.settings.get('ssl', { zone_id }), { value: 'strict' });
  t.match((await patch({ id: 'unheard_of', value: 1 })).json, { success: false, errors: [{ code: 1003 }] });
  // What a new zone has at the vendor, as clients that repeat all settings send it.
  const repeated = await patch(
    { id: 'security_level', value: 'medium' },
    { id: 'ssl', value: 'strict' },
    { id: 'challenge_ttl', value: 1800 },
    { id: 'browser_check', value: 'on' },
    { id: 'min_tls_version', value: '1.2' },
  );
  t.match(repeated.json, {
    success: true,
    result: [
      { id: 'security_level', value: 'off', editable: false },
      { id: 'ssl', value: 'strict' },
      { id: 'browser_check', value: 'off' },
      { id: 'min_tls_version', value: '1.2', editable: true },
    ],
    messages: [
      { code: 1015, message: /security_level: it is always off here/ },
      { code: 1003, message: 'Undefined zone setting: challenge_ttl' },
      { code: 1015, message: /browser_check/ },
    ],
  });
  for (const [id, value] of [
    ['security_level', 'under_attack'],
    ['waf', 'on'],
    ['tls_client_auth', 'on'],
  ] as const) {
    const refused = await patch({ id: 'ssl', value: 'full' }, { id, value });
    t.match(refused.json.errors[0], { code: 1015, source: { pointer: '/items/1/value' } }, 'a protection');
  }
  t.match((await patch({ id: 'mirage', value: 'on' })).json.errors[0], { code: 1015 }, 'nothing is left');
  const wrong = await patch({ id: 'unheard_of', value: 1 }, { id: 'ssl', value: 'loose' });
  t.match(wrong.json.errors[0], { source: { pointer: '/items/1/value' } });
  t.match(await client.zones.settings.get('ssl', { zone_id }), { value: 'strict' }, 'nothing is half done');
  t.match(await client.zones.settings.get('mirage', { zone_id }), { value: 'off', editable: false });
  await t.rejects(client.zones.settings.edit('mirage', { zone_id, value: 'on' }), /^400 /);
  t.match(await client.zones.settings.edit('mirage', { zone_id, value: 'off' }), { value: 'off' });
  await t.rejects(client.zones.settings.get('constructor', { zone_id }), /^400 /);
  const all = (await call('GET', `/zones/${zone_id}/settings`)).json.result;
  t.ok(all.some((setting: { id: string; editable: boolean }) => setting.id === 'polish' && !setting.editable));
  t.strictSame(misfits, []);
});
