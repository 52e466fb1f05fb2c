/** What the edge does for a zone, changed on its screen in Chromium, and seen by requests to the real edge. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { type Dashboard, noBrowser, startDashboard } from '../../support/browser.js';
import { freePort } from '../../support/free-ports.js';
import { until } from '../../support/until.js';

const HOST = 'www.shop.example';
const DAY = 86_400;

interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

interface World {
  readonly dashboard: Dashboard;
  /** Path of the zone. */
  readonly zone: string;
  readonly get: (path: string) => Promise<Answered>;
  /** The names in the certificate that a host gets; undefined: there is no connection. */
  readonly certifiedAs: (host: string) => Promise<string | undefined>;
  readonly originPort: number;
}

/** The program with its edge, a zone, and a web server that answers everything. */
async function setUp(t: Test): Promise<World> {
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const origin = createServer((_request, response) => void response.setHeader('cache-tag', 'all').end('hello'));
  origin.listen(0, '127.0.0.1');
  await once(origin, 'listening');
  t.teardown(() => {
    origin.closeAllConnections();
    origin.close();
  });
  const dashboard = await startDashboard(t, {
    ZONEPLANE_EDGE: 'on',
    ZONEPLANE_EDGE_HOST: '127.0.0.1',
    ZONEPLANE_EDGE_HTTP_PORT: String(httpPort),
    ZONEPLANE_EDGE_HTTPS_PORT: String(httpsPort),
    ZONEPLANE_EDGE_ALLOW_ORIGIN_CIDRS: '127.0.0.0/8',
    ZONEPLANE_EDGE_ADDRESSES: '203.0.113.80',
  });
  const { id } = await dashboard.call('POST', '/zones', { name: 'shop.example' });
  const get = (path: string): Promise<Answered> =>
    new Promise((resolve, reject) => {
      const sent = request({ host: '127.0.0.1', port: httpPort, path, headers: { host: HOST } }, (response) => {
        response.resume();
        response.on('error', reject);
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers }));
      });
      sent.on('error', reject);
      sent.end();
    });
  const certifiedAs: World['certifiedAs'] = (servername) =>
    new Promise((resolve) => {
      const socket = connect({ host: '127.0.0.1', port: httpsPort, servername, rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().subjectaltname);
        socket.destroy();
      });
      socket.on('error', () => resolve(undefined));
    });
  return { dashboard, zone: `/zones/${id}`, get, certifiedAs, originPort: (origin.address() as AddressInfo).port };
}

t.test('the edge of a zone', { skip: noBrowser, timeout: 900_000 }, async (t: Test) => {
  const world = await setUp(t);
  const { dashboard, zone, get, originPort } = world;
  const { call, enter } = dashboard;
  const value = async (name: string) => (await call('GET', `${zone}/settings/${name}`)).value;
  const result = async (path: string) => (await get(path)).headers['cf-cache-status'];
  const page: Page = await enter('/zones/shop.example/edge');

  await t.test('without a proxied record it says so, and what to do', async () => {
    const missing = page.getByRole('region', { name: 'What is missing' });
    await missing.getByText('No record is proxied').waitFor();
    await dashboard.inspect(page, 'edge-nothing-proxied');
    const settings = { origin_port: originPort };
    await call('POST', `${zone}/dns_records`, { type: 'A', name: 'origin', content: '127.0.0.1' });
    const www = { type: 'CNAME', name: 'www', content: 'origin.shop.example', proxied: true, settings };
    await call('POST', `${zone}/dns_records`, www);
    await missing.waitFor({ state: 'detached' });
    await call('PATCH', zone, { paused: true });
    await page.reload();
    await missing.getByRole('link', { name: 'Proxy again' }).waitFor();
    await call('PATCH', zone, { paused: false });
    await page.reload();
    await page.getByRole('region', { name: 'Cache' }).waitFor();
    await missing.waitFor({ state: 'detached' });
  });

  await t.test('a setting is saved at once, and has its effect', async (t) => {
    const reach = page.getByRole('combobox', { name: 'How the edge reaches your servers' });
    await reach.selectOption('flexible');
    await until(async () => (await value('ssl')) === 'flexible');
    await until(async () => (await get('/ready')).status === 200, 'the origin answers');
    const https = page.getByRole('switch', { name: 'Always use HTTPS' });
    const panel = page.getByRole('region', { name: 'Visitors and the edge' });
    await https.focus();
    await page.keyboard.press('Space');
    await panel.getByText('Saved', { exact: true }).waitFor();
    t.equal(await https.and(page.locator(':focus')).count(), 1, 'the focus stays');
    await until(async () => (await get('/ready')).status === 301, 'plain HTTP is redirected');
    const changes: string[] = [];
    page.on('response', (response) => {
      if (response.request().method() === 'PATCH') changes.push(response.url());
    });
    // Presses that come faster than answers: the last one counts.
    for (let press = 0; press < 3; press++) await page.keyboard.press('Space');
    await until(() => changes.length === 3);
    await panel.getByText('Saved', { exact: true }).waitFor();
    t.strictSame([await value('always_use_https'), await https.isChecked()], ['off', false]);
    await until(async () => (await get('/ready')).status === 200);
    await reach.selectOption('off');
    await panel.getByText('Has no effect at present: visitors are sent to plain HTTP').first().waitFor();
    await reach.selectOption('flexible');
    await panel.getByText('Has no effect at present').first().waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Show as curl' }).click();
    await page.getByText('{"value":"on"}').first().waitFor();
  });

  await t.test('a time is typed in its unit; what is refused stays, with the reason', async (t) => {
    await get('/kept.js');
    await until(async () => (await result('/kept.js')) === 'HIT');
    const cache = page.getByRole('region', { name: 'Cache' });
    const number = cache.getByLabel('How long browsers keep it, at least: number');
    const unit = cache.getByLabel('How long browsers keep it, at least: unit');
    await unit.selectOption({ label: 'days' });
    await number.fill('366');
    await number.press('Enter');
    await cache.getByRole('alert').waitFor();
    await cache.getByText('It is in whole seconds, from 0 to 365 days.').waitFor();
    t.strictSame([await number.inputValue(), await value('browser_cache_ttl')], ['366', 0]);
    await number.fill('2');
    await number.press('Enter');
    await cache.getByText('Saved', { exact: true }).waitFor();
    t.equal(await cache.getByRole('alert').count(), 0);
    t.equal(await value('browser_cache_ttl'), 2 * DAY);
    await until(async () => /max-age=172800/.test(String((await get('/kept.js')).headers['cache-control'])));
  });

  await t.test('HSTS is sent with what was chosen', async (t) => {
    await page.getByLabel('Send the header').click();
    const number = page.getByLabel('Remembered for: number');
    await until(async () => (await number.inputValue()) === '30');
    await page.getByLabel('Also for all names below').click();
    await number.fill('60');
    await number.press('Tab');
    const header = async () => (await value('security_header')).strict_transport_security;
    await until(async () => (await header()).max_age === 60 * DAY);
    t.match(await header(), { enabled: true, include_subdomains: true, preload: false });
    await page.getByLabel('Send the header').click();
    await until(async () => !(await header()).enabled);
  });

  await t.test('development mode leaves the cache out, and says when it ends', async (t) => {
    const mode = page.getByRole('switch', { name: 'Development mode' });
    await mode.click();
    await page.getByText(/^Ends /).waitFor();
    const ends = Date.parse(
      String(
        await page
          .getByText(/^Ends /)
          .locator('time')
          .getAttribute('datetime'),
      ),
    );
    t.ok(Math.abs(ends - Date.now() - 3 * 3_600_000) < 300_000);
    await until(async () => (await result('/kept.js')) === 'BYPASS');
    await dashboard.inspect(page, 'edge-development');
    await mode.click();
    await page.getByText(/^Ends /).waitFor({ state: 'detached' });
    await until(async () => (await result('/kept.js')) !== 'BYPASS');
  });

  await t.test('the cache forgets what is named, and nothing else', async (t) => {
    const panel = page.getByRole('region', { name: 'Purge' });
    const stored = async (path: string) => {
      await until(async () => (await result(path)) === 'HIT', `${path} is stored`);
    };
    const purge = async (kind: string, field: string, text: string) => {
      await panel.getByLabel('What to purge').selectOption(kind);
      await panel.getByLabel(field).fill(text);
      await panel.getByRole('button', { name: /^Purge (?!everything)/ }).click();
    };
    await stored('/a.js');
    await stored('/b/b.js');
    await purge('files', 'One address a line', `http://${HOST}/a.js\nhttp://elsewhere.example/`);
    await panel.getByText(/neither in the zone nor one of its custom hostnames/).waitFor();
    await panel.getByText('It is about line 2').waitFor();
    t.equal(await result('/a.js'), 'HIT');
    t.match(await panel.getByLabel('One address a line').inputValue(), 'elsewhere', 'what was typed is kept');
    await purge('files', 'One address a line', `http://${HOST}/a.js`);
    await panel.getByText('Purged: 1 address.').waitFor();
    await until(async () => (await result('/a.js')) !== 'HIT');
    t.equal(await result('/b/b.js'), 'HIT');
    const others = [
      ['hosts', 'One host a line', HOST, 'Purged: 1 host.'],
      ['prefixes', 'One directory a line', `${HOST}/b`, 'Purged: 1 directory.'],
      ['tags', 'One tag a line', 'all', 'Purged: 1 tag.'],
    ] as const;
    for (const [kind, field, text, said] of others) {
      await stored('/b/b.js');
      await purge(kind, field, text);
      await panel.getByText(said).waitFor();
      await until(async () => (await result('/b/b.js')) !== 'HIT', kind);
    }
    await stored('/a.js');
    await panel.getByRole('button', { name: 'Purge everything' }).click();
    await panel.getByRole('button', { name: 'Really purge everything' }).click();
    await panel.getByText('Purged: everything of this zone.').waitFor();
    await until(async () => (await result('/a.js')) !== 'HIT');
    // The commands were opened above.
    await page.getByText('{"purge_everything":true}').waitFor();
  });

  await t.test('who may not change it sees it, and who may only purge sees that', async (t) => {
    const resources = { [`com.cloudflare.api.account.zone.${zone.slice('/zones/'.length)}`]: '*' };
    const tokenFor = async (name: string, id: string): Promise<string> => {
      const policies = [{ effect: 'allow', permission_groups: [{ id }], resources }];
      return (await call('POST', '/user/tokens', { name, policies })).value;
    };
    const reader = await enter('/zones/shop.example/edge', {
      token: await tokenFor('reader', '517b21aee92c4d89936c976ba6e4be55'),
    });
    const servers = reader.getByRole('region', { name: 'The edge and your servers' });
    await servers.getByText('Always plain HTTP').waitFor();
    t.equal(await reader.locator('main :is(input, select, textarea)').count(), 0);
    t.equal(await reader.getByRole('region', { name: 'Purge' }).count(), 0);
    await reader.context().close();
    const purger = await enter('/zones/shop.example/edge', {
      token: await tokenFor('purger', 'e17beae8b8cb423a99b1730f21238bed'),
    });
    await purger.getByRole('button', { name: 'Purge everything' }).waitFor();
    t.equal(await purger.getByRole('region', { name: 'Cache' }).count(), 0);
    await purger.context().close();
    const other = await enter('/zones/shop.example/edge', {
      token: await tokenFor('other', '82e64a83756745bbbb1c9c2701bf816b'),
    });
    await other.getByText('No screen has this address').waitFor();
    t.equal(await other.getByRole('link', { name: 'Edge', exact: true }).count(), 0);
    await other.context().close();
  });
  await page.context().close();
  await certificates(t, world);
});

async function certificates(t: Test, { dashboard, zone, certifiedAs }: World): Promise<void> {
  const { call, enter } = dashboard;
  const page = await enter('/zones/shop.example/certificates');
  const panel = page.getByRole('region', { name: 'Order a certificate' });
  const order = async (...names: string[]): Promise<void> => {
    await panel.getByLabel('Names, one a line').fill(names.join('\n'));
    await panel.getByRole('button', { name: 'Order', exact: true }).click();
  };

  await t.test('a certificate is ordered, and the edge has it', async (t) => {
    const proxied = { type: 'A', name: 'a.b', content: '192.0.2.10', proxied: true };
    await call('POST', `${zone}/dns_records`, proxied);
    t.equal(await certifiedAs('a.b.shop.example'), undefined);
    await order('a.b.shop.example');
    await panel.getByText('hosts must contain the name of the zone, shop.example').waitFor();
    t.equal(await panel.getByLabel('Names, one a line').inputValue(), 'a.b.shop.example', 'what was typed is kept');
    await order('shop.example', 'a.b.shop.example');
    const made = page.getByRole('region', { name: 'shop.example, a.b.shop.example' });
    await made.getByText('Issued by').waitFor();
    await panel.getByText('This zone has 1 of at most 100').waitFor();
    await until(async () => /a\.b\.shop\.example/.test((await certifiedAs('a.b.shop.example')) ?? ''));
    await dashboard.inspect(page, 'certificate');
    await page.setViewportSize({ width: 360, height: 740 });
    t.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 360, 'what is opened fits, too');
    await page.setViewportSize({ width: 1280, height: 860 });
    await made.getByRole('button', { name: 'Delete' }).click();
    await made.getByRole('button', { name: 'Really delete' }).click();
    await made.waitFor({ state: 'detached' });
    await until(async () => (await certifiedAs('a.b.shop.example')) === undefined, 'the certificate is gone');
  });

  await t.test('a certificate that cannot be issued says who must act, and begins again', async () => {
    const caa = { type: 'CAA', name: 'held', data: { flags: 0, tag: 'issue', value: 'elsewhere.example' } };
    const { id } = await call('POST', `${zone}/dns_records`, caa);
    await order('shop.example', 'held.shop.example');
    const made = page.getByRole('region', { name: 'shop.example, held.shop.example' });
    await made.getByText('You must act:').waitFor();
    await page.getByText('Forbidden by CAA').waitFor();
    await dashboard.inspect(page, 'certificate-caa');
    await call('DELETE', `${zone}/dns_records/${id}`);
    await made.getByRole('button', { name: 'Begin again' }).click();
    await made.getByText('Issued by').waitFor();
    await made.getByLabel('Its names are proven by').selectOption('http');
    const [pack] = (await call('GET', `${zone}/ssl/certificate_packs?status=all`)).filter(
      ({ hosts }: { hosts: string[] }) => hosts.includes('held.shop.example'),
    );
    const method = async () => (await call('GET', `${zone}/ssl/certificate_packs/${pack.id}`)).validation_method;
    await until(async () => (await method()) === 'http');
  });

  await t.test('the automatic certificate is switched off and on', async () => {
    const automatic = page.getByRole('region', { name: 'Automatic certificate' });
    await until(async () => /\*\.shop\.example/.test((await certifiedAs('www.shop.example')) ?? ''));
    await automatic.getByRole('button', { name: 'Revoke it and switch it off' }).click();
    await automatic.getByRole('button', { name: 'Really revoke it and switch it off' }).click();
    await automatic.getByText('Off', { exact: true }).waitFor();
    await until(async () => (await certifiedAs('www.shop.example')) === undefined);
    await automatic.getByRole('button', { name: 'Switch it on' }).click();
    await automatic.getByLabel('Issued by').selectOption('ssl_com');
    const settings = async () => call('GET', `${zone}/ssl/universal/settings`);
    await until(async () => (await settings()).certificate_authority === 'ssl_com');
    await until(async () => /\*\.shop\.example/.test((await certifiedAs('www.shop.example')) ?? ''));
  });
  await page.context().close();
}
