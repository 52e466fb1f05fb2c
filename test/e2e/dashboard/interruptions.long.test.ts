/** What comes between: other tabs of the same browser, a slow or absent server, and credentials that may do little. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { noBrowser, startDashboard } from '../../support/browser.js';

const run = promisify(execFile);

t.test('interruptions', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, enter, inspect, key, program } = dashboard;
  const zone = await call('POST', '/zones', { name: 'shop.example' });

  /** The secret of a token that the command line makes. */
  async function makeToken(...options: readonly string[]): Promise<string> {
    const environment = { PATH: process.env['PATH'], ZONEPLANE_DATA_DIR: `${dashboard.directory}/data` };
    const command = [resolve('build/src/main.js'), 'key', 'create', 'made', '--json', ...options];
    return JSON.parse((await run(process.execPath, command, { env: environment })).stdout).secret;
  }

  await t.test('another tab signs in: as the same person with less, as somebody else, and as before', async (t) => {
    const page = await enter('/zones/shop.example/records');
    await page.getByRole('button', { name: 'New record' }).click();
    await page.getByLabel('Name', { exact: true }).fill('typed');
    const tab = await page.context().newPage();
    const signIn = async (secret: string): Promise<void> => {
      await tab.goto(`${program.api}/sign-in`);
      await tab.getByText('API token').click();
      await tab.getByLabel('Token', { exact: true }).fill(secret);
      await tab.keyboard.press('Enter');
      await tab.getByRole('heading', { name: 'Overview' }).waitFor();
    };
    const other = await makeToken('--email', 'second@shop.example');
    await signIn(other);
    await page.getByRole('heading', { name: 'Somebody else has signed in' }).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Go on as second@shop.example' }).waitFor();
    await inspect(page, 'somebody-else');
    await signIn(await makeToken('--zone', 'shop.example', '--read-only'));
    await page.getByRole('heading', { name: 'Somebody else has signed in' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'New record' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Buckets' }).waitFor({ state: 'detached' });
    await signIn(key);
    await page.getByRole('link', { name: 'Buckets' }).waitFor();
    t.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'typed', 'nothing that was typed is lost');
    await signIn(other);
    await page.getByRole('button', { name: 'Go on as second@shop.example' }).click();
    await page.getByText('There is no zone shop.example').waitFor();
    await page.context().close();
  });

  await t.test('a credential for one zone is offered nothing that it may not do', async (t) => {
    const page = await enter('/zones', { token: await makeToken('--zone', 'shop.example') });
    await page.getByRole('link', { name: 'shop.example' }).waitFor();
    t.equal(await page.getByRole('button', { name: 'New zone' }).count(), 0);
    t.equal(await page.getByRole('link', { name: 'Buckets' }).count(), 0);
    const refused: string[] = [];
    page.on('response', (response) => {
      if (response.status() === 403) refused.push(`${response.request().method()} ${response.url()}`);
    });
    /** Opens everything that a bar of links leads to. */
    const openAll = async (bar: string): Promise<void> => {
      const links = page.getByRole('navigation', { name: bar }).getByRole('link');
      await links.first().waitFor();
      for (const path of await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))) {
        await page.goto(program.api + path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator('main .loading').first().waitFor({ state: 'detached' });
      }
    };
    await openAll('Main');
    await page.goto(`${program.api}/access`);
    await page.getByRole('row', { name: 'made' }).first().waitFor();
    t.equal(await page.getByRole('link', { name: 'Tokens' }).count(), 0);
    t.equal(await page.getByRole('link', { name: 'Audit log' }).count(), 0);
    await openAll('Access');
    await page.goto(`${program.api}/zones/shop.example/records`);
    await openAll('Zone shop.example');
    t.strictSame(refused, []);
    await page.goto(`${program.api}/zones/shop.example/records`);
    await page.getByRole('button', { name: 'New record' }).waitFor();
    await page.context().close();
  });

  await t.test('a button whose request takes long says that it is at work, and is not pressed twice', async (t) => {
    const page = await enter('/zones/shop.example/settings');
    const writes: string[] = [];
    let release = (): void => {};
    await page.route('**/client/v4/zones/**', async (route) => {
      const method = route.request().method();
      if (method !== 'GET') {
        writes.push(method);
        await new Promise<void>((done) => (release = done));
      }
      await route.continue();
    });
    const working = page.getByRole('button', { name: 'Working…' });
    for (const [name, then] of [
      ['Pause proxying', 'Proxy again'],
      ['Hold this name', 'End the hold'],
    ] as const) {
      await page.getByRole('button', { name }).dblclick();
      await working.waitFor();
      t.ok(await working.isDisabled(), name);
      release();
      await page.getByRole('button', { name: then }).waitFor();
    }
    t.strictSame(writes, ['PATCH', 'POST']);
    const hostname = await call('POST', `/zones/${zone.id}/custom_hostnames`, { hostname: 'shop.customer.example' });
    await page.goto(`${program.api}/zones/shop.example/hostnames?show=${hostname.id}`);
    await page.getByRole('button', { name: 'Delete shop.customer.example' }).click();
    await page.getByRole('button', { name: 'Really delete shop.customer.example' }).click();
    await page.getByRole('button', { name: 'Working… shop.customer.example' }).waitFor();
    release();
    await page.getByText('There are no custom hostnames yet').waitFor();
    await page.context().close();
  });

  await t.test('what is typed stays while the server is away, also where a screen reads again by itself', async (t) => {
    const ssl = { method: 'http', type: 'dv' };
    const hostname = await call('POST', `/zones/${zone.id}/custom_hostnames`, {
      hostname: 'away.customer.example',
      ssl,
    });
    const page = await enter(`/zones/shop.example/hostnames?show=${hostname.id}`);
    await page.getByRole('button', { name: 'Bring a certificate' }).click();
    await page.getByLabel('Its private key').fill('typed');
    await page.getByLabel('Fallback origin').fill('typed.shop.example');
    // As the answer of a proxy whose server is away: a connection that is refused would be an error of the console.
    await page.route('**/client/v4/**', (route) => route.fulfill({ status: 429, body: 'away' }));
    await page.getByText('The server answered with status 429').first().waitFor();
    await page.locator('.opened').getByText('The server answered with status 429').waitFor();
    t.equal(await page.getByLabel('Its private key').inputValue(), 'typed');
    t.equal(await page.getByLabel('Fallback origin').inputValue(), 'typed.shop.example');
    await page.unroute('**/client/v4/**');
    await page.locator('.opened').getByRole('button', { name: 'Try again' }).click();
    await page.locator('.opened').getByRole('alert').waitFor({ state: 'detached' });
    await page.context().close();
  });
});
