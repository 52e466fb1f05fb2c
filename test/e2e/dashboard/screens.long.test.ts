/** Every screen of the dashboard in Chromium: drawn without complaints, accessible, in light and dark, wide and narrow. */
import t, { type Test } from 'tap';
import { parseName } from '../../../src/dns/name.js';
import { type Dashboard, noBrowser, startDashboard } from '../../support/browser.js';
import { makeQuery } from '../../support/message.js';
import { askAll } from '../../support/reference-servers.js';

interface Visit {
  /** Of its pictures. */
  readonly name: string;
  readonly path: string;
  /** A text that stands on it when it is drawn. */
  readonly shows: string;
}

/** One line for each screen. */
const VISITS: readonly Visit[] = [
  { name: 'zones', path: '/zones', shows: 'example.com' },
  { name: 'records', path: '/zones/example.com/records', shows: 'v=spf1' },
  { name: 'history', path: '/zones/example.com/history', shows: 'Records changed' },
  { name: 'explain', path: '/zones/example.com/explain?name=www.example.com&type=A', shows: 'NOERROR' },
  { name: 'overview', path: '/overview', shows: 'Busiest zones' },
  { name: 'live', path: '/live', shows: 'www.example.com' },
  { name: 'statistics', path: '/zones/example.com/statistics', shows: 'Networks of clients' },
  { name: 'dnssec', path: '/zones/signed.example/dnssec', shows: 'DS record for the parent' },
  { name: 'dnssec-off', path: '/zones/example.com/dnssec', shows: 'This zone is not signed' },
  { name: 'transfers', path: '/zones/signed.example/transfers', shows: 'Does not answer' },
  { name: 'transfers-none', path: '/zones/example.com/transfers', shows: 'No other server has this zone' },
  { name: 'hostnames', path: '/zones/example.com/hostnames', shows: 'shop.customer.example' },
  { name: 'alerts', path: '/alerts', shows: 'Records Changed' },
  { name: 'edge', path: '/zones/example.com/edge', shows: 'Development mode' },
  { name: 'rules', path: '/zones/example.com/rules', shows: 'The old shop' },
  { name: 'certificates', path: '/zones/example.com/certificates', shows: 'There are no certificates yet' },
  { name: 'settings', path: '/zones/example.com/settings', shows: 'Delete this zone' },
  { name: 'templates', path: '/templates', shows: 'Sites with mail' },
  { name: 'pools', path: '/pools', shows: 'web-2' },
  { name: 'balancers', path: '/zones/example.com/balancers', shows: 'lb.example.com' },
  { name: 'buckets', path: '/buckets', shows: 'assets' },
  { name: 'bucket', path: '/buckets/assets', shows: 'readme.txt' },
  { name: 'access', path: '/access', shows: 'certbot on web1' },
  { name: 'audit-log', path: '/access/log', shows: 'Zone created' },
  { name: 'bucket-missing', path: '/buckets/no-such-bucket', shows: 'There is no bucket no-such-bucket' },
  { name: 'accounts', path: '/access/accounts', shows: 'Records of one zone file' },
  { name: 'sessions', path: '/access/sessions', shows: 'This one' },
  { name: 'profile-of-key', path: '/profile', shows: 'This session works with a key or token' },
];

/** The data that the screens show. */
async function prepare({ call, program, key }: Dashboard): Promise<void> {
  const zone = await call('POST', '/zones', { name: 'example.com' });
  const records = [
    { type: 'A', name: '@', content: '192.0.2.10', ttl: 300 },
    { type: 'CNAME', name: 'www', content: 'example.com', ttl: 3600, comment: 'The shop' },
    { type: 'MX', name: '@', content: 'mail.example.net', priority: 10, ttl: 3600 },
    { type: 'TXT', name: '@', content: '"v=spf1 mx -all"', ttl: 3600, tags: ['team:mail', 'reviewed'] },
  ];
  await call('POST', `/zones/${zone.id}/dns_records/batch`, { posts: records });
  await prepareParts(call, zone.id);
  await prepareBalancing(call, zone.id);
  await prepareAlerts(call);
  await prepareTemplates(call);
  await prepareObjects(program.api, key, call);
  await prepareQuestions(program.dnsPort);
  for (const name of ['example.org', 'shop.example', 'xn--bcher-kva.example']) await call('POST', '/zones', { name });
}

async function prepareParts(call: Dashboard['call'], zone: string): Promise<void> {
  const signed = await call('POST', '/zones', { name: 'signed.example' });
  await call('PATCH', `/zones/${signed.id}/dnssec`, { status: 'active' });
  const [account] = await call('GET', '/accounts');
  const secondary = `/accounts/${account.id}/secondary_dns`;
  const tsig = { name: 'ns2.transfer.', algo: 'hmac-sha256.', secret: Buffer.alloc(32, 7).toString('base64') };
  const key = await call('POST', `${secondary}/tsigs`, tsig);
  const peer = await call('POST', `${secondary}/peers`, { name: 'ns2', ip: '127.0.0.1', port: 9, tsig_id: key.id });
  const outgoing = `/zones/${signed.id}/secondary_dns/outgoing`;
  await call('POST', outgoing, { name: 'signed.example', peers: [peer.id] });
  await call('POST', `${outgoing}/enable`, {});
  const target_url = { expression: 'concat("https://www.example.com", http.request.uri.path)' };
  const from_value = { status_code: 301, target_url, preserve_query_string: true };
  const old = {
    ...{ action: 'redirect', description: 'The old shop', expression: 'http.host eq "shop.example.com"' },
    action_parameters: { from_value },
  };
  await call('PUT', `/zones/${zone}/rulesets/phases/http_request_dynamic_redirect/entrypoint`, { rules: [old] });
  const ssl = { method: 'txt', type: 'dv' };
  await call('POST', `/zones/${zone}/custom_hostnames`, { hostname: 'shop.customer.example', ssl });
  const dnsRead = { id: '82e64a83756745bbbb1c9c2701bf816b' };
  const resources = { [`com.cloudflare.api.account.zone.${zone}`]: '*' };
  const policies = [{ effect: 'allow', permission_groups: [dnsRead], resources }];
  const condition = { request_ip: { in: ['192.0.2.0/24'] } };
  await call('POST', '/user/tokens', { name: 'certbot on web1', policies, condition });
}

async function prepareBalancing(call: Dashboard['call'], zone: string): Promise<void> {
  const [account] = await call('GET', '/accounts');
  const base = `/accounts/${account.id}/load_balancers`;
  const monitor = await call('POST', `${base}/monitors`, { type: 'tcp', port: 9, interval: 5, timeout: 1, retries: 0 });
  const pools: string[] = [];
  for (const name of ['web-1', 'web-2']) {
    const origins = [
      { name: 'near', address: '127.0.0.1' },
      { name: 'off', address: '192.0.2.2', enabled: false },
    ];
    pools.push((await call('POST', `${base}/pools`, { name, origins, monitor: monitor.id })).id);
  }
  const balancer = { name: 'lb.example.com', default_pools: pools, fallback_pool: pools[0] };
  await call('POST', `/zones/${zone}/load_balancers`, balancer);
}

async function prepareTemplates(call: Dashboard['call']): Promise<void> {
  const [account] = await call('GET', '/accounts');
  await call('POST', `/accounts/${account.id}/dns_templates`, {
    name: 'web',
    description: 'Sites with mail',
    variables: [{ name: 'ip', type: 'ipv4' }],
    records: [
      { type: 'A', name: 'site', content: '{ip}', ttl: 300 },
      { type: 'CNAME', name: 'shop', content: 'site.{zone}' },
    ],
  });
}

async function prepareAlerts(call: Dashboard['call']): Promise<void> {
  const [account] = await call('GET', '/accounts');
  const base = `/accounts/${account.id}/alerting/v3`;
  const hook = await call('POST', `${base}/destinations/webhooks`, { name: 'chat', url: 'http://127.0.0.1:9/dns' });
  await call('POST', `${base}/destinations/webhooks/${hook.id}/test`);
  const mechanisms = { webhooks: [{ id: hook.id }] };
  await call('POST', `${base}/policies`, {
    name: 'records',
    alert_type: 'zoneplane_record',
    enabled: true,
    mechanisms,
  });
}

async function prepareObjects(api: string, key: string, call: Dashboard['call']): Promise<void> {
  const [account] = await call('GET', '/accounts');
  const buckets = `/accounts/${account.id}/r2/buckets`;
  await call('POST', buckets, { name: 'assets' });
  for (const name of ['readme.txt', 'images/logo.svg', 'images/icons/a.svg']) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'text/plain' };
    const url = `${api}/client/v4${buckets}/assets/objects/${name}`;
    const answer = await fetch(url, { method: 'PUT', headers, body: 'content of '.repeat(name.length * 40) });
    if (!answer.ok) throw new Error(`${name} was not stored: ${await answer.text()}`);
  }
}

async function prepareQuestions(dnsPort: number): Promise<void> {
  const ask = (name: string, type: number): Buffer => makeQuery(parseName(name), type, { edns: 1232 });
  const questions = Array.from({ length: 120 }, (_, i) => ask(i % 3 === 0 ? 'example.com.' : 'www.example.com.', 1));
  const others = [ask('nothing-here.example.com.', 28), ask('elsewhere.example.', 1), ask('example.com.', 15)];
  await askAll(dnsPort, [...questions, ...others]);
}

t.test('the screens', { skip: noBrowser, timeout: 900_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  await prepare(dashboard);
  for (const { name, path, shows } of VISITS) {
    const page = await dashboard.enter(path);
    await page.getByText(shows).first().waitFor();
    await dashboard.inspect(page, name);
    await page.setViewportSize({ width: 360, height: 740 });
    const width = await page.evaluate('document.documentElement.scrollWidth');
    t.ok(Number(width) <= 360, `${name} fits into 360 pixels: ${width}`);
    await dashboard.inspect(page, `${name}-narrow`);
    await page.context().close();
  }
  await balance(t, dashboard);
  await applyTemplate(t, dashboard);
  await rule(t, dashboard);
});

/** A record becomes a load balancer; its pools are put in order, and an origin is drained. */
async function balance(t: Test, { enter, call }: Dashboard): Promise<void> {
  const [zone] = await call('GET', '/zones?name=example.com');
  const balancers = () => call('GET', `/zones/${zone.id}/load_balancers`);
  const page = await enter('/zones/example.com/balancers?name=shop&address=192.0.2.10');
  await page.getByRole('textbox', { name: /^Addresses One/ }).fill('192.0.2.10\n192.0.2.11');
  await page.getByRole('button', { name: 'Create the load balancer' }).click();
  await page.getByRole('heading', { name: 'shop.example.com' }).waitFor();
  const made = (await balancers()).find(({ name }: { name: string }) => name === 'shop.example.com');
  t.equal(made.fallback_pool, made.default_pools[0]);
  await page.getByRole('button', { name: 'Move web-2 up' }).click();
  await page.getByRole('button', { name: 'Move web-1 up' }).and(page.locator(':enabled')).waitFor();
  const ordered = (await balancers()).find(({ name }: { name: string }) => name === 'lb.example.com');
  t.equal(ordered.default_pools[1], ordered.fallback_pool, 'the first pool is the second one now');
  const shop = page.getByRole('region', { name: 'shop.example.com' });
  await shop.getByText('What does a client get?').click();
  await shop.getByRole('textbox', { name: 'Client address' }).fill('192.0.2.53');
  await shop.getByRole('button', { name: 'Ask' }).click();
  await shop.getByText(/^No pool is left: the fallback pool/).waitFor();
  await shop.getByRole('row', { name: /origin-1 192.0.2.10/ }).waitFor();
  await page.context().close();
  const pools = await enter('/pools');
  await pools.getByRole('button', { name: 'Drain near' }).first().click();
  await pools.getByRole('button', { name: 'Enable near' }).first().waitFor();
  await pools.context().close();
}

/** A template is previewed, applied and edited. */
async function applyTemplate(t: Test, { enter, call, inspect }: Dashboard): Promise<void> {
  const page = await enter('/templates');
  await page.getByRole('button', { name: 'Apply web' }).click();
  await page.getByRole('textbox', { name: /^Zones/ }).fill('shop.example');
  await page.getByRole('textbox', { name: /^ip/ }).fill('192.0.2.77');
  await page.getByRole('button', { name: 'Show what it would do' }).click();
  await page.getByText('site.shop.example  300  A  192.0.2.77').waitFor();
  await inspect(page, 'templates-preview');
  const [zone] = await call('GET', '/zones?name=shop.example');
  t.strictSame(await call('GET', `/zones/${zone.id}/dns_records`), [], 'a preview does nothing');
  await page.getByRole('button', { name: 'Apply it' }).click();
  await page.getByRole('heading', { name: 'shop.example: applied' }).waitFor();
  t.equal((await call('GET', `/zones/${zone.id}/dns_records`)).length, 2);
  await page.getByRole('button', { name: 'Edit web' }).click();
  const text = page.getByRole('textbox', { name: /^Template as YAML/ });
  await text.fill((await text.inputValue()).replace('Sites with mail', 'Sites alone'));
  await page.getByRole('button', { name: 'Save the template' }).click();
  await page.getByRole('cell', { name: 'Sites alone' }).waitFor();
  await page.context().close();
}

/** A redirect is tried, another one is made from a pattern and moved up, and a header field is set. */
async function rule(t: Test, { enter, call }: Dashboard): Promise<void> {
  const [zone] = await call('GET', '/zones?name=example.com');
  const page = await enter('/zones/example.com/rules');
  const attempt = async (url: string, said: RegExp): Promise<void> => {
    await page.getByRole('textbox', { name: 'URL to try' }).fill(url);
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByRole('status').filter({ hasText: said }).waitFor();
  };
  await attempt('https://shop.example.com/a?b', /301 to https:\/\/www\.example\.com\/a\?b/);
  await page.getByRole('button', { name: 'Add to redirects' }).click();
  await page.getByRole('textbox', { name: 'Name of the rule' }).fill('Files');
  await page.getByRole('textbox', { name: /^When/ }).fill('www.example.com/files/*');
  await page.getByRole('textbox', { name: /^To/ }).fill(`https://files.example.com/\${1}`);
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByRole('button', { name: 'Move Files up' }).click();
  await page.getByRole('button', { name: 'Move The old shop up' }).waitFor();
  await attempt('www.example.com/files/a.pdf', /301 to https:\/\/files\.example\.com\/a\.pdf/);
  await page.getByRole('button', { name: 'Add to response headers' }).click();
  await page.getByRole('textbox', { name: 'Name of the field' }).fill('X-Robots-Tag');
  await page.getByRole('textbox', { name: 'Value' }).fill('noindex');
  await page.getByRole('button', { name: 'Add the rule' }).click();
  await page.getByRole('button', { name: 'Edit Rule 1' }).click();
  await page.getByRole('textbox', { name: 'Name of the rule' }).fill('Robots');
  await page.getByRole('button', { name: 'Save the rule' }).click();
  await page.getByRole('rowheader', { name: 'Robots' }).waitFor();
  await page.context().close();
  const { rules } = await call('GET', `/zones/${zone.id}/rulesets/phases/http_request_dynamic_redirect/entrypoint`);
  t.strictSame(
    rules.map(({ description }: { description: string }) => description),
    ['Files', 'The old shop'],
  );
}
