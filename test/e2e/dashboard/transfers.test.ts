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

t.test('a zone is copied from another server', { skip, timeout: 300_000 }, async (t: Test) => {
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
  t.equal((await call('GET', `${account}/tsigs`)).length, 1, 'the key was not made twice');

  await page.getByRole('button', { name: 'Change the primaries' }).click();
  await page.getByLabel(/127\.0\.0\.1 port 9$/).uncheck();
  await page.getByLabel('Address of the primary').fill('127.0.0.1');
  await page.getByLabel('Port', { exact: true }).fill(String(port));
  await page.getByLabel('Key (TSIG)').selectOption({ label: 'k.test' });
  await copy.click();
  await page.getByRole('heading', { name: 'The copy is up to date' }).waitFor();
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
