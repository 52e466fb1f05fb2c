/** What people do on the screens, done in Chromium with the running program, and seen from outside afterwards. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseName } from '../../../src/dns/name.js';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { decodeMessage, makeQuery } from '../../support/message.js';
import { askAll } from '../../support/reference-servers.js';
import { until } from '../../support/until.js';

t.test('the main action of each screen', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, directory, enter, program } = dashboard;

  await t.test('an empty installation says what to do first', async (t) => {
    const page = await enter('/overview');
    await page.getByRole('link', { name: 'Create the first zone' }).waitFor();
    await page.getByText('Last changes').waitFor();
    await page.getByText('No warnings.', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Create the first zone' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name of the domain').waitFor();
    for (const [network, words, zone] of [
      ['192.0.2.0/24', 'Its reverse zone is', '2.0.192.in-addr.arpa'],
      ['2001:db8::/33', 'It has 8 zones of /36', '0.8.b.d.0.1.0.0.2.ip6.arpa'],
    ] as const) {
      await dialog.getByLabel('Name of the domain').fill(network);
      await dialog.getByRole('button', { name: 'Create the zone' }).click();
      await dialog.getByText(words).waitFor();
      await dialog.getByRole('button', { name: `Use ${zone}` }).click();
      t.equal(await dialog.getByLabel('Name of the domain').inputValue(), zone);
      await dialog.getByRole('alert').waitFor({ state: 'detached' });
    }
    t.strictSame(await call('GET', '/zones'), []);
    await page.keyboard.press('Escape');
    t.equal(page.url(), `${program.api}/zones`);
    await page.getByRole('button', { name: 'Create the first zone' }).click();
    await dialog.getByLabel('Name of the domain').fill('first.example');
    await dialog.getByRole('button', { name: 'Create the zone' }).click();
    await page.getByText(/your registrar, .* has these name servers for it: \S+, \S+$/).waitFor();
    await page.getByText('For now, these names do not exist for anybody else. Set --nameservers to names').waitFor();
    await page.getByRole('button', { name: 'Add the first record' }).click();
    const form = page.getByRole('form', { name: 'New record' });
    await form.getByRole('combobox', { name: 'Type' }).selectOption('DS');
    await form.getByLabel('Name', { exact: true }).fill('child');
    await form.getByLabel('Key tag').fill('12345');
    await form.getByLabel('Algorithm').fill('13');
    await form.getByLabel('Digest type').fill('2');
    await form.getByLabel('Digest', { exact: true }).fill('AB'.repeat(32));
    await form.getByRole('button', { name: 'Add the record' }).click();
    t.match(await form.getByRole('alert').textContent(), /NS/, 'a refusal that is about no field is shown, too');
    await form.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('link', { name: 'Settings' }).click();
    const file = page.getByRole('link', { name: 'Download the zone file' });
    const [download] = await Promise.all([page.waitForEvent('download'), file.click()]);
    t.equal(download.suggestedFilename(), 'first.example.zone');
    t.match(readFileSync(await download.path(), 'utf8'), /first\.example\..*\sSOA\s/);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.getByText('Busiest zones').waitFor();
    await page.getByRole('link', { name: 'Create the first zone' }).waitFor({ state: 'detached' });
    const [first] = await call('GET', '/zones');
    await call('DELETE', `/zones/${first.id}`);
    await page.goto(`${program.api}/zones/%`);
    await page.getByText('There is no zone %').waitFor();
    await page.goto(`${program.api}/%zz`);
    await page.getByText('There is nothing here').waitFor();
    await page.context().close();
  });

  const zone = await call('POST', '/zones', { name: 'example.com' });
  await call('POST', '/zones', { name: 'example.net' });

  await t.test('a zone is signed, and the DS record can be copied', async (t) => {
    const page = await enter('/zones/example.com/dnssec');
    await page.getByRole('button', { name: 'Sign this zone' }).click();
    await page.getByRole('heading', { name: 'Signed; the parent does not know it yet' }).waitFor();
    const shown = await page.getByText(/example\.com\. \d+ IN DS/).textContent();
    const { ds } = await call('GET', `/zones/${zone.id}/dnssec`);
    t.equal(shown, ds);
    await page.getByRole('button', { name: 'Copy the DS record' }).click();
    await page.getByRole('button', { name: 'Copy the DS record' }).getByText('Copied').waitFor();
    t.equal(await page.evaluate('navigator.clipboard.readText()'), ds);
    for (const denial of ['compact', 'nsec']) {
      await page.getByLabel('Absence is proven by').selectOption(denial);
      await until(async () => (await call('GET', `/zones/${zone.id}/dnssec/status`)).denial === denial);
    }
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'DNSSEC: the zone is served with signatures' }).waitFor();
    t.equal(await page.getByText(/Records changed|not all listed/).count(), 0);
    await dashboard.inspect(page, 'history-dnssec');
    await page.goBack();
    await page.getByRole('button', { name: 'Stop signing' }).dblclick();
    await page.getByRole('button', { name: 'Really stop signing' }).waitFor();
    t.equal((await call('GET', `/zones/${zone.id}/dnssec`)).status, 'pending', 'a double click is not an answer');
    await page.getByRole('button', { name: 'Really stop signing' }).click();
    await page.getByRole('button', { name: 'Sign this zone' }).waitFor();
    await page.context().close();
  });

  await t.test('a zone takes the DS records of zones below it', async (t) => {
    const parent = await call('POST', '/zones', { name: 'parent.example' });
    const child = await call('POST', '/zones', { name: 'child.parent.example' });
    const delegation = { type: 'NS', name: 'child', content: 'ns1.example.net' };
    await call('POST', `/zones/${parent.id}/dns_records`, delegation);
    for (const { id } of [parent, child]) await call('PATCH', `/zones/${id}/dnssec`, { status: 'active' });
    const takes = async () => (await call('GET', `/zones/${parent.id}/dnssec`)).dnssec_parental_agent;
    const page = await enter('/zones/child.parent.example/dnssec');
    const byItself = page.getByText('takes the DS record by itself: there is nothing for you to do');
    await page.getByText('add the DS record below to it, or let it take the DS record by itself').waitFor();
    t.equal(await byItself.count(), 0);
    await dashboard.inspect(page, 'dnssec-child');
    await page.getByRole('link', { name: 'Let parent.example take the DS record by itself' }).click();
    await page.getByRole('heading', { name: 'parent.example', exact: true }).waitFor();
    const panel = page.getByRole('region', { name: 'Zones below this one' });
    const choice = panel.getByLabel('Take the DS records of zones below it');
    await panel.getByText('Added by hand').waitFor();
    await page.getByRole('button', { name: 'Show as curl' }).click();
    await page.getByText('{"dnssec_parental_agent":true}').waitFor();
    await choice.click();
    await panel.getByText('Takes DS records', { exact: true }).waitFor();
    t.equal(await takes(), true);
    await dashboard.inspect(page, 'dnssec-parent');
    await page.goto(`${program.api}/zones/child.parent.example/dnssec`);
    await byItself.waitFor();
    await page.goBack();
    await choice.click();
    await panel.getByText('Added by hand').waitFor();
    t.equal(await takes(), false);
    await page.context().close();
  });

  await t.test('a secondary is added with a key by one request, and removed', async (t) => {
    const page = await enter('/zones/example.com/transfers');
    await page.getByRole('button', { name: 'Add a secondary' }).click();
    await page.getByLabel('Name').fill('ns2');
    await page.getByLabel('Address').fill('not an address');
    const account = zone.account.id;
    const writes: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET') writes.push(`${request.method()} ${new URL(request.url()).pathname}`);
    });
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('alert').waitFor();
    t.notMatch(await page.getByRole('alert').first().textContent(), /Request body/, 'the reason alone');
    t.equal(await page.getByLabel('Name').inputValue(), 'ns2', 'what was typed is kept');
    t.strictSame(await call('GET', `/accounts/${account}/secondary_dns/tsigs`), [], 'no key is left of it');
    await page.getByLabel('Address').fill('127.0.0.1');
    await page.getByLabel('Port').fill('9');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('127.0.0.1 port 9').waitFor();
    const peers = await call('GET', `/zones/${zone.id}/secondary_dns/status`);
    t.match(peers, [{ name: 'ns2', ip: '127.0.0.1', port: 9 }]);
    const added = `POST /client/v4/zones/${zone.id}/secondary_dns/secondaries`;
    t.strictSame(writes, [added, added]);
    await page.getByRole('rowheader', { name: 'ns2.transfer.' }).waitFor();
    await page.getByRole('button', { name: 'Add a secondary' }).click();
    await page.getByLabel('Name').fill('ns3');
    await page.getByLabel('Address').fill('127.0.0.2');
    await page.getByText('this one gets that of the others').waitFor();
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('127.0.0.2 port 53').waitFor();
    for (const name of ['ns2', 'ns3']) {
      await page.getByRole('button', { name: `Remove ${name}` }).click();
      await page.getByRole('button', { name: `Really remove ${name}` }).click();
      await page.getByRole('button', { name: `remove ${name}` }).waitFor({ state: 'detached' });
    }
    await page.getByText('No other server has this zone').waitFor();
    await page.getByRole('button', { name: 'Add a secondary' }).click();
    await page.getByRole('combobox', { name: 'Server' }).selectOption({ label: 'ns3 (127.0.0.2)' });
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByText('127.0.0.2 port 53').waitFor();
    await page.context().close();
  });

  await t.test('a zone is paused, held, and deleted once its name was typed', async (t) => {
    const { id } = await call('POST', '/zones', { name: 'going.example' });
    const page = await enter('/zones/going.example/settings');
    await page.getByRole('button', { name: 'Pause proxying' }).click();
    await page.getByRole('button', { name: 'Proxy again' }).waitFor();
    await page.locator('.zone-head').getByText('Paused').waitFor();
    t.equal((await call('GET', `/zones/${id}`)).paused, true);
    await page.getByRole('button', { name: 'Hold this name' }).click();
    await page.getByLabel('Also names below it').click();
    await until(async () => (await call('GET', `/zones/${id}/hold`)).include_subdomains);
    await page.getByRole('button', { name: 'End the hold' }).click();
    await page.getByText('Not held').waitFor();
    t.match(await call('GET', `/zones/${id}/hold`), { hold: false, hold_after: null });
    const remove = page.getByRole('button', { name: 'Delete the zone' });
    await page.getByLabel('Type going.example to delete it').fill('going');
    t.ok(await remove.isDisabled(), 'another name');
    await page.getByLabel('Type going.example to delete it').fill('going.example');
    await remove.click();
    await page.getByRole('link', { name: 'example.com' }).waitFor();
    t.equal(await page.getByRole('link', { name: 'going.example' }).count(), 0);
    t.strictSame(await call('GET', '/zones?name=going.example'), []);
    await page.context().close();
  });

  await t.test('an object is stored and fetched', async (t) => {
    const file = join(directory, 'größe & co.txt');
    writeFileSync(file, 'an object\n'.repeat(2000));
    const page = await enter('/buckets');
    await page.getByLabel('New bucket').fill('Not A Name');
    await page.getByRole('button', { name: 'Create the bucket' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('New bucket').fill('assets');
    await page.getByRole('button', { name: 'Create the bucket' }).click();
    await page.getByRole('link', { name: 'assets' }).click();
    await page.getByLabel('Drop files here').setInputFiles(file);
    await page.getByText('Stored', { exact: true }).first().waitFor();
    const link = page.getByRole('link', { name: 'größe & co.txt' });
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    t.equal(readFileSync(await download.path(), 'utf8'), readFileSync(file, 'utf8'));
    await page.getByRole('button', { name: 'Make an access key' }).click();
    await page.getByText('AWS_SECRET_ACCESS_KEY').waitFor();
    await page.getByRole('button', { name: 'Copy link to größe & co.txt' }).click();
    await page.getByText(/\/assets\/gr%C3%B6%C3%9Fe.*X-Amz-Signature=/).waitFor();
    const cors = page.getByRole('region', { name: 'Pages of other origins (CORS)' });
    await cors.getByLabel('Origins').fill('https://a.test/path');
    await cors.getByRole('button', { name: 'Allow the origin' }).click();
    await cors.getByRole('alert').waitFor();
    await cors.getByLabel('Origins').fill('https://a.test');
    await cors.getByRole('button', { name: 'Allow the origin' }).click();
    await cors.getByText('GET, HEAD').waitFor();
    const life = page.getByRole('region', { name: 'Lifecycle' });
    await life.getByLabel('Name of the rule').fill('old');
    await life.getByLabel('After days').fill('30');
    await life.getByRole('button', { name: 'Add the lifecycle rule' }).click();
    await life.getByText('deleted after 30 days').waitFor();
    const locks = page.getByRole('region', { name: 'Locks' });
    await locks.getByLabel('Name of the lock').fill('held');
    await locks.getByLabel('Days', { exact: true }).fill('1');
    await locks.getByRole('button', { name: 'Add the lock' }).click();
    await locks.getByText('all objects, for a day').waitFor();
    await page.getByRole('button', { name: 'Delete größe & co.txt' }).click();
    await page.getByRole('button', { name: 'Really delete größe & co.txt' }).click();
    await page.getByText('The object is locked').waitFor();
    await locks.getByRole('button', { name: 'Remove held' }).click();
    await locks.getByRole('button', { name: 'Really remove held' }).click();
    await locks.getByText('for a day').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Delete größe & co.txt' }).click();
    await page.getByRole('button', { name: 'Really delete größe & co.txt' }).click();
    await page.getByText('The bucket is empty').waitFor();
    await page.getByText('Not served').waitFor();
    await page.getByLabel('Serve this bucket as').fill('not a name');
    await page.getByRole('button', { name: 'Bind' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Serve this bucket as').fill('ASSETS');
    await page.getByRole('button', { name: 'Bind' }).click();
    await page.getByText('Served', { exact: true }).waitFor();
    await page.getByText('ASSETS', { exact: true }).waitFor();
    await page.context().close();
  });

  await t.test('a narrow token is made, works, and shows only its own', async (t) => {
    const page = await enter('/access');
    await page.getByRole('button', { name: 'New token' }).click();
    await page.getByLabel('Name', { exact: true }).fill('certbot');
    await page.getByText('DNS of one zone').click();
    await page.getByText('It may: See zones, Change records and DNSSEC').click();
    await page.getByLabel('Change records and DNSSEC').uncheck();
    await page.getByLabel('See records and DNSSEC').check();
    await page.getByLabel('In the zone').fill('example.com');
    await page.getByText(`"com.cloudflare.api.account.zone.${zone.id}": "*"`).waitFor();
    await dashboard.inspect(page, 'new-token');
    await page.getByRole('button', { name: 'Make the token' }).click();
    await page.getByText('It is not shown again').waitFor();
    const token = (await page.locator('.panel pre').first().textContent())!;
    const read = (path: string) =>
      fetch(`${program.api}/client/v4${path}`, { headers: { authorization: `Bearer ${token}` } });
    t.equal((await read(`/zones/${zone.id}/dns_records`)).status, 200);
    t.equal((await read('/accounts')).status, 200);
    const foreign = await call('GET', '/zones?name=example.net');
    t.equal((await read(`/zones/${foreign[0].id}/dns_records`)).status, 403);
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.getByRole('row', { name: /certbot/ }).waitFor();
    await page.context().close();
    const narrow = await enter('/zones/example.com/dnssec', { token });
    await narrow.getByText('This zone is not signed').or(narrow.getByText('Being switched off')).waitFor();
    t.equal(await narrow.getByRole('button', { name: 'Sign this zone' }).count(), 0, 'what it may not do is hidden');
    t.equal(await narrow.getByRole('link', { name: 'Buckets' }).count(), 0);
    await narrow.context().close();
  });

  await t.test('a custom hostname is added, and says who must act', async (t) => {
    const page = await enter('/zones/example.com/hostnames');
    await page.getByLabel('New hostname').fill('shop.customer.example');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('heading', { name: 'shop.customer.example' }).waitFor();
    await page
      .getByText(/Your customer must add a CNAME record from shop\.customer\.example to a proxied name of example\.com/)
      .first()
      .waitFor();
    await page.getByText('_cf-custom-hostname.shop.customer.example. TXT').waitFor();
    await page
      .getByText(/Checked again/)
      .first()
      .waitFor();
    await dashboard.inspect(page, 'hostname');
    await page.setViewportSize({ width: 360, height: 740 });
    t.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 360, 'what is opened fits, too');
    const tablesFit = `[...document.querySelectorAll('section.table')].every((frame) => frame.scrollWidth <= frame.clientWidth)`;
    t.ok(await page.evaluate(tablesFit), 'nor does a table scroll');
    t.ok(await page.getByRole('button', { name: 'Check now' }).isVisible());
    await page.setViewportSize({ width: 1280, height: 860 });
    await page
      .getByText(/^You must choose the fallback origin of example\.com/)
      .first()
      .waitFor();
    const records = `/zones/${zone.id}/dns_records`;
    await call('POST', records, { type: 'A', name: 'origin', content: '192.0.2.1', proxied: true });
    await page.getByLabel('Fallback origin').fill('elsewhere.example.com');
    await page.getByRole('button', { name: 'Set it' }).click();
    await page.getByText('This zone has no proxied A, AAAA or CNAME record of that name').waitFor();
    await page.getByRole('button', { name: 'Choose another one' }).click();
    await page.getByLabel('Fallback origin').fill('origin.example.com');
    await page.getByRole('button', { name: 'Set it' }).click();
    await page.getByRole('region', { name: 'Where the requests go' }).getByText('Works').waitFor();
    await page.getByText('shop.customer.example. CNAME origin.example.com.').waitFor();
    const customer = await call('POST', '/zones', { name: 'customer.example' });
    await call('POST', `/zones/${customer.id}/dns_records`, {
      type: 'CNAME',
      name: 'shop',
      content: 'origin.example.com',
    });
    const sent: unknown[] = [];
    page.on('request', (request) => request.method() === 'PATCH' && sent.push(request.postDataJSON()));
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByRole('row', { name: /^shop\.customer\.example Active/ }).waitFor();
    t.strictSame(sent, [{ ssl: { method: 'http', type: 'dv' } }], 'a certificate that was given up begins again, too');
    await page.context().close();
  });

  await t.test('questions appear as they come', async (t) => {
    const page = await enter('/live');
    await page.getByText('No questions yet').or(page.getByRole('table')).first().waitFor();
    const [answer] = await askAll(program.dnsPort, [makeQuery(parseName('just-asked.example.com.'), 1)]);
    t.equal(decodeMessage(answer!).rcode, 3);
    await page.getByRole('row', { name: /just-asked\.example\.com/ }).waitFor();
    await page.getByLabel('Only names that contain').fill('other');
    await page.getByText('No questions yet').waitFor();
    await askAll(program.dnsPort, [makeQuery(parseName('just-another.example.com.'), 1)]);
    await page.getByRole('row', { name: /just-another/ }).waitFor();
    await page.context().close();
  });
});
