/** The settings of zones and accounts, changed in Chromium and seen in the answers. */
import t, { type Test } from 'tap';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { until } from '../../support/until.js';

t.test('settings', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t);
  const { call, enter } = dashboard;
  const zone = await call('POST', '/zones', { name: 'example.com' });
  const explain = async (name: string, type: string): Promise<string[]> =>
    (await call('GET', `/zones/${zone.id}/dns_records/explain?name=${name}&type=${type}`)).answer.answer;

  await t.test('the SOA of a zone', async (t) => {
    const page = await enter('/zones/example.com/settings');
    const panel = page.getByRole('region', { name: 'SOA and answers' });
    const save = panel.getByRole('button', { name: 'Save' });
    await panel.getByLabel(/^Refresh/).fill('7200');
    await panel.getByLabel(/^Retry/).fill('8000');
    await panel.getByLabel(/^Contact/).fill('hostmaster@example.net');
    t.equal(await panel.getByLabel(/^Contact/).inputValue(), 'hostmaster.example.net', 'as the SOA writes it');
    await save.click();
    await panel.getByRole('alert').getByText('soa.retry must not be larger than soa.refresh').waitFor();
    await panel.getByLabel(/^Retry/).fill('900');
    await page.getByRole('button', { name: 'Show as curl' }).click();
    await page.getByText('{"soa":{"rname":"hostmaster.example.net","refresh":7200,"retry":900}}').waitFor();
    await dashboard.inspect(page, 'settings');
    await save.click();
    await panel.getByText('served everywhere').waitFor();
    t.ok(await save.isDisabled(), 'there is nothing left to save');
    const [soa] = await explain('example.com', 'SOA');
    t.match(soa, /hostmaster\.example\.net\. \d+ 7200 900 604800 1800$/);
    await panel.getByLabel(/^Expire/).fill('1');
    await save.click();
    t.ok(await panel.locator('input:invalid').isVisible(), 'the browser says what the limits are');
    await panel.getByRole('button', { name: 'Undo' }).click();
    t.equal(await panel.getByLabel(/^Expire/).inputValue(), '604800');
    await page.context().close();
  });

  await t.test('own name servers beside those of the service, and flattening', async (t) => {
    await call('POST', `/zones/${zone.id}/dns_records`, { type: 'NS', name: '@', content: 'ns.elsewhere.example' });
    const page = await enter('/zones/example.com/settings');
    const panel = page.getByRole('region', { name: 'SOA and answers' });
    t.equal((await explain('example.com', 'NS')).length, 2);
    await panel.getByLabel('Also answer the NS records of the list').check();
    await panel.getByLabel('Flatten every CNAME').check();
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('served everywhere').waitFor();
    t.equal((await explain('example.com', 'NS')).length, 3);
    t.match(await call('GET', `/zones/${zone.id}/dns_settings`), { multi_provider: true, flatten_all_cnames: true });
    await page.context().close();
  });

  await t.test('what new zones of an account begin with', async (t) => {
    const [account] = await call('GET', '/accounts');
    const proxied = { type: 'A', name: 'www', content: '192.0.2.7', proxied: true };
    await call('POST', `/zones/${zone.id}/dns_records`, proxied);
    const page = await enter('/access/accounts');
    const panel = page.getByRole('region', { name: `New zones of ${account.name}` });
    await panel.getByLabel(/^Refresh/).fill('3600');
    await panel.getByLabel(/^TTL of NS/).fill('7200');
    await dashboard.inspect(page, 'account-defaults');
    await panel.getByRole('button', { name: 'Save' }).click();
    await panel.getByText('Saved.', { exact: true }).waitFor();
    const later = await call('POST', '/zones', { name: 'later.example' });
    t.match(await call('GET', `/zones/${later.id}/dns_settings`), { ns_ttl: 7200, soa: { refresh: 3600 } });
    t.match(await call('GET', `/zones/${zone.id}/dns_settings`), { ns_ttl: 86400, soa: { refresh: 7200 } });
    const never = page.getByLabel('Never answer with the edge');
    t.notMatch(await explain('www.example.com', 'A'), [/192\.0\.2\.7$/]);
    await never.click();
    await until(async () => (await explain('www.example.com', 'A'))[0]?.endsWith(' 192.0.2.7') === true);
    await until(async () => never.isEnabled());
    t.ok(await never.isChecked());
    await page.context().close();
  });

  await t.test('who may only read sees them, and changes nothing', async (t) => {
    const groups = await call('GET', '/user/tokens/permission_groups');
    const read = groups.filter(({ name }: { name: string }) => ['DNS Read', 'Zone Read'].includes(name));
    const { value } = await call('POST', '/user/tokens', {
      name: 'reader',
      policies: [{ effect: 'allow', resources: { 'com.cloudflare.api.account.zone.*': '*' }, permission_groups: read }],
    });
    const page = await enter('/zones/example.com/settings', { token: value });
    const panel = page.getByRole('region', { name: 'SOA and answers' });
    t.equal(await panel.getByLabel(/^Refresh/).inputValue(), '7200');
    t.not(await panel.getByLabel(/^Refresh/).getAttribute('readonly'), null);
    t.equal(await panel.getByRole('button', { name: 'Save' }).count(), 0);
    t.ok(await panel.getByLabel('Flatten every CNAME').isDisabled());
    await page.context().close();
  });
});

t.test('what waits for others', { skip: noBrowser, timeout: 540_000 }, async (t: Test) => {
  const dashboard = await startDashboard(t, {
    ZONEPLANE_ZONE_ACTIVATION: 'delegation',
    ZONEPLANE_RESOLVER_UPSTREAMS: '',
  });
  const { call, enter } = dashboard;

  await t.test('a zone that is not delegated', async (t) => {
    const zone = await call('POST', '/zones', { name: 'waits.example' });
    t.equal(zone.status, 'pending');
    const page = await enter(`/zones/${zone.id}/records`);
    const told = page.getByRole('region', { name: 'Delegation' });
    await told.getByText('The zone becomes active when waits.example is delegated to').waitFor();
    await dashboard.inspect(page, 'zone-pending');
    await told.getByRole('button', { name: 'Check now' }).click();
    await told.getByRole('status').getByText('its parent must delegate it to').waitFor();
    await page.context().close();
  });

  await t.test('a signed zone whose parent cannot be asked', async (t) => {
    const zone = await call('POST', '/zones', { name: 'signed.example' });
    await call('PATCH', `/zones/${zone.id}/dnssec`, { status: 'active' });
    const page = await enter(`/zones/${zone.id}/dnssec`);
    const parent = page.getByRole('region', { name: 'DS record for the parent' });
    await parent.getByRole('button', { name: /^The parent has it/ }).click();
    await parent.getByRole('button', { name: /^Really the parent has it/ }).click();
    await page.getByRole('heading', { name: 'Signed and checked by resolvers' }).waitFor();
    t.equal((await call('GET', `/zones/${zone.id}/dnssec`)).status, 'active');
    await call('PATCH', `/zones/${zone.id}/dnssec`, { status: 'disabled' });
    await page.reload();
    await page.getByRole('heading', { name: 'Being switched off' }).waitFor();
    await parent.getByRole('button', { name: /^The parent has none/ }).click();
    await parent.getByRole('button', { name: /^Really the parent has none/ }).click();
    await parent.getByRole('button', { name: /parent has none/ }).waitFor({ state: 'detached' });
    await page.context().close();
  });
});
