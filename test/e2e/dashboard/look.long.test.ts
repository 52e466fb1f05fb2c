/** How lists look: density, natural order, edits beside selected rows, commands in one place; and the edge's error page on a telephone. */
import { join } from 'node:path';
import { domainToASCII } from 'node:url';
import t, { type Test } from 'tap';
import { failureOf } from '../../../src/edge/error-pages/failures.js';
import { failurePage } from '../../../src/edge/error-pages/page.js';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { runCommand } from '../../support/commands.js';

t.test('how lists look', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  // Nobody answers there.
  const { call, enter, browser, program, directory } = await startDashboard(t, {
    ZONEPLANE_RESOLVER_UPSTREAMS: '127.0.0.1:1',
  });
  const zone = await call('POST', '/zones', { name: 'example.com' });
  const posts = ['h10', 'h2', 'h1', 'b.h1'].map((name) => ({ type: 'A', name, content: '192.0.2.1' }));
  await call('POST', `/zones/${zone.id}/dns_records/batch`, { posts });
  const page = await enter('/zones/example.com/records');

  await t.test('h2 stands before h10, and what is below a name behind it', async (t) => {
    await page.getByRole('button', { name: 'h10', exact: true }).waitFor();
    t.strictSame(await page.locator('.row-name').allTextContents(), ['h1', 'b.h1', 'h2', 'h10']);
  });

  await t.test('names of other letters are shown as they are typed, unless they may be taken for others', async (t) => {
    // The encoder of Node says which labels these are.
    const typed = ['bücher', 'кофейня', '日本', 'mañana-1', 'bücher-кофе', 'аррӏе'];
    const records = typed.map((name) => ({ type: 'AAAA', name: domainToASCII(name), content: '2001:db8::1' }));
    await call('POST', `/zones/${zone.id}/dns_records/batch`, { posts: records });
    const other = await enter('/zones/example.com/records?type=AAAA');
    await other.getByRole('button', { name: 'bücher', exact: true }).waitFor();
    const names = await other.locator('.row-name').allTextContents();
    const shown = typed.map((name, i) => (i < 4 ? name : domainToASCII(name)));
    t.strictSame(names.toSorted(), shown.toSorted());
    await other.context().close();
  });

  await t.test('overview, readiness, metrics and doctor warn of the same resolver', async (t) => {
    const text = '127.0.0.1:1 does not help';
    const other = await enter('/overview');
    await other.getByText(text).waitFor();
    const metrics = await (await fetch(`${program.api}/metrics`)).text();
    t.match(metrics, /^zoneplane_warnings\{kind="resolver-failing"\} 1$/m);
    t.match(metrics, /^zoneplane_warnings\{kind="backup-old"\} 0$/m);
    t.match(await (await fetch(`${program.api}/readyz`)).json(), { ready: true, warnings: { 'resolver-failing': 1 } });
    const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
    t.match((await runCommand(environment, 'doctor')).out, text, 'with the settings of the server');
    await other.context().close();
  });

  await t.test('selected rows do not hide edits that are not saved', async (t) => {
    await page.getByRole('button', { name: 'Edit h1.example.com A' }).click();
    await page.getByLabel('IPv4 address').fill('192.0.2.7');
    await page.getByRole('button', { name: 'Keep the edit' }).click();
    await page.getByText('1 edit is not saved').waitFor();
    await page.getByRole('checkbox', { name: /^Select h2/ }).check();
    await page.getByText('1 selected').waitFor();
    t.equal(await page.getByText('1 edit is not saved').isVisible(), true);
    await page.getByRole('button', { name: 'Discard' }).click();
  });

  await t.test('the commands stand in one place, and only when somebody wants them', async (t) => {
    t.equal(await page.getByText('curl', { exact: false }).count(), 1);
    await page.getByRole('button', { name: 'Show as curl' }).click();
    await page.getByText('curl \\').first().waitFor();
  });

  await t.test('rows are about 36 pixels high, unless somebody wants them wide: that is kept', async (t) => {
    const height = async () => Math.round((await page.locator('tbody tr').first().boundingBox())!.height);
    await page.goto(page.url().replace(/zones\/.*/, 'zones'));
    await page.getByRole('link', { name: 'example.com' }).waitFor();
    t.ok((await height()) <= 38, `${await height()} pixels`);
    await page.getByText('admin@localhost').click();
    await page.getByText('Wide', { exact: true }).click();
    await page.reload();
    await page.getByRole('link', { name: 'example.com' }).waitFor();
    t.ok((await height()) >= 45, `${await height()} pixels`);
  });

  await t.test('a long cause fits on the error page of the edge at 360 pixels', async (t) => {
    const failure = failureOf('originDns', `cause:${'x'.repeat(300)}`, `https://example.com/${'y'.repeat(300)}`);
    const context = {
      accept: 'text/html',
      host: `${'z'.repeat(60)}.example.com`,
      ray: '0123456789abcdef',
      details: true,
    };
    const narrow = await browser.newPage({ viewport: { width: 360, height: 740 } });
    await narrow.setContent(failurePage(failure, context).body.toString());
    t.ok(Number(await narrow.evaluate('document.documentElement.scrollWidth')) <= 360);
    await narrow.close();
  });
});
