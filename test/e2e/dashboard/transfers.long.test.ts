/** Zones that are copied from NSD, made and looked after in Chromium. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { freePort } from '../../support/free-ports.js';
import { endChild, launch, missingReferences, waitForAnswers } from '../../support/reference-servers.js';
import { until } from '../../support/until.js';

const SECRET = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
const missing = missingReferences();
const skip =
  noBrowser || (missing.length > 0 && process.env['CI'] !== 'true' && `not installed: ${missing.join(', ')}`);

/** NSD with example.org, for those that have the key k.test. Returns its port. */
async function startPrimary(t: Test, parent: string): Promise<number> {
  const directory = join(parent, 'nsd');
  mkdirSync(directory);
  const port = await freePort();
  writeFileSync(
    join(directory, 'zone'),
    '$ORIGIN example.org.\n$TTL 300\n@ SOA ns h 7 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n',
  );
  writeFileSync(
    join(directory, 'nsd.conf'),
    `server:\n ip-address: 127.0.0.1@${port}\n username: ""\n zonesdir: "${directory}"\n database: ""\n pidfile: "${directory}/pid"\n xfrdfile: "${directory}/xfrd"\n zonelistfile: "${directory}/list"\n xfrdir: "${directory}"\n logfile: "${directory}/log"\n server-count: 1\nremote-control:\n control-enable: no\nkey:\n name: k.test\n algorithm: hmac-sha256\n secret: "${SECRET}"\nzone:\n name: example.org\n zonefile: zone\n provide-xfr: 127.0.0.1 k.test\n`,
  );
  const log = join(directory, 'output');
  const nsd = launch('nsd', ['-d', '-c', join(directory, 'nsd.conf')], log);
  t.teardown(() => endChild(nsd));
  await waitForAnswers('nsd', port, log);
  return port;
}

t.test('a zone is copied from another server', { skip, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, enter, program } = dashboard;
  const port = await startPrimary(t, dashboard.directory);
  const page = await enter('/zones');
  await page.getByRole('button', { name: 'New zone' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name of the domain').fill('example.org');
  await dialog.getByLabel('Copy it from another server').check();
  await dialog.getByRole('button', { name: 'Create the zone' }).click();
  await page.getByRole('heading', { name: 'From which server does this zone come?' }).waitFor();
  const [zone] = await call('GET', '/zones?name=example.org');
  t.equal(zone.type, 'secondary');
  const account = `/accounts/${zone.account.id}/secondary_dns`;

  await page.getByLabel('Address of the primary').fill('not an address');
  await page.getByLabel('Key (TSIG)').selectOption('new');
  await page.getByLabel('Name of the key').fill('k.test');
  await page.getByLabel('Secret').fill('no base 64!');
  const copy = page.getByRole('button', { name: 'Copy the zone from there' });
  await copy.click();
  await page
    .getByRole('alert')
    .getByText(/base 64/i)
    .waitFor();
  await page.getByLabel('Secret').fill(SECRET);
  await copy.click();
  await page
    .getByRole('alert')
    .getByText(/address/i)
    .waitFor();
  t.equal((await call('GET', `${account}/tsigs`)).length, 1, 'the key is stored');
  await page.getByLabel('Address of the primary').fill('127.0.0.1');
  await page.getByLabel('Port', { exact: true }).fill('9');
  await dashboard.inspect(page, 'transfers-primary');
  await copy.click();
  await page.getByRole('heading', { name: 'Nothing was transferred yet' }).waitFor();
  await page.getByText('nothing listens at this address and port').first().waitFor();
  await page.getByText('Never transferred', { exact: true }).waitFor();
  t.equal((await call('GET', `${account}/tsigs`)).length, 1, 'the key was not made twice');

  await page.getByRole('button', { name: 'Change the primaries' }).click();
  await page.getByLabel(/127\.0\.0\.1 port 9$/).uncheck();
  await page.getByLabel('Address of the primary').fill('127.0.0.1');
  await page.getByLabel('Port', { exact: true }).fill(String(port));
  await page.getByLabel('Key (TSIG)').selectOption({ label: 'k.test' });
  await copy.click();
  await page.getByRole('heading', { name: 'The copy is up to date' }).waitFor();
  await page.getByText('Active', { exact: true }).waitFor();
  await page.getByText(`127.0.0.1 port ${port}`).waitFor();
  await dashboard.inspect(page, 'transfers-copied');
  const asked = page.waitForResponse((response) => response.url().endsWith('/force_axfr'));
  await page.getByRole('button', { name: 'Transfer it now' }).click();
  t.equal((await asked).status(), 200);
  const explained = await call('GET', `/zones/${zone.id}/dns_records/explain?name=www.example.org&type=A`);
  t.strictSame(explained.answer.answer, ['www.example.org. 300 IN A 192.0.2.2']);

  await page.goto(`${program.api}/zones/example.org/settings`);
  await page.getByText('The SOA of this zone comes from its primary').waitFor();
  t.equal(await page.getByLabel(/^Refresh/).count(), 0);
  await page.getByLabel('Names of this zone can be proxied here').check();
  await page.getByRole('button', { name: 'Save' }).click();
  await until(async () => (await call('GET', `/zones/${zone.id}/dns_settings`)).secondary_overrides);

  await page.goto(`${program.api}/zones/example.org/transfers`);
  await page.getByRole('button', { name: 'Make it a primary zone' }).click();
  await page.getByRole('button', { name: 'Really make it a primary zone' }).click();
  await page.getByRole('heading', { name: 'The copy is up to date' }).waitFor({ state: 'detached' });
  t.equal((await call('GET', `/zones/${zone.id}`)).type, 'full');
  await page.getByText('No other server has this zone').waitFor();
  await page.context().close();
});

t.test('the servers, keys, networks and catalogs of an account', { skip, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, enter, program } = dashboard;
  const zone = await call('POST', '/zones', { name: 'example.com' });
  const base = `/accounts/${zone.account.id}/secondary_dns`;
  const page = await enter('/servers');

  const keys = page.getByRole('region', { name: 'Keys (TSIG)' });
  await keys.getByRole('button', { name: 'New key' }).click();
  await keys.getByLabel('Name of the key').fill('fleet.example.org');
  await keys.getByLabel('Algorithm').selectOption('hmac-sha512');
  await keys.getByRole('button', { name: 'Save the key' }).click();
  await keys.getByRole('rowheader', { name: 'fleet.example.org' }).waitFor();
  const [key] = await call('GET', `${base}/tsigs`);
  t.equal(Buffer.from(key.secret, 'base64').length, 32, 'a secret was made');
  t.equal(await page.getByText(key.secret).count(), 0, 'it is hidden at first');
  await keys.getByRole('button', { name: 'Show the secret of fleet.example.org' }).click();
  await page.getByText(key.secret).waitFor();

  const networks = page.getByRole('region', { name: 'Networks' });
  await networks.getByLabel('Name of the network').fill('office');
  await networks.getByLabel('Network', { exact: true }).fill('192.0.2.0/33');
  await networks.getByRole('button', { name: 'Add the network' }).click();
  await networks.getByRole('alert').waitFor();
  t.equal(await networks.getByLabel('Name of the network').inputValue(), 'office', 'what was typed is kept');
  await networks.getByLabel('Network', { exact: true }).fill('192.0.2.0/28');
  await networks.getByRole('button', { name: 'Add the network' }).click();
  await networks.getByRole('rowheader', { name: 'office' }).waitFor();

  const peer = await call('POST', `${base}/peers`, { name: 'ns2', ip: '127.0.0.1', port: 9, tsig_id: key.id });
  await page.reload();
  const servers = page.getByRole('region', { name: 'Name servers' });
  await servers.getByText('127.0.0.1 port 9').waitFor();
  await dashboard.inspect(page, 'servers');
  await keys.getByRole('button', { name: 'Delete fleet.example.org' }).click();
  await keys.getByRole('button', { name: 'Really delete fleet.example.org' }).click();
  await keys.getByRole('alert').waitFor();
  t.equal((await call('GET', `${base}/tsigs`)).length, 1, 'a key that is in use stays');

  await page.getByRole('link', { name: 'Catalogs' }).click();
  const own = page.getByRole('region', { name: 'Catalogs of this server' });
  await own.getByRole('button', { name: 'New catalog' }).click();
  await own.getByLabel(/^ns2/).check();
  await own.getByRole('button', { name: 'Make the catalog' }).click();
  await own.getByRole('rowheader', { name: /^catalog\..*\.invalid$/ }).waitFor();
  await own.getByRole('button', { name: 'Members' }).click();
  await own.getByRole('rowheader', { name: 'example.com' }).waitFor();

  const others = page.getByRole('region', { name: 'Catalogs of other servers' });
  await others.getByRole('button', { name: 'Follow a catalog' }).click();
  await others.getByLabel('Name of the catalog zone').fill('catalog.example');
  await others.getByLabel(/^ns2/).check();
  await others.getByRole('button', { name: 'Follow it' }).click();
  await others.getByText('Not transferred yet').waitFor();
  await dashboard.inspect(page, 'catalogs');
  await others.getByRole('button', { name: 'Follow no longer catalog.example' }).click();
  await others.getByRole('button', { name: 'Really follow no longer catalog.example' }).click();
  await others.getByText('Not transferred yet').waitFor({ state: 'detached' });
  const [catalog] = await call('GET', `${base}/catalogs`);
  await own.getByRole('button', { name: `Delete ${catalog.name}` }).click();
  await own.getByRole('button', { name: `Really delete ${catalog.name}` }).click();
  await own.getByRole('rowheader', { name: catalog.name }).waitFor({ state: 'detached' });
  t.strictSame(await call('GET', `${base}/consumed_catalogs`), []);

  await page.goto(`${program.api}/servers`);
  await servers.getByRole('button', { name: 'Delete ns2' }).click();
  await servers.getByRole('button', { name: 'Really delete ns2' }).click();
  await servers.getByRole('alert').waitFor();
  t.equal((await call('GET', `${base}/peers`)).length, 1, 'the catalog had zones transferred to it, which goes on');
  await call('DELETE', `/zones/${zone.id}/secondary_dns/outgoing`);
  for (const [panel, name] of [
    [servers, 'ns2'],
    [keys, 'fleet.example.org'],
    [networks, 'office'],
  ] as const) {
    await panel.getByRole('button', { name: `Delete ${name}` }).click();
    await panel.getByRole('button', { name: `Really delete ${name}` }).click();
    await panel.getByRole('rowheader', { name }).waitFor({ state: 'detached' });
  }
  t.strictSame(await call('GET', `${base}/peers`), [], peer.name);

  const groups = await call('GET', '/user/tokens/permission_groups');
  const mayRead = groups.filter(({ name }: { name: string }) => ['DNS Read', 'Zone Read'].includes(name));
  const { value } = await call('POST', '/user/tokens', {
    name: 'reader of zones',
    policies: [
      { effect: 'allow', resources: { 'com.cloudflare.api.account.zone.*': '*' }, permission_groups: mayRead },
    ],
  });
  const narrow = await enter('/zones', { token: value });
  await narrow.getByRole('link', { name: 'example.com' }).waitFor();
  t.equal(
    await narrow.getByRole('link', { name: 'Servers' }).count(),
    0,
    'nobody is led to what the token may not see',
  );
});
