/**
 * A team of three is set up in the browser as a new user would: an administrator with a password, an editor of two zones with a passkey,
 * and one who reads and comes in through a real identity provider. Each sees what they may, and nothing else is offered.
 */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import Provider from 'oidc-provider';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { freePort } from '../../support/free-ports.js';
import { addAuthenticator } from '../../support/virtual-authenticator.js';

const run = promisify(execFile);
const PASSWORD = 'an engine that weaves';
const SECRET = 'a secret of ours';

/** The npm package oidc-provider, which knows everybody by the name they type. `redirect`: known when it is first asked. */
async function startProvider(t: Test, redirect: () => string): Promise<string> {
  let handle: ReturnType<Provider['callback']> | undefined;
  const server = createServer((request, response) => {
    handle ??= new Provider(issuer, {
      clients: [{ client_id: 'zoneplane', client_secret: SECRET, redirect_uris: [redirect()] }],
      pkce: { required: () => true },
      claims: { email: ['email', 'email_verified'] },
      findAccount: async (_, sub) => ({
        accountId: sub,
        claims: async () => ({ sub, email: `${sub}@example.com`, email_verified: true }),
      }),
    }).callback();
    void handle(request, response);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  t.teardown(() => new Promise<void>((done) => server.close(() => done()).closeAllConnections()));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}

t.test('a team', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const port = await freePort();
  const site = `http://localhost:${port}`;
  const dashboard = await startDashboard(t, { ZONEPLANE_ADMIN_PORT: String(port), ZONEPLANE_PUBLIC_URL: site });
  const { directory, email, inspect, call, open } = dashboard;
  const zones: string[] = [];
  for (const name of ['blog.test', 'shop.test', 'vault.test']) {
    zones.push((await call('POST', '/zones', { name })).id);
  }
  const env = { PATH: process.env['PATH'], ZONEPLANE_DATA_DIR: `${directory}/data` };
  const link = (
    await run(process.execPath, [resolve('build/src/main.js'), 'dashboard', 'link'], { env })
  ).stdout.trim();
  const admin = await open('/sign-in');
  await admin.goto(link.replace('127.0.0.1', 'localhost'));
  await admin.getByLabel('New password').fill(PASSWORD);
  await admin.getByLabel('The same again').fill(PASSWORD);
  await admin.getByRole('button', { name: 'Set the password' }).click();
  await admin.getByRole('heading', { name: 'Overview' }).waitFor();

  /** Returns the link to hand on. */
  const invite = async (to: string, choose: () => Promise<void>): Promise<string> => {
    await admin.goto(`${site}/access/members`);
    await admin.getByRole('button', { name: 'Invite a member' }).click();
    await admin.getByLabel('E-mail address').fill(to);
    await choose();
    await admin.getByRole('button', { name: 'Invite', exact: true }).click();
    await admin.getByRole('heading', { name: `${to} is invited` }).waitFor();
    return (await admin.locator('.copyable pre').first().textContent())!;
  };
  const nobodySees = async (page: Page, ...names: readonly string[]): Promise<void> => {
    for (const name of names) await page.getByRole('link', { name, exact: true }).waitFor({ state: 'detached' });
  };
  const join = async (page: Page): Promise<void> => {
    await page.getByRole('link', { name: 'Answer the invitation' }).click();
    await page.getByRole('button', { name: /^Join / }).click();
    await page.getByRole('link', { name: 'Answer the invitation' }).waitFor({ state: 'detached' });
  };
  const refused = async (page: Page, method: string, path: string, body: object): Promise<number> =>
    page.evaluate(
      async ({ method, path, text }) => {
        const headers = { 'zoneplane-dashboard': '1', 'content-type': 'application/json' };
        return (await fetch(`/client/v4${path}`, { method, headers, body: text })).status;
      },
      { method, path, text: JSON.stringify(body) },
    );

  await t.test('the editor of two zones, who has a passkey', async (t) => {
    const code = await invite('grace@example.com', async () => {
      await admin.getByLabel('In certain zones', { exact: true }).click();
      await admin.getByLabel('Domain DNS').check();
      await admin.getByLabel('blog.test').check();
      await admin.getByLabel('shop.test').check();
      await inspect(admin, 'invite-member');
      await admin.getByRole('button', { name: 'Add the policy' }).click();
      await admin.getByText('Domain DNS in blog.test, shop.test').waitFor();
    });
    await inspect(admin, 'members');
    const grace = await open('/sign-in');
    await addAuthenticator(grace);
    await grace.goto(code);
    await grace.getByLabel('New password').fill(PASSWORD);
    await grace.getByLabel('The same again').fill(PASSWORD);
    await grace.getByRole('button', { name: 'Set the password' }).click();
    await grace.getByLabel('E-mail address').fill('grace@example.com');
    await grace.getByLabel('Password', { exact: true }).nth(1).fill(PASSWORD);
    await grace.keyboard.press('Enter');
    await join(grace);
    await grace.getByLabel('Name of the new passkey').fill('This browser');
    await grace.getByRole('button', { name: 'Add a passkey' }).click();
    await grace.getByRole('cell', { name: 'never' }).waitFor();
    await grace.getByLabel('Account of grace@example.com').click();
    await grace.getByRole('button', { name: 'Sign out' }).click();
    // The device takes what the field offers at once.
    await grace.getByRole('heading', { name: 'Overview' }).waitFor();
    await grace.goto(`${site}/zones`);
    await grace.getByRole('link', { name: 'shop.test' }).waitFor();
    await nobodySees(grace, 'vault.test', 'Servers', 'Buckets', 'Pools');
    t.equal(await grace.getByRole('button', { name: 'Add a zone' }).count(), 0);
    await grace.goto(`${site}/access`);
    await grace.getByRole('link', { name: 'Sessions' }).waitFor();
    await nobodySees(grace, 'Members', 'Groups', 'Roles', 'Single sign-on', 'Audit log');
    const record = { type: 'A', name: 'www', content: '192.0.2.1' };
    const statuses: number[] = [];
    for (const zone of zones) statuses.push(await refused(grace, 'POST', `/zones/${zone}/dns_records`, record));
    t.strictSame(statuses, [200, 200, 404]);
    t.equal(await refused(grace, 'DELETE', `/zones/${zones[0]}`, {}), 403);
  });

  let callback = '';
  const issuer = await startProvider(t, () => callback);
  await t.test('a provider is added, tested, and brings the one who reads', async (t) => {
    await admin.goto(`${site}/access/sso`);
    await admin.getByRole('button', { name: 'Add a provider' }).first().click();
    await admin.getByLabel('Name on the button').fill('Example Ltd');
    await admin.getByLabel('Issuer').fill(issuer);
    await admin.getByLabel('Client identifier').fill('zoneplane');
    await admin.getByLabel('Client secret').fill(SECRET);
    await inspect(admin, 'new-provider');
    await admin.getByRole('button', { name: 'Save the provider' }).click();
    callback = (await admin.locator('.copyable pre').first().textContent())!;
    await admin.getByRole('button', { name: 'Test Example Ltd' }).click();
    await admin.getByRole('heading', { name: 'Example Ltd answers' }).waitFor();
    await inspect(admin, 'providers');
    await invite('rita@example.com', () => admin.getByLabel('Administrator Read Only').check());
    const rita = await open('/sign-in');
    // The pages of the provider want fonts of the Internet.
    await rita.route(/^https:/, (route) => route.fulfill({ contentType: 'text/css', body: '' }));
    await rita.goto(`${site}/sign-in`);
    await rita
      .getByRole('link', { name: /Example Ltd/ })
      .or(rita.getByRole('button', { name: /Example Ltd/ }))
      .click();
    await rita.locator('input[name="login"]').fill('rita');
    await rita.locator('input[name="password"]').fill('any');
    await rita.getByRole('button', { name: 'Sign-in' }).click();
    await rita.getByRole('button', { name: 'Continue' }).click();
    await join(rita);
    await rita.goto(`${site}/zones`);
    for (const name of ['blog.test', 'shop.test', 'vault.test']) {
      await rita.getByRole('link', { name }).waitFor();
    }
    t.equal(await rita.getByRole('button', { name: 'Add a zone' }).count(), 0);
    await rita.goto(`${site}/access/members`);
    await rita.getByRole('rowheader', { name: 'grace@example.com' }).waitFor();
    t.equal(await rita.getByRole('button', { name: 'Invite a member' }).count(), 0);
    t.equal(await rita.getByRole('button', { name: /^(Remove|Change)/ }).count(), 0);
    await nobodySees(rita, 'Single sign-on');
    await rita.goto(`${site}/access/log?action=member.accept`);
    await rita.getByRole('link', { name: 'CSV' }).waitFor();
    const downloading = rita.waitForEvent('download');
    await rita.getByRole('link', { name: 'CSV' }).click();
    t.equal((await downloading).suggestedFilename(), 'audit-log.csv');
    await inspect(rita, 'audit-log-filtered');
    t.equal(
      await refused(rita, 'POST', `/zones/${zones[0]}/dns_records`, { type: 'A', name: 'x', content: '192.0.2.1' }),
      403,
    );
  });

  await t.test('the administrator changes a role, makes a group, and removes a member', async (t) => {
    await admin.goto(`${site}/access/members`);
    await admin.getByRole('button', { name: 'Change what rita@example.com may do' }).click();
    await admin.getByLabel('Administrator Read Only').uncheck();
    await admin.getByLabel('Audit Logs Viewer').check();
    await inspect(admin, 'change-member');
    await admin.getByRole('button', { name: 'Save', exact: true }).click();
    await admin.getByRole('cell', { name: 'Audit Logs Viewer' }).waitFor();
    await admin.goto(`${site}/access/groups`);
    await admin.getByRole('button', { name: 'New group' }).click();
    await admin.getByLabel('Name of the group').fill('Readers');
    await admin.getByLabel('Domain Administrator Read Only').check();
    await admin.getByLabel('Where').selectOption({ label: 'In groups of zones' });
    await admin.getByLabel('blog.test, shop.test').check();
    await admin.getByRole('button', { name: 'Add the policy' }).click();
    await admin.getByRole('button', { name: 'Save the group' }).click();
    await admin.getByRole('button', { name: 'Members of Readers' }).click();
    await admin.getByRole('combobox').last().selectOption('rita@example.com');
    await admin.getByRole('button', { name: 'Add to the group' }).click();
    await admin.getByRole('rowheader', { name: 'rita@example.com' }).first().waitFor();
    await inspect(admin, 'group-members');
    await admin.getByRole('button', { name: 'Close' }).click();
    await admin.goto(`${site}/access/roles`);
    await admin.getByRole('cell', { name: 'blog.test, shop.test', exact: true }).waitFor();
    await inspect(admin, 'roles');
    const rita = (await call('GET', `/accounts/${(await call('GET', '/accounts'))[0].id}/members`)).find(
      (member: { email: string }) => member.email === 'rita@example.com',
    );
    t.strictSame(
      rita.roles.map(({ name }: { name: string }) => name),
      ['Audit Logs Viewer'],
    );
    await admin.goto(`${site}/access/members`);
    await admin.getByRole('button', { name: 'Remove rita@example.com' }).click();
    await admin.getByRole('button', { name: 'Really remove rita@example.com' }).click();
    await admin.getByRole('rowheader', { name: 'rita@example.com' }).waitFor({ state: 'detached' });
    await admin.getByRole('button', { name: `Remove ${email}` }).click();
    await admin.getByRole('button', { name: `Really remove ${email}` }).click();
    await admin.getByText('The account needs a super administrator.').waitFor();
  });
});
