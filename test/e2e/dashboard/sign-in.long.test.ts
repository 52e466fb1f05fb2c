/** Signing in to the dashboard of the real program, and out. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { noBrowser, startDashboard } from '../../support/browser.js';

const run = promisify(execFile);

/** On a page of another site, from which the browser sends no cookie along. */
async function followLink(page: Page, to: string): Promise<void> {
  await page.goto(`data:text/html,<a href="${to}">There</a>`);
  await page.getByRole('link', { name: 'There' }).click();
}

t.test('signing in', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { program, key, email, call } = dashboard;
  await call('POST', '/zones', { name: 'example.com' });

  await t.test('with a key, to the address that was asked for; the cookie dies with the session', async (t) => {
    const page = await dashboard.open('/zones?search=example');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Key and e-mail').click();
    await dashboard.inspect(page, 'sign-in');
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Key', { exact: true }).fill('x'.repeat(40));
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Unknown X-Auth-Key or X-Auth-Email').waitFor();
    t.equal(await page.getByLabel('Key', { exact: true }).inputValue(), 'x'.repeat(40), 'what was typed is kept');
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'example.com' }).waitFor();
    t.equal(page.url(), `${program.api}/zones?search=example`);

    const [cookie] = await page.context().cookies();
    t.match(cookie, { httpOnly: true, sameSite: 'Strict', secure: false, path: '/' });
    const read = (): Promise<Response> =>
      fetch(`${program.api}/client/v4/zones`, { headers: { cookie: `${cookie!.name}=${cookie!.value}` } });
    t.equal((await read()).status, 200);
    await page.getByLabel(`Account of ${email}`).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    t.equal((await read()).status, 401, 'the cookie is dead');
    t.strictSame(await page.context().cookies(), []);
    await page.goto(`${program.api}/zones`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  await t.test('a visitor gets the form, also when the answer is faster than the first picture', async (t) => {
    const page = await dashboard.open('/sign-in');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    // As with a browser that is short of a processor: nothing is drawn for some time.
    await page.addInitScript(() => {
      Object.assign(globalThis, { requestAnimationFrame: () => 0 });
    });
    await followLink(page, `${program.api}/zones?search=example`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor({ timeout: 60_000 });
    t.equal(page.url(), `${program.api}/sign-in?to=${encodeURIComponent('/zones?search=example')}`);
    await page.context().close();
  });

  await t.test('a visitor without a session causes no request that is refused', async (t) => {
    const page = await dashboard.open('/sign-in');
    const said: string[] = [];
    const asked: string[] = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    for (const path of ['/', '/zones/example.com/records?type=A', '/overview']) {
      await page.goto(program.api + path);
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      t.equal(page.url(), `${program.api}/sign-in${path === '/' ? '' : `?to=${encodeURIComponent(path)}`}`);
    }
    t.strictSame(said, []);
    t.strictSame(
      asked.filter((path) => path.startsWith('/client/') && path !== '/client/v4/user/sign_in'),
      [],
    );
    await page.context().close();
  });

  await t.test('who follows a link on another site is still signed in', async () => {
    const page = await dashboard.enter('/zones');
    await page.getByRole('link', { name: 'example.com' }).waitFor();
    await followLink(page, `${program.api}/overview`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.context().close();
  });

  await t.test('with a link, once', async (t) => {
    const environment = { PATH: process.env['PATH'], ZONEPLANE_DATA_DIR: `${dashboard.directory}/data` };
    const main = resolve('build/src/main.js');
    const link = async (...options: readonly string[]): Promise<string> =>
      (await run(process.execPath, [main, 'dashboard', 'link', ...options], { env: environment })).stdout.trim();
    t.match(await link('--url', 'https://dns.example.org/'), /^https:\/\/dns\.example\.org\/sign-in#link=/);
    // The server has another port than its settings say here: it was a variable of its own environment.
    const printed = await link();
    t.ok(printed.startsWith(`${program.api}/`), printed);
    const path = printed.slice(program.api.length);
    t.match(path, /^\/sign-in#link=[\w-]{40}$/);
    const page = await dashboard.open(path);
    await page.getByRole('button', { name: 'Go on with keys' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    t.equal(page.url(), `${program.api}/overview`);
    const second = await dashboard.open(path);
    await second.getByText('This sign-in link was used already').waitFor();
    t.notMatch(second.url(), /link=/, 'the secret does not stay in the address');
    // Into the address of the page that asks for the key: the browser loads nothing anew. Or into its field.
    await second.goto(await link());
    await second.getByRole('heading', { name: 'Choose a password' }).waitFor();
    const third = await dashboard.open('/sign-in');
    await third
      .getByLabel('Password', { exact: true })
      .nth(1)
      .fill(await link());
    await third.getByLabel('E-mail address').fill(email);
    await third.getByLabel('Password', { exact: true }).nth(1).focus();
    await third.keyboard.press('Enter');
    await third.getByRole('heading', { name: 'Choose a password' }).waitFor();
  });

  await t.test('what was typed stays when the session ends meanwhile', async (t) => {
    const [zone] = await call('GET', '/zones?name=example.com');
    await call('POST', `/zones/${zone.id}/dns_records`, { type: 'A', name: 'www', content: '192.0.2.1' });
    const page = await dashboard.enter('/zones/example.com/records');
    await page.getByRole('button', { name: 'www', exact: true }).click();
    await page.getByLabel('IPv4 address').fill('192.0.2.2');
    for (const { id } of await call('GET', '/user/sessions')) await call('DELETE', `/user/sessions/${id}`);
    await page.getByRole('button', { name: 'Keep the edit' }).click();
    await page.getByText('Your session has ended').waitFor();
    await dashboard.inspect(page, 'session-ended');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Escape');
    await page.getByLabel('Key and e-mail').click();
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.keyboard.press('Enter');
    await page.getByText('Your session has ended').waitFor({ state: 'detached' });
    t.equal(await page.getByLabel('IPv4 address').inputValue(), '192.0.2.2');
    await page.getByRole('button', { name: 'Keep the edit' }).click();
    await page.getByText('1 edit is not saved').waitFor();
    await page.context().close();
  });

  await t.test('a session that was ended elsewhere leads to the sign-in page', async () => {
    const page = await dashboard.enter('/zones');
    await page.getByRole('link', { name: 'example.com' }).waitFor();
    for (const { id } of await call('GET', '/user/sessions')) await call('DELETE', `/user/sessions/${id}`);
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('link').click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});
