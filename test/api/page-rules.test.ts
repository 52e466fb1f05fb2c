/** Page rules by the vendor's SDK and by DNSControl's sequence; what is refused, and who may do what. */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { install } from './installation.js';
import { sent } from './sdk-fetch.js';

const rule = (value: string, url: string, more: object = {}) => ({
  targets: [{ target: 'url' as const, constraint: { operator: 'matches' as const, value } }],
  actions: [{ id: 'forwarding_url' as const, value: { url, status_code: 301 as const } }],
  ...more,
});

t.test('page rules', async (t) => {
  const installed = await install(t);
  const { call, createZone, token, operator, misfits } = installed;
  const zone_id = await createZone('example.com');
  const path = `/zones/${zone_id}/pagerules`;
  const { pageRules } = new Cloudflare({
    apiToken: (await token({})).authorization.slice(7),
    baseURL: 'http://api.test/client/v4',
    maxRetries: 0,
    fetch: (url, init) => sent(installed, String(url), init),
  });

  await t.test('the SDK', async (t) => {
    t.strictSame(await pageRules.list({ zone_id }), []);
    const first = await pageRules.create({ zone_id, ...rule('example.com/a/*', 'https://example.net/$1') });
    t.match(first, { ...rule('example.com/a/*', 'https://example.net/$1'), priority: 1, status: 'disabled' });
    t.strictSame(await pageRules.get(first.id, { zone_id }), first);
    const second = await pageRules.create({
      ...{ zone_id, ...rule('example.com/b', 'https://example.net/b'), priority: 5, status: 'active' },
    });
    const ids = async (params: object = {}) => (await pageRules.list({ zone_id, ...params })).map(({ id }) => id);
    t.strictSame(await ids(), [second.id, first.id]);
    t.strictSame(await ids({ direction: 'asc' }), [first.id, second.id]);
    t.strictSame(await ids({ status: 'active' }), [second.id]);
    const edited = await pageRules.edit(first.id, { zone_id, status: 'active' });
    t.match(edited, { id: first.id, status: 'active', actions: first.actions });
    t.strictSame(await pageRules.edit(first.id, { zone_id, status: 'active' }), edited, 'nothing changes');
    const settings = [{ id: 'always_use_https' as const }, { id: 'cache_level' as const, value: 'bypass' as const }];
    const replaced = await pageRules.update(first.id, { zone_id, targets: first.targets, actions: settings });
    t.match(replaced, { status: 'active', actions: settings });
    t.strictSame(await pageRules.delete(first.id, { zone_id }), { id: first.id });
    await t.rejects(pageRules.get(first.id, { zone_id }), /1002/);
    await pageRules.delete(second.id, { zone_id });
  });

  await t.test("DNSControl's sequence: list, create, delete to change", async (t) => {
    const sentRule = rule('www.example.com/*', 'https://example.net/$1', { status: 'active', priority: 1 });
    const { id } = (await call('POST', path, sentRule)).json.result;
    const [listed] = (await call('GET', path)).json.result;
    t.match(listed, { id, ...sentRule });
    t.equal(listed.actions[0].value.status_code, 301);
    t.match(await call('DELETE', `${path}/${id}`), { status: 200, json: { success: true, result: { id } } });
  });

  await t.test('what is refused', async (t) => {
    const cases: readonly (readonly [object, string, RegExp])[] = [
      [rule('example.com/*', 'https://example.net/$2'), '/actions/0/value/url', /no star 2/],
      [
        { ...rule('a', '/'), actions: [{ id: 'edge_cache_ttl', value: 60 }] },
        '/actions/0/id',
        /'edge_cache_ttl' is not part/,
      ],
      [
        { ...rule('a', '/'), actions: [{ id: 'cache_level', value: 'most' }] },
        '/actions/0/value',
        /not a value of cache_level/,
      ],
      [{}, '/targets', /one target/],
    ];
    for (const [body, pointer, message] of cases) {
      const { status, json } = await call('POST', path, body);
      t.equal(status, 400);
      t.match(json.errors[0], { code: 1004, message, source: { pointer } });
    }
    const { id } = (await call('POST', path, rule('a', '/'))).json.result;
    const tag = (await call('GET', path)).headers.etag as string;
    const edit = (etag: string) => call('PATCH', `${path}/${id}`, { priority: 2 }, { headers: { 'if-match': etag } });
    t.equal((await edit('"never"')).status, 412);
    t.equal((await edit(tag)).status, 200);
    t.equal((await call('DELETE', `${path}/${id}?dry_run=true`)).status, 200);
    t.equal((await call('GET', `${path}/${id}`)).status, 200, 'it was only tried');
    await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
    const other = { headers: await token({ email: 'other@example.org' }) };
    t.equal((await call('GET', `${path}/${id}`, undefined, other)).status, 404);
    t.equal((await call('DELETE', `${path}/${id}`, undefined, other)).status, 404);
    const resources = { [`com.cloudflare.api.account.zone.${zone_id}`]: '*' } as const;
    const permission_groups = [{ id: '82e64a83756745bbbb1c9c2701bf816b' }];
    const dns = { headers: await token({ policies: [{ effect: 'allow', permission_groups, resources }] }) };
    t.equal((await call('GET', path, undefined, dns)).status, 403, 'a token for records');
    t.equal((await call('DELETE', `${path}/${id}`, undefined, dns)).status, 403);
  });
  t.strictSame(misfits, []);
});
