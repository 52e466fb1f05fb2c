/** People in the dashboard of the real program: the first password, a second factor, a passkey of the browser, confirmations. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { Secret, TOTP } from 'otpauth';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { type Dashboard, noBrowser, startDashboard } from '../../support/browser.js';
import { addAuthenticator, leaveSuggestions } from '../../support/virtual-authenticator.js';

const run = promisify(execFile);
const PASSWORD = 'an engine that weaves';

/** What a command prints. */
async function zoneplane({ directory }: Dashboard, ...words: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], ZONEPLANE_DATA_DIR: `${directory}/data` };
  return (await run(process.execPath, [resolve('build/src/main.js'), ...words], { env })).stdout.trim();
}

async function signOut(page: Page, email: string): Promise<void> {
  await page.getByLabel(`Account of ${email}`).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
}

t.test('people', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { program, email, inspect } = dashboard;
  // Browsers have passkeys at this name, and not at 127.0.0.1.
  const api = program.api.replace('127.0.0.1', 'localhost');
  const link = await zoneplane(dashboard, 'dashboard', 'link');
  const page = await dashboard.open('/sign-in');
  await addAuthenticator(page);
  await page.goto(link.replace('127.0.0.1', 'localhost'));

  await t.test('the first link leads to a password, which nobody must choose', async (t) => {
    await page.getByRole('heading', { name: 'Choose a password' }).waitFor();
    await inspect(page, 'first-password');
    await page.getByLabel('New password').fill('password123');
    await page.getByLabel('The same again').fill('password123');
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByText('among the most common ones').waitFor();
    await page.getByLabel('New password').fill(PASSWORD);
    await page.getByLabel('The same again').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set the password' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const keys = await dashboard.open('/sign-in');
    await keys.goto(await zoneplane(dashboard, 'dashboard', 'link'));
    await keys.getByRole('heading', { name: 'Overview' }).waitFor();
    await keys.context().close();
    t.pass('whoever has a password is not asked again');
  });

  let secret = '';
  await t.test('with a password, and then with a code of a device', async () => {
    await signOut(page, email);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password', { exact: true }).nth(1).fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByText('The e-mail address or the password is wrong.').waitFor();
    await inspect(page, 'sign-in-password');
    await page.getByLabel('Password', { exact: true }).nth(1).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.goto(`${api}/profile`);
    // What the screen reads has come: the session gets another secret with the device.
    await page.waitForLoadState('networkidle');
    await page.getByRole('button', { name: 'Add a device' }).click();
    secret = (await page.locator('.copyable pre').first().textContent())!;
    await page.getByRole('img', { name: 'QR code of the secret' }).waitFor();
    await page.getByRole('textbox', { name: 'Code' }).fill(new TOTP({ secret: Secret.fromBase32(secret) }).generate());
    await page.getByRole('button', { name: 'Confirm the code' }).click();
    await page.getByText('A device shows codes for you.').waitFor();
    await page.getByRole('button', { name: 'Make codes' }).click();
    await page.getByText('They are shown only once').waitFor();
    await inspect(page, 'profile');
  });

  await t.test('with a passkey of the browser, among the suggestions and by the button', async () => {
    await page.getByLabel('Name of the new passkey').fill('This browser');
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('cell', { name: 'never' }).waitFor();
    await page.getByLabel(`Account of ${email}`).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    // The device takes what the field offers at once.
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await leaveSuggestions(page);
    await signOut(page, email);
    await page.locator('html[data-offered=yes]').waitFor();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  await t.test('the second step asks for one of the factors', async () => {
    await signOut(page, email);
    await page.getByLabel('E-mail address').fill(email);
    await page.getByLabel('Password', { exact: true }).nth(1).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'One more step' }).waitFor();
    await inspect(page, 'sign-in-second');
    await page.getByLabel('Code of your device').nth(1).fill('000000');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(/compare the clocks: here it is 20\d\d-/).waitFor();
    await page.getByLabel('Passkey').click();
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
  });

  await t.test('what guards others wants a confirmation, and goes on after it', async (t) => {
    // As if the person had signed in an hour ago.
    let asked = 0;
    await page.route('**/client/v4/user/passkeys/*', async (route) => {
      if (route.request().method() !== 'DELETE' || asked++ > 0) return route.continue();
      const errors = [{ code: 10014, message: 'x', error_chain: [{ code: 10014, message: 'password' }] }];
      return route.fulfill({ status: 403, json: { result: null, success: false, errors, messages: [] } });
    });
    await page.goto(`${api}/profile`);
    await page.getByRole('button', { name: 'Remove the passkey This browser' }).click();
    await page.getByRole('button', { name: 'Really remove the passkey This browser' }).click();
    await page.getByRole('heading', { name: 'Please confirm that it is you' }).waitFor();
    await inspect(page, 'confirm-person');
    await page.getByRole('dialog').getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Confirm', exact: true }).click();
    await page.getByRole('rowheader', { name: 'This browser' }).waitFor({ state: 'detached' });
    t.equal(asked, 2, 'the request was sent again');
  });
});
