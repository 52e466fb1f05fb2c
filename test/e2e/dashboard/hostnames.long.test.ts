/** Custom hostnames in many states: what the screen says about each, what it has for copying, and what can be done there. */
import { X509Certificate } from 'node:crypto';
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { makeCertificate } from '../../edge/fixture.js';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { until } from '../../support/until.js';

const LONG = `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(44)}.customer.example`;

t.test('custom hostnames', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const { call, enter, inspect } = await startDashboard(t);
  const zone = await call('POST', '/zones', { name: 'saas.example' });
  const customer = await call('POST', '/zones', { name: 'customer.example' });
  const list = `/zones/${zone.id}/custom_hostnames`;
  const lead = (name: string) =>
    call('POST', `/zones/${customer.id}/dns_records`, { type: 'CNAME', name, content: 'origin.saas.example' });
  const http = { method: 'http', type: 'dv' };
  const add = (hostname: string, ssl: object = http) => call('POST', list, { hostname, ssl });
  const origin = { type: 'A', name: 'origin', content: '192.0.2.10', proxied: true };
  const { id: record } = await call('POST', `/zones/${zone.id}/dns_records`, origin);
  await call('PUT', `${list}/fallback_origin`, { origin: 'origin.saas.example' });
  const copied = (page: Page) => page.locator('.shown-row pre').allTextContents();
  const open = (hostname: { readonly id: string }) => enter(`/zones/saas.example/hostnames?show=${hostname.id}`);

  await t.test('records that nobody can add are not offered, and the longest name moves nothing aside', async (t) => {
    t.equal(LONG.length, 253);
    const long = await add(LONG, { method: 'txt', type: 'dv' });
    const page = await open(long);
    await page.getByRole('heading', { name: LONG }).waitFor();
    t.strictSame(await copied(page), [
      `${LONG}. CNAME origin.saas.example.`,
      `${long.ownership_verification_http.http_url}\n${long.ownership_verification_http.http_body}`,
    ]);
    await inspect(page, 'hostname-long');
    const inside = `[...document.querySelectorAll('section.table, .shown-row *')].every((part) => part.scrollWidth <= part.clientWidth + 1 || getComputedStyle(part).display === 'inline')`;
    for (const width of [1920, 1280, 360]) {
      await page.setViewportSize({ width, height: 860 });
      t.equal(await page.evaluate(inside), true, `nothing is out of sight with ${width} pixels`);
    }
    await page.context().close();
  });

  await t.test('one that is proven says so, whatever else is missing', async (t) => {
    const caa = { type: 'CAA', name: 'forbids', data: { flags: 0, tag: 'issue', value: 'other.example' } };
    await call('POST', `/zones/${customer.id}/dns_records`, caa);
    await lead('www.forbids');
    const forbidden = await add('www.forbids.customer.example');
    await until(async () => (await call('GET', `${list}/${forbidden.id}`)).status === 'caa_error');
    const page = await open(forbidden);
    await page
      .getByText(/To permit it, add: forbids\.customer\.example\. CAA 0 issue/)
      .first()
      .waitFor();
    t.strictSame(await copied(page), [], 'nothing that would prove what is proven');
    await page.context().close();
  });

  await t.test('one without an origin does not work, although it is active', async () => {
    await lead('works');
    const works = await add('works.customer.example');
    await until(async () => (await call('GET', `${list}/${works.id}`)).ssl.status === 'active');
    const page = await open(works);
    await page.getByText('Nothing has to be done: it works.').first().waitFor();
    await call('DELETE', `/zones/${zone.id}/dns_records/${record}`);
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('It was checked just now').waitFor();
    const missing =
      /^You must add a proxied A, AAAA or CNAME record for origin\.saas\.example\. Until then, requests for/;
    await page.getByText(missing).first().waitFor();
    await call('POST', `/zones/${zone.id}/dns_records`, origin);
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('Nothing has to be done: it works.').first().waitFor();
    await page.context().close();
  });

  await t.test('a new one is in sight below a long list, and its name may be in Unicode', async (t) => {
    for (let i = 0; i < 8; i++) await add(`shop${i}.customer.example`);
    const page = await enter('/zones/saas.example/hostnames');
    await page.getByRole('link', { name: 'shop7.customer.example' }).waitFor();
    // The list is read again after the new one, which is read only once: it does not vanish when it moves into the list.
    const heading = page.getByRole('heading', { name: 'läden.bücher.example' });
    await page.route(/\/custom_hostnames\?/, async (route) => {
      await heading.waitFor();
      await route.continue();
    });
    const one = /\/custom_hostnames\/[0-9a-f-]{36}$/;
    await page.route(one, () => {});
    await page.route(one, (route) => route.continue(), { times: 1 });
    await page.getByLabel('New hostname').fill(' Läden\u200b.Bücher.example. ');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.locator('.shown-row').waitFor();
    t.ok(await heading.isVisible());
    const top = `document.querySelector('.opened').getBoundingClientRect().top`;
    // waitForFunction() looks again by eval(), which the policy of the page forbids.
    await until(() => page.evaluate(`${top} > 0 && ${top} < innerHeight`));
    t.ok(await heading.isVisible());
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.context().close();
  });

  await t.test('what can be chosen for one, when it is made and later', async (t) => {
    const other = { type: 'A', name: 'second', content: '192.0.2.11', proxied: true };
    await call('POST', `/zones/${zone.id}/dns_records`, other);
    const page = await enter('/zones/saas.example/hostnames');
    await page.getByLabel('New hostname').fill('chosen.customer.example');
    await page.getByText('More settings').click();
    await page.getByLabel('Certificate authority').selectOption('lets_encrypt');
    await page.getByLabel('Oldest version of TLS').selectOption('1.3');
    await page.getByLabel(/^Also cover all names/).check();
    t.equal(await page.getByLabel('Prove the certificate by').inputValue(), 'txt', 'a wildcard needs the record');
    await page.getByLabel(/^Origin server/).fill('elsewhere.example');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('alert').waitFor();
    t.equal(await page.getByLabel('New hostname').inputValue(), 'chosen.customer.example', 'what was typed is kept');
    await page.getByLabel(/^Origin server/).fill('second.saas.example');
    await inspect(page, 'hostname-more');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await page.getByRole('heading', { name: 'chosen.customer.example' }).waitFor();
    const [chosen] = await call('GET', `${list}?hostname=chosen.customer.example`);
    t.match(chosen, {
      custom_origin_server: 'second.saas.example',
      ssl: {
        method: 'txt',
        wildcard: true,
        certificate_authority: 'lets_encrypt',
        settings: { min_tls_version: '1.3' },
      },
    });
    const opened = page.locator('.shown-row');
    await opened.getByRole('button', { name: 'Change its settings' }).click();
    t.ok(await opened.getByRole('button', { name: 'Save' }).isDisabled(), 'nothing is changed yet');
    await opened.getByLabel(/^Origin server/).fill('');
    await opened.getByLabel(/^Metadata/).fill('customer: 4711\nplan: a: b');
    await opened.getByLabel(/^Also cover all names/).uncheck();
    await opened.getByLabel('Prove the certificate by').selectOption('http');
    await opened.getByRole('button', { name: 'Save' }).click();
    await opened.getByRole('button', { name: 'Change its settings' }).waitFor();
    const changed = await call('GET', `${list}/${chosen.id}`);
    t.match(changed, { ssl: { method: 'http', wildcard: false, settings: { min_tls_version: '1.3' } } });
    t.notOk('custom_origin_server' in changed, 'the fallback origin again');
    t.strictSame(changed.custom_metadata, { customer: '4711', plan: 'a: b' });
    await opened.getByRole('button', { name: 'Change its settings' }).click();
    t.equal(await opened.getByLabel(/^Metadata/).inputValue(), 'customer: 4711\nplan: a: b');
    await opened.getByRole('button', { name: 'Cancel' }).click();
    await page.context().close();
  });

  await t.test('a certificate is brought, and the key does not stay on the screen', async (t) => {
    const own = await add('own.customer.example');
    const page = await open(own);
    await page.getByRole('button', { name: 'Bring a certificate' }).click();
    await page.getByLabel(/^Certificate, then/).fill('-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----');
    await page.getByLabel('Its private key').fill('none');
    await page.getByRole('button', { name: 'Use it' }).click();
    await page.getByRole('alert').waitFor();
    t.equal(await page.getByLabel('Its private key').inputValue(), 'none', 'what was typed is kept');
    const { certificate, key } = makeCertificate(['own.customer.example']);
    await page.getByLabel(/^Certificate, then/).fill(`  ${certificate}\n\n`);
    await page.getByLabel('Its private key').fill(key);
    await inspect(page, 'hostname-certificate');
    await page.getByRole('button', { name: 'Use it' }).click();
    const serial = new X509Certificate(certificate).serialNumber.toLowerCase().replace(/^0+/, '');
    await page.getByText(new RegExp(serial, 'i')).waitFor();
    await page.getByRole('button', { name: 'Bring a certificate' }).click();
    t.equal(await page.getByLabel('Its private key').inputValue(), '');
    await page.context().close();
  });
});
