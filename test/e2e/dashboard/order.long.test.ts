/** Answers that come later than others, than what a person did meanwhile, or than the next question. */
import type { Page, Route } from 'playwright-core';
import t, { type Test } from 'tap';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { until } from '../../support/until.js';

const FILE = `$ORIGIN file.example.
$TTL 3600
@ IN SOA ns1.file.example. admin.file.example. 7 7200 3600 1209600 300
@ IN NS ns1.file.example.
ns1 IN A 192.0.2.53
`;

/** Keeps answers to what `pattern` matches back, until they are let go. */
async function hold(
  page: Page,
  pattern: RegExp,
): Promise<{ readonly held: () => number; readonly release: () => void }> {
  const held: Route[] = [];
  let isReleased = false;
  await page.route(pattern, async (route) => {
    if (isReleased) await route.continue();
    else held.push(route);
  });
  return {
    held: () => held.length,
    release() {
      isReleased = true;
      // Those that the page gave up cannot be answered any more.
      for (const route of held) route.continue().catch(() => {});
    },
  };
}

/** What a page did because of an answer is drawn then. */
const drawn = (page: Page): Promise<unknown> =>
  page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');

t.test('the order of answers', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const { call, enter, inspect } = await startDashboard(t);
  await call('POST', '/zones', { name: 'shop.example' });
  const [zone] = await call('GET', '/zones?name=shop.example');
  const records = `/zones/${zone.id}/dns_records`;

  await t.test('the preview of a file is that of the options that are chosen', async (t) => {
    const page = await enter('/zones?new=1');
    const first = await hold(page, /import\?dry_run=true/);
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('dialog').getByText('From a zone file…').click(),
    ]);
    await chooser.setFiles({ name: 'file.zone', mimeType: 'text/plain', buffer: Buffer.from(FILE) });
    await until(() => first.held() === 1);
    await page.getByLabel('Use the SOA and the name servers of this service').check();
    await page.getByText(/with \d+ records would be created/).waitFor();
    t.equal(await page.getByText('serial 7.').count(), 0);
    const late = page.waitForResponse(/import\?dry_run=true/);
    first.release();
    await (await late).finished();
    await drawn(page);
    t.equal(await page.getByText('serial 7.').count(), 0, 'not that of the file as it is');
    await page.context().close();
  });

  await t.test('who has gone elsewhere stays there when a zone has been created', async (t) => {
    const page = await enter('/zones?new=1');
    const creation = await hold(page, /\/client\/v4\/zones$/);
    await page.getByLabel('Name of the domain').fill('late.example');
    await page.getByRole('button', { name: 'Create the zone' }).click();
    await until(() => creation.held() === 1);
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Access' }).click();
    await page.getByRole('button', { name: 'New token' }).first().waitFor();
    const late = page.waitForResponse(/\/client\/v4\/zones$/);
    creation.release();
    await (await late).finished();
    await drawn(page);
    t.match(page.url(), /\/access$/);
    await page.context().close();
  });

  await t.test('a screen that is read again every ten seconds waits for answers that take longer', async (t) => {
    const page = await enter('/zones');
    await page.getByRole('link', { name: 'shop.example' }).waitFor();
    await page.clock.install();
    const activity = await hold(page, /\/client\/v4\/activity\?/);
    await page.getByRole('link', { name: 'Overview' }).click();
    await until(() => activity.held() === 1);
    for (let i = 0; i < 3; i++) await page.clock.runFor(10_000);
    t.equal(activity.held(), 1, 'it is not asked again, which would give the answer up');
    activity.release();
    await page.getByText('Busiest zones').waitFor();
    await page.context().close();
  });

  await t.test('what is restored is what was shown', async (t) => {
    await call('POST', records, { type: 'A', name: 'one', content: '192.0.2.1', ttl: 300 });
    await call('POST', records, { type: 'A', name: 'two', content: '192.0.2.2', ttl: 300 });
    const page = await enter('/zones/shop.example/history');
    await page.getByRole('button', { name: 'Restore' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('two.shop.example. 300 IN A 192.0.2.2').waitFor();
    await call('POST', records, { type: 'A', name: 'three', content: '192.0.2.3', ttl: 300 });
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await dialog.getByText('Somebody changed the zone meanwhile').waitFor();
    t.equal((await call('GET', records)).length, 3);
    await dialog.getByRole('button', { name: 'Try again' }).click();
    await dialog.getByText('three.shop.example. 300 IN A 192.0.2.3').waitFor();
    await dialog.getByRole('button', { name: 'Restore' }).click();
    await page.getByText('served everywhere').waitFor();
    t.equal((await call('GET', records)).length, 1);
    await page.getByRole('link', { name: 'Records at that time' }).nth(1).click();
    await page.getByText(/right after the change of .* by admin@localhost, serial \d+/).waitFor();
    await page.context().close();
  });

  await t.test('a search among the zones finds records, too, and leads to them', async (t) => {
    await call('POST', records, { type: 'A', name: 'door', content: '192.0.2.77', comment: 'The front door' });
    const page = await enter('/zones?search=front%20door');
    await page.getByText('No zone has such a name').waitFor();
    const table = page.getByRole('region', { name: 'Records with these words' });
    await table.getByText('192.0.2.77').waitFor();
    await inspect(page, 'found-records');
    await table.getByRole('link', { name: 'door.shop.example' }).click();
    await page.getByLabel('Search records').waitFor();
    t.match(page.url(), /\/zones\/[^/]+\/records\?search=front%20door$/);
    await page.getByRole('button', { name: 'door', exact: true }).waitFor();
  });
});
