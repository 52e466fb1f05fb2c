/** Values that nobody expects, what was typed and not kept, and a server that is away for a moment. */
import { request } from 'node:http';
import t, { type Test } from 'tap';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { until } from '../../support/until.js';

t.test('odd data', { skip: noBrowser, timeout: 600_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, enter, key, program } = dashboard;
  const [account] = await call('GET', '/accounts');
  const buckets = `/accounts/${account.id}/r2/buckets`;
  await call('POST', '/zones', { name: 'shop.example' });
  const [zone] = await call('GET', '/zones?name=shop.example');
  const records = `/zones/${zone.id}/dns_records`;

  /** Stores an object under a key in any form of a path, which neither fetch nor curl leave as it is. */
  function store(bucket: string, pathOfKey: string): Promise<number | undefined> {
    const { port } = new URL(program.api);
    const path = `/client/v4${buckets}/${bucket}/objects/${pathOfKey}`;
    return new Promise((resolve, reject) => {
      const sent = request({
        host: '127.0.0.1',
        port,
        method: 'PUT',
        path,
        headers: { authorization: `Bearer ${key}` },
      });
      sent.on('response', (response) => resolve(response.resume().statusCode));
      sent.on('error', reject);
      sent.end('content');
    });
  }

  await t.test('keys that look like a way up lead to their own objects', async (t) => {
    for (const name of ['odd', 'victim']) await call('POST', buckets, { name });
    for (const path of ['..%2F..%2Fvictim', '..', '%E2%80%AEgpj.exe', '%20lead', 'a%2F%2Fb']) {
      t.equal(await store('odd', path), 200, path);
    }
    const page = await enter('/buckets/odd?prefix=..%2F..%2F');
    const name = page.getByRole('link', { name: 'victim', exact: true });
    const [download] = await Promise.all([page.waitForEvent('download'), name.click()]);
    t.equal(download.suggestedFilename(), 'victim');
    await page.getByRole('button', { name: 'Delete ../../victim' }).click();
    await page.getByRole('button', { name: 'Really delete ../../victim' }).click();
    await page.getByText('Nothing begins with ../../').waitFor();
    const left = (await call('GET', buckets)).buckets.map((bucket: { readonly name: string }) => bucket.name);
    t.strictSame(left, ['odd', 'victim'], 'not the bucket that its key names');
    await page.getByRole('link', { name: 'All objects' }).click();
    await page.getByRole('link', { name: '\\u{202e}gpj.exe' }).waitFor();
    t.equal(await page.getByRole('link', { name: '(no name)' }).count(), 0, 'no prefix has no parts');
    await page.getByRole('link', { name: '\u2423lead' }).waitFor();
    await page.getByText('Browsers cannot ask for this key').waitFor();
    t.equal(
      await page.getByRole('button', { name: /^Delete \.\.$/ }).count(),
      0,
      'its request would be about the bucket',
    );
    await page.getByRole('link', { name: 'a/', exact: true }).click();
    await page.getByRole('link', { name: '/', exact: true }).click();
    await page.getByRole('link', { name: '(no name)' }).waitFor();
    await page.getByRole('link', { name: 'b', exact: true }).waitFor();
    await page.context().close();
  });

  await t.test('a bucket gets a public name, loses it, and is deleted when it is empty', async (t) => {
    const page = await enter('/buckets/victim');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.getByLabel('Name in one of your zones').fill('assets.nowhere.example');
    await page.getByRole('button', { name: 'Attach' }).click();
    await page.getByText('No zone that you may see contains the name assets.nowhere.example').waitFor();
    t.equal(asked.filter((path) => path === '/client/v4/zones').length, 1, 'one question for all zones above the name');
    await page.getByLabel('Name in one of your zones').fill(' Assets.Shop.Example. ');
    await page.getByRole('button', { name: 'Attach' }).click();
    await page.getByRole('link', { name: 'assets.shop.example' }).waitFor();
    const { domains } = await call('GET', `${buckets}/victim/domains/custom`);
    t.match(domains, [{ domain: 'assets.shop.example', zoneId: zone.id, enabled: true }]);
    await page.getByRole('button', { name: 'Detach assets.shop.example' }).click();
    await page.getByRole('button', { name: 'Really detach assets.shop.example' }).click();
    await page.getByText('No name of a zone shows this bucket').waitFor();
    await page.getByRole('button', { name: 'Delete the bucket victim' }).click();
    await page.getByRole('button', { name: 'Really delete the bucket victim' }).click();
    await page.getByRole('link', { name: 'odd' }).waitFor();
    t.equal(await page.getByRole('link', { name: 'victim' }).count(), 0);
    await page.context().close();
  });

  await t.test('a server that is away is not taken for an account without buckets', async (t) => {
    const page = await enter('/zones');
    await page.getByRole('link', { name: 'shop.example' }).waitFor();
    await page.route('**/client/v4/accounts?*', (route) => route.fulfill({ status: 429, body: 'away' }));
    await page.getByRole('link', { name: 'Buckets' }).click();
    await page.getByText('The server answered with status 429').waitFor();
    t.equal(await page.getByText('There is no account').count(), 0);
    await page.unroute('**/client/v4/accounts?*');
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('link', { name: 'odd' }).waitFor();
    await page
      .context()
      .close()
      .catch(() => t.fail('the page is gone'));
  });

  await t.test('what was typed into a form stays when another row, or another screen, is opened', async (t) => {
    for (const name of ['one', 'two']) await call('POST', records, { type: 'A', name, content: '192.0.2.1', ttl: 300 });
    const page = await enter('/zones/shop.example/records');
    const form = page.getByRole('form', { name: 'Edit one' });
    await page.getByRole('button', { name: 'Edit one.shop.example A' }).click();
    await form.getByLabel('IPv4 address').fill('192.0.2.77');
    // A click on any part of the other row opens it.
    await page
      .getByRole('row', { name: /^Select two/ })
      .getByText('192.0.2.1')
      .click();
    await page.getByRole('form', { name: 'Edit two' }).waitFor();
    await page.getByRole('row', { name: /one.*Typed, not kept/ }).waitFor();
    await page.getByRole('link', { name: 'History' }).click();
    await until(async () => (await page.title()) === 'History of shop.example – Zoneplane');
    await page.goBack();
    await until(async () => (await page.title()) === 'Records of shop.example – Zoneplane');
    await page.getByRole('button', { name: 'Edit one.shop.example A' }).click();
    t.equal(await form.getByLabel('IPv4 address').inputValue(), '192.0.2.77');
    await form.getByRole('button', { name: 'Keep the edit' }).click();
    await page.getByText('1 edit is not saved').waitFor();
    t.equal(await page.getByText('Typed, not kept').count(), 0);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    await page.context().close();
  });

  await t.test('what was looked at and kept as it is, is not an edit', async (t) => {
    const services = [
      { type: 'SRV', name: '_sip._tcp', data: { priority: 0, weight: 5, port: 5060, target: 'sip.example.com' } },
      { type: 'HTTPS', name: 'alias', data: { priority: 0, target: 'other.example.com', value: '' } },
    ];
    for (const service of services) await call('POST', records, { ...service, ttl: 300 });
    const page = await enter('/zones/shop.example/records');
    for (const { name, type } of services) {
      await page.getByRole('button', { name: `Edit ${name}.shop.example ${type}` }).click();
      const form = page.getByRole('form', { name: `Edit ${name}` });
      await form.getByRole('button', { name: 'Keep the edit' }).click();
      await form.waitFor({ state: 'detached' });
      t.equal(await page.getByText('Edited', { exact: true }).count(), 0, type);
    }
    await page.getByRole('button', { name: 'Edit alias.shop.example HTTPS' }).click();
    await page.getByLabel('Parameters').fill('alpn=h2');
    await page.getByLabel('Priority').fill('1');
    await page.getByRole('button', { name: 'Keep the edit' }).click();
    await page.getByText('1 edit is not saved').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Close' }).click();
    for (const { id } of await call('GET', `${records}?type=SRV`)) await call('DELETE', `${records}/${id}`);
    for (const { id } of await call('GET', `${records}?type=HTTPS`)) await call('DELETE', `${records}/${id}`);
    await page.context().close();
  });

  await t.test('names as people copy them', async (t) => {
    const page = await enter('/zones/shop.example/records');
    const form = page.getByRole('form', { name: 'New record' });
    await page.getByRole('button', { name: 'New record' }).click();
    await form.getByRole('combobox', { name: 'Type' }).selectOption('MX');
    await form.getByRole('button', { name: 'Add the record' }).click();
    await form.getByRole('alert').first().waitFor();
    await form.getByRole('combobox', { name: 'Type' }).selectOption('A');
    t.equal(await form.getByRole('alert').count(), 0, 'what was wrong with the other type is gone');
    await form.getByLabel('IPv4 address').fill('192.0.2.1');
    await form.getByLabel('Name', { exact: true }).fill('other.example.');
    await form.getByRole('button', { name: 'Add the record' }).click();
    await form.getByText('other.example. is not in this zone').waitFor();
    await form.getByLabel('Name', { exact: true }).fill(' WWW.Shop.Example. ');
    await form.getByRole('button', { name: 'Add the record' }).click();
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByText('www.shop.example. 300 IN A 192.0.2.1').waitFor();
    // The server is away when it is saved: what is said then goes when the edits could be checked again.
    await page.route('**/dns_records/batch*', (route) => route.fulfill({ status: 429, body: 'away' }));
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const refusal = page.getByText('The server answered with status 429');
    await refusal.waitFor();
    const again = page.getByRole('button', { name: 'Try again' });
    await again.waitFor();
    await page.unroute('**/dns_records/batch*');
    await again.click();
    await page.getByText('www.shop.example. 300 IN A 192.0.2.1').waitFor();
    t.equal(await refusal.count(), 0);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('served everywhere').waitFor();
    await page.getByLabel('Search records').fill('www.shop.example.');
    await page.getByText('1 record', { exact: true }).waitFor();
    await page.context().close();
  });

  await t.test('what is pasted loses what stands around it by accident; texts stay as they are', async (t) => {
    const page = await dashboard.open('/sign-in');
    await page.getByLabel('Key and e-mail').click();
    await page.getByLabel('Key', { exact: true }).fill(`\u00a0"${key}"\u200b`);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goto(`${program.api}/zones`);
    await page.getByRole('button', { name: 'New zone' }).click();
    await page.getByLabel('Name of the domain').fill('\ufeff“pasted.example.” ');
    await page.getByRole('button', { name: 'Create the zone' }).click();
    await page.waitForURL('**/zones/pasted.example/records');
    const form = page.getByRole('form', { name: 'New record' });
    const text = '"“quoted”\u200b"';
    for (const [type, name, label, value] of [
      ['A', '\u200bwww', 'IPv4 address', '"192.0.2.7"\u200b'],
      ['TXT', ' @ ', 'Text', text],
    ] as const) {
      await page.getByRole('button', { name: 'New record' }).click();
      await form.getByRole('combobox', { name: 'Type' }).selectOption(type);
      await form.getByLabel('Name', { exact: true }).fill(name);
      await form.getByLabel(label, { exact: true }).fill(value);
      await form.getByRole('button', { name: 'Add the record' }).click();
      await form.waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('served everywhere').waitFor();
    const [pasted] = await call('GET', '/zones?name=pasted.example');
    const made = await call('GET', `/zones/${pasted.id}/dns_records?order=type`);
    const contents = made.map((record: Readonly<Record<string, string>>) => [record['name'], record['content']]);
    t.strictSame(contents, [
      ['www.pasted.example', '192.0.2.7'],
      ['pasted.example', text],
    ]);
    await page.context().close();
  });

  await t.test('the longest name of a zone widens no screen', async (t) => {
    const name = `${'x'.repeat(63)}.${'y'.repeat(63)}.${'z'.repeat(63)}.${'w'.repeat(50)}.example`;
    const { id } = await call('POST', '/zones', { name });
    const page = await enter(`/zones/${id}/settings`);
    await page.getByRole('button', { name: 'Delete the zone' }).waitFor();
    await page.getByText('Other accounts may add').waitFor();
    for (const width of [1920, 640, 360]) {
      await page.setViewportSize({ width, height: 860 });
      t.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= width, `${width} pixels`);
    }
    await page.context().close();
    await call('DELETE', `/zones/${id}`);
  });

  await t.test('a token for one of more zones than a list shows, to the end of its last day', async (t) => {
    for (let i = 0; i < 60; i++) await call('POST', '/zones', { name: `z${i}.example` });
    const [last] = await call('GET', '/zones?name=z9.example');
    const page = await enter('/access');
    await page.getByRole('button', { name: 'New token' }).click();
    const make = page.getByRole('button', { name: 'Make the token' });
    await page.getByLabel('Name', { exact: true }).fill('one zone');
    await page.getByText('It may: nothing yet').click();
    await page.getByLabel('See zones').check();
    await page.getByLabel('In the zone').fill('z9.exampl');
    await page.getByText('You have no zone with this name').waitFor();
    t.equal(await make.isDisabled(), true);
    await page.getByLabel('In the zone').fill('z9.example');
    await page.getByText(`"com.cloudflare.api.account.zone.${last.id}": "*"`).waitFor();
    await page.getByLabel('Last day').fill('2036-11-24');
    const end = new Date('2036-11-24T23:59:59').toISOString().replace('.000Z', 'Z');
    await page.getByText(`"expires_on": "${end}"`).waitFor();
    await make.click();
    await page.getByText('It is not shown again').waitFor();
    await page.context().close();
  });
});
