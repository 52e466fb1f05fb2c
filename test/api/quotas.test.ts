/** Quotas of accounts: what is counted, what is refused and in which words, and who raises them. */
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { QUOTA_KINDS } from '../../src/store/access/quotas.js';
import { type CallOptions, install } from './installation.js';

const PEER = { name: 'ns', ip: '192.0.2.53', port: 53 };

async function twoAccounts(t: Test) {
  const world = await install(t);
  const { id } = await createAccount(world.operator, { name: 'Other', members: ['other@example.org'] });
  const headers = await world.token({ email: 'other@example.org' });
  const call = (
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    more?: CallOptions,
  ) =>
    world.call(method, path, body, {
      headers: { ...headers, ...more?.headers },
      ...(more?.text && { text: more.text }),
    });
  const allow = (quotas: object) => world.call('PATCH', `/accounts/${id}/quotas`, quotas);
  const used = async (): Promise<Record<string, number>> => {
    const { json } = await call('GET', `/accounts/${id}/quotas`);
    return Object.fromEntries(QUOTA_KINDS.map((kind) => [kind, json.result[kind].used]));
  };
  return { ...world, id, call, allow, used };
}

t.test('a quota refuses what is more, names itself, and leaves deletions alone', async (t) => {
  const { id, call, allow, used, misfits } = await twoAccounts(t);
  const zone = (await call('POST', '/zones', { name: 'one.example', account: { id } })).json.result.id;
  const records = `/zones/${zone}/dns_records`;
  const first = (await call('POST', records, { type: 'A', name: 'a', content: '192.0.2.1' })).json.result.id;
  const upload = (key: string, text: string) =>
    call('PUT', `/accounts/${id}/r2/buckets/first/objects/${key}`, undefined, { text });
  await call('POST', `/accounts/${id}/r2/buckets`, { name: 'first' });
  t.match(await upload('o1', '12345'), { status: 200 });
  await call('POST', `/zones/${zone}/custom_hostnames`, { hostname: 'a.customer.net' });
  await call('POST', `/accounts/${id}/secondary_dns/peers`, PEER);
  t.match(await used(), {
    zones: 1,
    records: 1,
    hostnames: 1,
    buckets: 1,
    objects: 1,
    lists: 1,
    members: 1,
    tokens: 0,
  });

  const tight = {
    zones: 1,
    records: 1,
    hostnames: 1,
    buckets: 1,
    objects: 1,
    lists: 1,
    octets: 20,
    records_per_file: 2,
  };
  t.match(await allow(tight), { status: 200, json: { result: { zones: { used: 1, most: 1, own: true } } } });
  const refusals = [
    [
      await call('POST', '/zones', { name: 'two.example', account: { id } }),
      403,
      /may have 1 zones, and has 1\. An adm/,
    ],
    [await call('POST', records, { type: 'A', name: 'b', content: '192.0.2.1' }), 400, /81045.*1 records in all zones/],
    [await call('POST', `/zones/${zone}/custom_hostnames`, { hostname: 'b.customer.net' }), 403, /quota of 1 custom/],
    [await call('POST', `/accounts/${id}/r2/buckets`, { name: 'second' }), 403, /may have 1 buckets/],
    [await upload('o2', 'x'), 403, /may have 1 objects/],
    [await upload('o1', 'x'.repeat(2000)), 403, /may have 20 octets of objects/],
    [await call('POST', `/accounts/${id}/secondary_dns/peers`, { ...PEER, name: 'n2' }), 403, /may have 1 peers, TSIG/],
    [
      await call('POST', `${records}/import`, undefined, {
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
        text: '--b\r\ncontent-disposition: form-data; name="file"\r\n\r\n$GENERATE 1-3 h$ A 192.0.2.1\n\r\n--b--\r\n',
      }),
      400,
      /2 records/,
    ],
  ] as const;
  for (const [answer, status, text] of refusals) t.match([answer.status, answer.text], [status, text]);
  t.match(
    await call('POST', `${records}/batch`, {
      deletes: [{ id: first }],
      posts: [{ type: 'A', name: 'b', content: '192.0.2.2' }],
    }),
    { status: 200 },
    'what takes the place of something is not more',
  );
  t.match(await upload('o1', 'abc'), { status: 200 });

  t.match(await call('DELETE', `/accounts/${id}/r2/buckets/first/objects/o1`), { status: 200 });
  t.match(await call('DELETE', `/accounts/${id}/r2/buckets/first`), { status: 200 });
  t.match(await call('DELETE', `/zones/${zone}`), { status: 200 });
  t.match(await used(), { zones: 0, records: 0, hostnames: 0, buckets: 0, objects: 0, octets: 0, lists: 1 });
  t.match(await allow({ zones: null }), { json: { result: { zones: { most: 100_000, own: false } } } });
  t.strictSame(misfits, []);
});

t.test('administrators raise them, nobody else; an account that is alone has none', async (t) => {
  const alone = await install(t);
  const home = (await alone.call('GET', '/accounts')).json.result[0].id as string;
  t.match(await alone.call('GET', `/accounts/${home}/quotas`), {
    json: { result: { zones: { most: null, own: false } } },
  });
  const { call, id, allow } = await twoAccounts(t);
  t.match(await call('PATCH', `/accounts/${id}/quotas`, { zones: 1_000_000 }), { status: 403 });
  t.match(await call('GET', `/accounts/${id}/quotas`), {
    json: {
      result: { records: { most: 5_000_000 }, octets: { most: 2 ** 40 }, zones: { raised_by: 'administrator' } },
    },
  });
  t.match(await allow({ zones: -1 }), { status: 400 });
});

t.test('the quota of members has a bound, also where a larger one was stored', async (t) => {
  const { id, allow, store, call } = await twoAccounts(t);
  t.match(await allow({ members: 1001 }), { status: 400 });
  t.match(await allow({ members: 1000 }), { status: 200 });
  await store.write(() => store.prepare("UPDATE account_quotas SET most = 5000 WHERE kind = 'members'").run());
  t.match((await call('GET', `/accounts/${id}/quotas`)).json.result, { members: { most: 1000 } });
});
