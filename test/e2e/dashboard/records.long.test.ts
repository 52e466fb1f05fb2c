/** The way of a zone through the dashboard: a file that is dropped, edits that are saved at once, a conflict, the way back. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { type Dashboard, noBrowser, startDashboard } from '../../support/browser.js';
import { until } from '../../support/until.js';

const run = promisify(execFile);

const FILE = `$ORIGIN shop.example.
$TTL 3600
@ IN SOA ns1.shop.example. admin.shop.example. 7 7200 3600 1209600 300
@ IN NS ns1.shop.example.
ns1 IN A 192.0.2.53
www IN A 192.0.2.1
mail IN A 192.0.2.2
old IN TXT "to be removed"
`;
const BAD_FILE = `$ORIGIN bad.example.
@ 300 IN SOA ns1 admin 1 2 3 4 5
www 300 IN A 192.0.2.300
`;

/** What a person does who drags a file onto the page. */
async function dropFile(page: Page, name: string, text: string): Promise<void> {
  const transfer = await page.evaluateHandle(`(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
    return transfer;
  })()`);
  for (const type of ['dragover', 'drop']) await page.dispatchEvent('body', type, { dataTransfer: transfer });
}

async function dig({ program }: Dashboard, name: string, type: string): Promise<string> {
  const place = ['@127.0.0.1', '-p', String(program.dnsPort), '+short', '+tries=1', '+time=5'];
  return (await run('dig', [...place, name, type])).stdout.trim();
}

async function openRow(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
  await page.getByRole('form', { name: `Edit ${name}` }).waitFor();
}

async function reviewAndSave(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Review and save' }).click();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  // Until then the receipt may be that of an earlier change.
  await page.getByText(/not saved/).waitFor({ state: 'detached' });
  await page.getByText('served everywhere').waitFor();
}

t.test('a zone in the dashboard', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, enter, inspect } = dashboard;
  const page = await enter('/zones');

  await t.test('a file with errors is shown with their lines; a good one becomes a zone', async (t) => {
    await page.getByText('There are no zones yet').waitFor();
    await dropFile(page, 'bad.zone', BAD_FILE);
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Line 3').waitFor();
    t.ok(await dialog.getByRole('button', { name: 'Create the zone' }).isDisabled());
    await inspect(page, 'new-zone-errors');
    await page.keyboard.press('Escape');
    t.strictSame(await call('GET', '/zones'), []);

    await dropFile(page, 'shop.zone', FILE);
    await dialog.getByText('shop.example with 5 records').waitFor();
    t.strictSame(await call('GET', '/zones'), [], 'the preview makes nothing');
    await inspect(page, 'new-zone');
    await dialog.getByRole('button', { name: 'Create the zone' }).click();
    await page.getByRole('heading', { name: 'shop.example' }).waitFor();
    await until(async () => (await dig(dashboard, 'www.shop.example', 'A')) === '192.0.2.1');
  });

  await t.test('a page asks for everything once, and for the records before it knows its permissions', async (t) => {
    const fresh = await enter('/zones');
    await fresh.getByRole('link', { name: 'shop.example' }).waitFor();
    const asked: string[] = [];
    fresh.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      if (pathname.startsWith('/client/')) asked.push(pathname.slice('/client/v4'.length) + search);
    });
    // Until the records are asked for, the permissions are not answered.
    const { promise: isListAsked, resolve: noteList } = Promise.withResolvers<void>();
    await fresh.route(/\/user\/permissions/, async (route) => {
      await isListAsked;
      await route.continue();
    });
    await fresh.route(/\/dns_records\?/, async (route) => {
      noteList();
      await route.continue();
    });
    // Until the types are asked for, nothing is known of the zone.
    const { promise: areTypesAsked, resolve: noteTypes } = Promise.withResolvers<void>();
    await fresh.route(/\/record_types/, async (route) => {
      noteTypes();
      await route.continue();
    });
    await fresh.route(/\/zones\?name=/, async (route) => {
      await areTypesAsked;
      await route.continue();
    });
    await fresh.goto(`${dashboard.program.api}/zones/shop.example/records`);
    await fresh.getByRole('button', { name: 'www', exact: true }).waitFor();
    const id = (await call('GET', '/zones?name=shop.example'))[0].id;
    t.strictSame(asked.toSorted(), [
      '/record_types',
      '/user/permissions',
      `/user/permissions?zone_id=${id}`,
      `/zones/${id}/dns_records?order=canonical&direction=asc&per_page=100`,
      '/zones?name=shop.example',
    ]);
    await fresh.context().close();
  });

  await t.test('three edits are reviewed as a difference and saved at once', async (t) => {
    await page.goto(`${dashboard.program.api}/zones/shop.example/records`);
    await openRow(page, 'www');
    await page.getByLabel('IPv4 address').fill('192.0.2.999');
    await page.keyboard.press('Enter');
    await page.getByText('must be a valid IPv4 address').waitFor();
    t.equal(await page.getByLabel('IPv4 address').inputValue(), '192.0.2.999', 'what was typed is kept');
    await inspect(page, 'record-problem');
    await page.getByLabel('IPv4 address').fill('192.0.2.11');
    await page.getByLabel('Comment').fill('שלום: the shop');
    await page.keyboard.press('Enter');
    await page.getByText('1 edit is not saved').waitFor();
    await page.getByRole('button', { name: 'New record' }).click();
    await page.getByRole('form').getByRole('combobox', { name: 'Type' }).selectOption('MX');
    await page.getByLabel('Preference').fill('10');
    await page.getByLabel('Mail server').fill('mail.shop.example');
    await page.getByRole('button', { name: 'Add the record' }).click();
    // It is checked first; a removal that is faster would be undone after it.
    await page.getByText('2 edits are not saved').waitFor();
    await openRow(page, 'old');
    await page.getByRole('button', { name: 'Delete the record' }).click();
    await page.getByText('3 edits are not saved').waitFor();
    await page.keyboard.press('Control+z');
    await page.getByText('2 edits are not saved').waitFor();
    await openRow(page, 'old');
    await page.getByRole('button', { name: 'Delete the record' }).click();
    t.equal(await dig(dashboard, 'www.shop.example', 'A'), '192.0.2.1', 'nothing is saved yet');
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('The zone was added').waitFor();
    const elsewhere = page.getByRole('region', { name: 'Edits that are not saved' });
    await elsewhere.getByText('3 edits are not saved').waitFor();
    await inspect(page, 'pending-elsewhere');
    await elsewhere.getByRole('link', { name: 'Review and save' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('to be removed').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('3 edits are not saved').waitFor();
    t.equal(page.url(), `${dashboard.program.api}/zones/shop.example/records`, 'the review is closed');
    await inspect(page, 'records-pending');
    await page.getByRole('button', { name: 'Review and save' }).click();
    for (const line of [
      'www.shop.example.  3600  IN  A  192.0.2.1',
      '192.0.2.11',
      '10 mail.shop.example.',
      'to be removed',
    ]) {
      await dialog.getByText(line.replaceAll('  ', ' ')).first().waitFor();
    }
    await inspect(page, 'review');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('served everywhere').waitFor();
    t.equal(await dig(dashboard, 'www.shop.example', 'A'), '192.0.2.11');
    t.equal(await dig(dashboard, 'shop.example', 'MX'), '10 mail.shop.example.');
    t.equal(await dig(dashboard, 'old.shop.example', 'TXT'), '');
    const [zone] = await call('GET', '/zones?name=shop.example');
    const history = await call('GET', `/zones/${zone.id}/history`);
    t.strictSame(history.length, 2, 'one change');
    // In the order of zone files: as text, the apex would be between ns1 and www.
    const names = page.locator('.row-name');
    await until(async () => (await names.allTextContents()).join(' ') === '@ @ mail ns1 www');
  });

  await t.test('a conflict shows both sides', async (t) => {
    const [zone] = await call('GET', '/zones?name=shop.example');
    const [www] = await call('GET', `/zones/${zone.id}/dns_records?name=www.shop.example`);
    const [mail] = await call('GET', `/zones/${zone.id}/dns_records?name=mail.shop.example`);
    await openRow(page, 'www');
    await page.getByLabel('IPv4 address').fill('192.0.2.21');
    await page.keyboard.press('Enter');
    await page.getByText('1 edit is not saved').waitFor();
    await openRow(page, 'mail');
    await page.getByLabel('IPv4 address').fill('192.0.2.22');
    await page.keyboard.press('Enter');
    await page.getByText('2 edits are not saved').waitFor();
    await call('PATCH', `/zones/${zone.id}/dns_records/${www.id}`, { content: '192.0.2.31' });
    await call('PATCH', `/zones/${zone.id}/dns_records/${mail.id}`, { content: '192.0.2.32' });
    await page.getByRole('button', { name: 'Review and save' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('A 192.0.2.31').waitFor();
    await inspect(page, 'conflict');
    await dialog.getByRole('group', { name: 'www.shop.example' }).getByText('Yours').click();
    await dialog.getByRole('button', { name: 'Go on' }).click();
    await dialog.getByText('192.0.2.21').first().waitFor();
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText(/not saved/).waitFor({ state: 'detached' });
    await page.getByText('served everywhere').waitFor();
    t.equal(await dig(dashboard, 'www.shop.example', 'A'), '192.0.2.21', 'mine');
    t.equal(await dig(dashboard, 'mail.shop.example', 'A'), '192.0.2.32', 'theirs');
  });

  await t.test('a form that was opened while another is checked stays open', async (t) => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/batch?dry_run=true', (route) => held.then(() => route.continue()));
    await openRow(page, 'www');
    await page.getByLabel('IPv4 address').fill('192.0.2.888');
    await page.keyboard.press('Enter');
    await openRow(page, 'mail');
    await page.getByLabel('Comment').fill('half written');
    release();
    await page.getByText('The edit of www.shop.example A was not kept').waitFor();
    t.equal(await page.getByLabel('Comment').inputValue(), 'half written');
    await page.unroute('**/batch?dry_run=true');
    await page.keyboard.press('Escape');
  });

  await t.test('discarded edits come back', async () => {
    await openRow(page, 'www');
    await page.getByLabel('IPv4 address').fill('192.0.2.41');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('All edits are taken back').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('1 edit is not saved').waitFor();
    await page.getByText('192.0.2.41').waitFor();
    await page.getByRole('button', { name: 'Discard' }).click();
    const bar = page.getByRole('region', { name: 'Edits that are not saved' });
    await bar.getByRole('button', { name: 'Close' }).click();
    await page.getByText('All edits are taken back').waitFor({ state: 'detached' });
  });

  await t.test('many at once, and the way back', async (t) => {
    await page.getByLabel('Select all on this page').check();
    await page.getByLabel('TTL of the selected').selectOption('300');
    await page.getByText(/\d edits are not saved/).waitFor();
    await reviewAndSave(page);
    t.match(
      (await run('dig', ['@127.0.0.1', '-p', String(dashboard.program.dnsPort), 'www.shop.example'])).stdout,
      /\s300\s+IN\s+A/,
    );
    await page.getByRole('link', { name: 'History' }).click();
    const first = page.getByRole('article').filter({ hasText: '192.0.2.11' }).last();
    await first.getByRole('link', { name: 'Records at that time' }).click();
    await page.getByText('The records as they were').waitFor();
    await page.getByText('192.0.2.11').waitFor();
    await page.goBack();
    await first.getByRole('button', { name: 'Restore' }).click();
    await page.getByRole('dialog').getByText('192.0.2.11').waitFor();
    await inspect(page, 'restore');
    await page.getByRole('dialog').getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByText('served everywhere').waitFor();
    t.equal(await dig(dashboard, 'www.shop.example', 'A'), '192.0.2.11');
  });

  await t.test('from a record to why it is answered so', async () => {
    await page.getByRole('link', { name: 'Records', exact: true }).click();
    await page.getByRole('link', { name: 'Explain www.shop.example A' }).click();
    await page.getByRole('cell', { name: 'www.shop.example. 3600 IN A 192.0.2.11' }).waitFor();
    await page.getByLabel('Client subnet').fill('198.51.100.77/24');
    await page.keyboard.press('Enter');
    await page.getByText('clients of every subnet get this answer').waitFor();
    await page.getByText(/Question, \d+ octets/).click();
    await page.getByText('client subnet 198.51.100.0/24, scope 0').waitFor();
  });
});

t.test('names that are unusual', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const { call, enter } = await startDashboard(t);
  const reverse = await call('POST', '/zones', { name: '0/25.2.0.192.in-addr.arpa' });
  await call('POST', `/zones/${reverse.id}/dns_records`, { type: 'PTR', name: '7', content: 'host.example.com' });
  const long = [60, 60, 60, 58].map((length, i) => 'abcd'[i]!.repeat(length)).join('.');
  const zone = await call('POST', '/zones', { name: 'bücher.example' });
  const service = { priority: 10, weight: 5, port: 5060, target: 'sip.example.com' };
  await call('POST', `/zones/${zone.id}/dns_records`, { type: 'SRV', name: '_sip._tcp', data: service });
  const wide = await call('POST', '/zones', { name: `${long}.example` });
  for (const name of ['аррӏе.example', 'bücher-кофе.example', 'кофейня.example'])
    await call('POST', '/zones', { name });

  await t.test('a zone of RFC 2317, whose name no URL may have', async (t) => {
    const page = await enter(`/zones/${encodeURIComponent('0/25.2.0.192.in-addr.arpa')}/records`);
    await openRow(page, '7');
    await page.getByText('@ is 0/25.2.0.192.in-addr.arpa').waitFor();
    await page.getByLabel('Comment').fill('the seventh');
    await page.getByLabel('Ends').fill('2190-01-31T18:00');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Review and save' }).click();
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Saved. Nothing changed for resolvers.').waitFor();
    const [record] = await call('GET', `/zones/${reverse.id}/dns_records`);
    t.match(record, { name: '7.0/25.2.0.192.in-addr.arpa', comment: 'the seventh', expires_on: /^2190-0/ });
    await openRow(page, '7');
    t.equal(await page.getByLabel('Ends').inputValue(), '2190-01-31T18:00');
    await page.context().close();
  });

  await t.test('a name in other letters, and a value with its priority', async () => {
    const page = await enter(`/zones/${encodeURIComponent('bücher.example')}/records`);
    await page.getByRole('button', { name: '_sip._tcp', exact: true }).waitFor();
    await page.getByText('10 5 5060 sip.example.com').waitFor();
    await page.goto(`${page.url()}?page=7`);
    await page.getByText('This page does not exist any more').waitFor();
    await page.getByRole('link', { name: 'Show its first page' }).click();
    await page.getByText('10 5 5060 sip.example.com').waitFor();
    await page.context().close();
  });

  await t.test('names that may be taken for others stay in ASCII', async (t) => {
    const page = await enter('/zones');
    const titles: Record<string, string | null> = {};
    await page.getByRole('link', { name: 'bücher.example' }).waitFor();
    for (const link of await page.locator('tbody a.name').all()) {
      titles[(await link.textContent())!] = await link.getAttribute('title');
    }
    t.match(titles, {
      'bücher.example': 'xn--bcher-kva.example',
      'кофейня.example': 'xn--e1aiboc0b6e.example',
      'xn--80ak6aa92e.example': null,
    });
    t.ok('xn--80ak6aa92e.example' in titles);
    t.equal(Object.keys(titles).filter((name) => /[кофе]/.test(name)).length, 1, 'two alphabets are not mixed');
    await page.getByRole('link', { name: 'bücher.example' }).click();
    t.equal(await page.getByRole('heading', { name: 'bücher.example' }).getAttribute('title'), 'xn--bcher-kva.example');
    await page.context().close();
  });

  await t.test('a zone of 246 characters leaves the other columns in sight', async (t) => {
    const page = await enter('/zones');
    const row = page.getByRole('row', { name: wide.name });
    await row.waitFor();
    const changed = await row.getByRole('cell').last().boundingBox();
    t.ok(changed && changed.x + changed.width <= 1280, JSON.stringify(changed));
    await page.setViewportSize({ width: 360, height: 740 });
    const status = await row.getByText('Active').boundingBox();
    t.ok(status && status.x + status.width <= 360, JSON.stringify(status));
    await page.context().close();
  });
});

t.test('more edits than the server takes in one change', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, enter, inspect } = dashboard;
  const zone = await call('POST', '/zones', { name: 'large.example' });
  // Three records of each name: 3500 is in the middle of one.
  const posts = Array.from({ length: 1200 }, (_, i) => [
    { type: 'A', name: `h${i}`, content: '192.0.2.1' },
    { type: 'AAAA', name: `h${i}`, content: '2001:db8::1' },
    { type: 'TXT', name: `h${i}`, content: '"one"' },
  ]).flat();
  for (const part of [posts.slice(0, 1800), posts.slice(1800)])
    await call('POST', `/zones/${zone.id}/dns_records/batch`, { posts: part });
  const page = await enter('/zones/large.example/records');
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Select all 3,600' }).click();
  await page.getByText('3,600 selected').waitFor();
  await page.getByLabel('TTL of the selected').selectOption({ label: '1 hour' });
  await page.getByText('3,600 edits are not saved').waitFor();
  // Those out of sight, too.
  await until(async () => (await page.getByText('Edited', { exact: true }).count()) === 100);
  const review = page.getByRole('button', { name: 'Review and save' });
  const dialog = page.getByRole('dialog');
  const checks = '**/dns_records/batch?dry_run=true';

  await t.test('whoever closes the review stops the checks', async (t) => {
    const stopped: string[] = [];
    page.on('requestfailed', (request) => stopped.push(request.failure()!.errorText));
    let asked = 0;
    // They are never answered.
    await page.route(checks, () => void asked++);
    await review.click();
    await until(async () => asked === 2);
    await dialog.getByText('0 of 3,600 checked').waitFor();
    await dialog.getByRole('button', { name: 'Not yet' }).click();
    await until(async () => stopped.length === 2);
    t.strictSame(stopped, ['net::ERR_ABORTED', 'net::ERR_ABORTED']);
    await page.unroute(checks);
    t.equal(await page.getByText('3,600 edits are not saved').count(), 1);
  });

  await t.test('a refusal of the second part names its record', async () => {
    const errors = [{ code: 9005, message: 'Not this one.', source: { pointer: '/patches/0/ttl' } }];
    const refusal = { status: 400, json: { success: false, result: null, errors, messages: [] } };
    let first = '';
    await page.route(checks, (route) => {
      const { patches } = route.request().postDataJSON() as { patches: { id: string }[] };
      if (patches.length > 1000) return route.continue();
      first = patches[0]!.id;
      return route.fulfill(refusal);
    });
    await review.click();
    await dialog.getByText('Not this one.').waitFor();
    const { name, type } = await call('GET', `/zones/${zone.id}/dns_records/${first}`);
    await dialog.getByText(`${name} ${type}: Not this one.`).waitFor();
    await page.unroute(checks);
    await dialog.getByRole('button', { name: 'Not yet' }).click();
  });

  await review.click();
  await page.getByText('saved in 2 changes, one after the other').waitFor();
  await dialog.getByRole('button', { name: 'Save', exact: true, disabled: false }).waitFor();

  await t.test('the second is refused: the first stays, and the rest can be saved again', async (t) => {
    let saves = 0;
    const sent: { patches: { id: string }[] }[] = [];
    await page.route('**/dns_records/batch', (route) => {
      sent.push(route.request().postDataJSON());
      const errors = [{ code: 10000, message: 'Not now.' }];
      const refusal = { status: 403, json: { success: false, result: null, errors, messages: [] } };
      return ++saves === 2 ? route.fulfill(refusal) : route.continue();
    });
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await dialog.getByText('3,498 of 3,600 edits are saved. The other 102 are not').waitFor();
    await dialog.getByText('Not now.').waitFor();
    await inspect(page, 'review-half-saved');
    const of = async (ttl: number): Promise<{ name: string }[]> =>
      (await call('GET', `/zones/${zone.id}/dns_records?per_page=5000`)).filter(
        (item: { ttl: number }) => item.ttl === ttl,
      );
    t.equal((await of(3600)).length, 3498);
    const whole = new Set((await of(3600)).map(({ name }) => name));
    t.notOk(
      (await of(1)).some(({ name }) => whole.has(name)),
      'no name is half changed',
    );
    await page.unroute('**/dns_records/batch');
    await dialog.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('served everywhere').waitFor();
    t.equal((await of(3600)).length, 3600);
    t.equal(sent.flatMap(({ patches }) => patches).length, 3600, 'each was sent once to begin with');
    t.equal(await page.getByText(/not saved/).count(), 0);
  });
  await page.context().close();
});

t.test('credentials with few rights', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, enter, inspect } = dashboard;
  const zone = await call('POST', '/zones', { name: 'example.com' });
  await call('POST', '/zones', { name: 'secret.example' });
  for (const name of ['www', '_acme-challenge.www']) {
    await call('POST', `/zones/${zone.id}/dns_records`, { type: 'TXT', name, content: '"one"' });
  }
  const tokenFor = async (group: string, records?: unknown): Promise<string> => {
    const policy = {
      effect: 'allow',
      permission_groups: [{ id: group }],
      resources: { [`com.cloudflare.api.account.zone.${zone.id}`]: '*' },
      ...(records !== undefined && { records }),
    };
    return (await call('POST', '/user/tokens', { name: 'narrow', policies: [policy] })).value;
  };
  const DNS_READ = '82e64a83756745bbbb1c9c2701bf816b';
  const DNS_WRITE = '4755a26eedb94da69e1066d98aa820be';

  await t.test('a token of one zone that may only read', async (t) => {
    const page = await enter('/zones', { token: await tokenFor(DNS_READ) });
    await page.getByRole('link', { name: 'example.com' }).waitFor();
    t.equal(await page.getByText('secret.example').count(), 0, 'it sees no other zone');
    t.equal(await page.getByRole('button', { name: 'New zone' }).count(), 0);
    await page.getByRole('link', { name: 'example.com' }).click();
    await page.getByText('_acme-challenge.www').waitFor();
    t.equal(await page.getByRole('button', { name: 'New record' }).count(), 0);
    t.equal(await page.getByRole('checkbox').count(), 0);
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByText('Records changed').first().waitFor();
    t.equal(await page.getByRole('button', { name: 'Restore' }).count(), 0);
    await page.context().close();
  });

  await t.test('a token of certain records', async (t) => {
    const token = await tokenFor(DNS_WRITE, { names: ['_acme-challenge.*'], types: ['TXT'] });
    const page = await enter('/zones/example.com', { token });
    await page.getByRole('button', { name: '_acme-challenge.www', exact: true }).waitFor();
    t.equal(await page.getByRole('button', { name: 'www', exact: true }).count(), 0, 'it sees no other record');
    t.equal(await page.getByRole('link', { name: 'History' }).count(), 0, 'and no screen that it may not');
    t.equal(await page.getByRole('link', { name: /^Explain/ }).count(), 0, 'nor a link to one');
    await openRow(page, '_acme-challenge.www');
    await page.getByLabel('Text', { exact: true }).fill('"two"');
    await page.keyboard.press('Enter');
    await inspect(page, 'narrow-token');
    await reviewAndSave(page);
    t.equal(await dig(dashboard, '_acme-challenge.www.example.com', 'TXT'), '"two"');
    await page.getByRole('button', { name: 'New record' }).click();
    await page.getByLabel('Name', { exact: true }).fill('other');
    await page.getByLabel('IPv4 address').fill('192.0.2.1');
    await page.getByRole('button', { name: 'Add the record' }).click();
    await page.getByText('Authentication error').waitFor();
    await page.context().close();
  });
});
