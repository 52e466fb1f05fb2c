/**
 * Two tenants of one server: what B tries over the API at names of A. A is the administrator, whose names are proven by that; B has
 * a token of an account of its own (docs/tenants.md).
 */
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { COUNTS } from '../../src/observe/counts.js';
import { servedZoneOfName } from '../../src/store/zones/zones.js';
import { type InstallationOptions, install } from './installation.js';

const EMAIL = 'b@example.org';

async function startWorld(t: Test, options: InstallationOptions = {}) {
  const installation = await install(t, options);
  const account = await createAccount(installation.operator, { name: 'B', members: [EMAIL] });
  const headers = await installation.token({ email: EMAIL });
  const home = (await installation.call('GET', '/accounts')).json.result.find(
    ({ name }: { name: string }) => name !== 'B',
  ).id;
  const b = (method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE', path: string, body?: unknown) =>
    installation.call(method, path, body, { headers });
  const claim = async (name: string): Promise<string> => {
    const { status, json } = await b('POST', '/zones', { name, account: { id: account.id } });
    if (status !== 200) throw new Error(JSON.stringify(json));
    return json.result.id;
  };
  return { ...installation, b, headers, claim, home, account: account.id };
}

for (const activation of ['trust', 'auto'] as const) {
  t.test(`${activation}: however B writes a name of A, its zone is a claim without effect`, async (t) => {
    const { store, b, createZone, account } = await startWorld(t, { activation });
    const mine = await createZone('victim.test');
    const idn = await createZone('xn--bcher-kva.test');
    const served = servedZoneOfName(store, 'victim.test');
    const ways = [
      'victim.test',
      'VICTIM.test',
      'victim.test.',
      ' victim.test',
      'www.victim.test',
      '_acme-challenge.victim.test',
    ];
    for (const name of [...ways, 'bücher.test', 'XN--BCHER-KVA.TEST', 'BÜCHER.test', '*.victim.test', 'test']) {
      const { status, json } = await b('POST', '/zones', { name, account: { id: account } });
      if (status === 200) {
        t.equal(json.result.status, 'pending', name);
        const checked = await b('PUT', `/zones/${json.result.id}/activation_check`);
        t.equal(checked.status, 200, name);
        t.equal((await b('GET', `/zones/${json.result.id}`)).json.result.status, 'pending', name);
        t.equal((await b('GET', `/zones/${json.result.id}`)).json.result.meta?.proven_by ?? null, null, name);
      } else t.ok(status >= 400 && status < 500, `${name}: ${status}`);
    }
    t.equal(servedZoneOfName(store, 'victim.test'), served);
    t.equal(servedZoneOfName(store, 'www.victim.test'), undefined);
    const own = (await b('GET', '/zones?per_page=50')).json.result.map(({ id }: { id: string }) => id);
    t.notOk(own.includes(mine) || own.includes(idn));
  });
}

t.test('the names of the name servers, and all above them, are for administrators', async (t) => {
  const { b, call, headers, createZone, account, base } = await startWorld(t, { activation: 'trust' });
  const [host] = base.settings.nameServers;
  const typed = { ...headers, 'content-type': 'text/plain' };
  const file = '@ 60 SOA ns.evil.test. x.evil.test. 1 2 3 4 5\n@ 60 NS ns.evil.test.\n@ 60 A 203.0.113.6\n';
  for (let name = host!; name.includes('.'); name = name.slice(name.indexOf('.') + 1)) {
    for (const spelling of [name, name.toUpperCase(), `${name}.`]) {
      const { status } = await b('POST', '/zones', { name: spelling, account: { id: account } });
      t.ok(status >= 400 && status < 500, `${spelling}: ${status}`);
    }
    const wanted = `/zones/import?name=${name}&account_id=${account}`;
    const read = await call('POST', wanted, undefined, { headers: typed, text: file });
    t.match([read.status, read.json.errors[0]?.message], [400, /a name of this installation/], `a file of ${name}`);
  }
  t.ok(await createZone(host!.slice(host!.indexOf('.') + 1)), 'the administrator may');
});

t.test('files and batches make no other claims than requests do', async (t) => {
  const { store, b, call, headers, createZone, account } = await startWorld(t, { activation: 'auto' });
  await createZone('victim.test');
  const before = servedZoneOfName(store, 'victim.test');
  const file = '@ 60 SOA ns1.evil.test. x.evil.test. 1 2 3 4 5\n@ 60 NS ns1.evil.test.\nwww 60 A 203.0.113.6\n';
  const typed = { ...headers, 'content-type': 'text/plain' };
  const wanted = `/zones/import?name=victim.test&account_id=${account}`;
  const read = await call('POST', wanted, undefined, { headers: typed, text: file });
  t.match([read.status, read.json.result.imported], [200, true], read.text);
  t.equal((await b('GET', `/zones/${read.json.result.id}`)).json.result.status, 'pending');
  const { json } = await b('POST', '/zones', { name: 'evil.test', account: { id: account } });
  const records = `/zones/${json.result.id}/dns_records`;
  for (const name of ['www.victim.test', 'www.victim.test.']) {
    const { json: made } = await b('POST', records, { type: 'A', name, content: '203.0.113.6', ttl: 60 });
    if (made.success) t.match(made.result.name, /\.evil\.test$/, 'a name of B’s own zone');
  }
  const batch = await b('POST', `${records}/batch`, {
    posts: [{ type: 'NS', name: 'victim.test.', content: 'ns1.evil.test' }],
  });
  if (batch.status === 200) t.match(batch.json.result.posts[0].name, /\.evil\.test$/);
  const renamed = await b('PATCH', `/zones/${json.result.id}`, { name: 'victim.test' });
  t.not((await b('GET', `/zones/${json.result.id}`)).json.result.name, 'victim.test', `${renamed.status}`);
  t.equal(servedZoneOfName(store, 'victim.test'), before);
});

t.test('a hold counts for who has proven the name', async (t) => {
  const { b, claim, call, createZone, home, account } = await startWorld(t, { activation: 'auto' });
  const pending = await claim('victim.test');
  t.equal((await b('POST', `/zones/${pending}/hold?include_subdomains=true`, {})).status, 200);
  const mine = await createZone('victim.test');
  t.equal((await call('POST', '/zones', { name: 'shop.victim.test', account: { id: home } })).status, 200);
  t.equal((await call('POST', `/zones/${mine}/hold?include_subdomains=true`, {})).status, 200);
  const { status, json } = await b('POST', '/zones', { name: 'other.victim.test', account: { id: account } });
  t.ok(status >= 400, JSON.stringify(json));
  t.equal(
    (await b('PUT', `/zones/${pending}/activation_check`)).status >= 400,
    true,
    'a proven hold denies activation',
  );
});

t.test('the domain of a bucket is A’s, whoever attached the name before', async (t) => {
  const { b, claim, call, createZone, home, account } = await startWorld(t, { activation: 'auto' });
  const pending = await claim('victim.test');
  t.equal((await b('POST', `/accounts/${account}/r2/buckets`, { name: 'theirs' })).status, 200);
  const attach = { domain: 'cdn.victim.test', enabled: true };
  const theirs = await b('POST', `/accounts/${account}/r2/buckets/theirs/domains/custom`, {
    ...attach,
    zoneId: pending,
  });
  t.equal(theirs.status, 200, theirs.text);
  const mine = await createZone('victim.test');
  t.equal((await call('POST', `/accounts/${home}/r2/buckets`, { name: 'mine' })).status, 200);
  const made = await call('POST', `/accounts/${home}/r2/buckets/mine/domains/custom`, { ...attach, zoneId: mine });
  t.equal(made.status, 200, made.text);
  const shown = (await call('GET', `/accounts/${home}/r2/buckets/mine/domains/custom/cdn.victim.test`)).json.result;
  t.match(shown, { zoneId: mine, status: { ownership: 'active' } });
  const other = (await b('GET', `/accounts/${account}/r2/buckets/theirs/domains/custom/cdn.victim.test`)).json.result;
  t.match(other, { zoneId: pending, status: { ownership: 'pending' } });
  t.equal((await b('DELETE', `/accounts/${account}/r2/buckets/theirs/domains/custom/cdn.victim.test`)).status, 200);
  t.equal((await call('GET', `/accounts/${home}/r2/buckets/mine/domains/custom/cdn.victim.test`)).status, 200);
});

t.test('the questions for a name are shown to whose zone answered them', async (t) => {
  const { b, claim, call, createZone, clock, activity } = await startWorld(t, { activation: 'auto' });
  const mine = await createZone('victim.test');
  const twin = await claim('victim.test');
  const counts = Array.from({ length: COUNTS }, (_, i) => (i === 0 ? 5 : 0));
  const asked = {
    atMs: clock.nowMs(),
    client: '192.0.2.9',
    protocol: 'udp',
    type: 'A',
    rcode: 'NOERROR',
    flags: [],
  } as const;
  const sample = {
    ...asked,
    name: 'secret.victim.test',
    size: 60,
    zone: 'victim.test',
    source: 'plain',
    tookUs: 3,
    weight: 1,
  } as const;
  activity.add({ atMs: clock.nowMs(), total: counts, zones: [{ zone: 'victim.test', counts }], samples: [sample] });
  const paths = ['/activity', `/zones/${twin}/activity`, '/activity/queries', `/zones/${twin}/activity/queries`];
  for (const path of paths) {
    const { status, text, json } = await b('GET', path);
    t.equal(status, 200, path);
    t.notMatch(text, /secret|192\.0\.2\.9/, path);
    if (json.result.totals) t.equal(json.result.totals.queries, 0, path);
  }
  t.match((await call('GET', `/zones/${mine}/activity/queries`)).text, /secret\.victim\.test/);
  await call('DELETE', `/zones/${mine}`);
  t.notMatch(
    (await b('GET', `/zones/${twin}/activity/queries`)).text,
    /secret/,
    'a name that passes on takes no past along',
  );
});

t.test('explain, records and searches show nothing of A’s zone to a claim of the same name', async (t) => {
  const { b, claim, call, createZone } = await startWorld(t, { activation: 'auto' });
  const mine = await createZone('victim.test');
  const hidden = { type: 'A', name: 'www', content: '203.0.113.44', proxied: true, settings: { origin_port: 8123 } };
  await call('POST', `/zones/${mine}/dns_records`, { ...hidden, ttl: 1 });
  await call('PATCH', `/zones/${mine}/settings/ssl`, { value: 'strict' });
  const ids = [await claim('victim.test'), await claim('www.victim.test'), await claim('evil.test')];
  await b('POST', `/zones/${ids[2]}/dns_records`, {
    type: 'CNAME',
    name: 'steal',
    content: 'www.victim.test',
    ttl: 60,
  });
  await b('POST', `/zones/${ids[2]}/dns_records`, {
    type: 'CNAME',
    name: 'flat',
    content: 'www.victim.test',
    ttl: 1,
    proxied: true,
  });
  for (const id of ids) {
    for (const name of ['@', 'www', 'steal', 'flat', 'www.victim.test.']) {
      const { text } = await b('GET', `/zones/${id}/dns_records/explain?name=${name}&type=A`);
      t.notMatch(text, /203\.0\.113\.44|8123|strict/, `${id} ${name}`);
    }
    const paths = [
      'dns_records',
      'dns_records?search=203.0.113',
      'dns_records/export',
      'changes',
      'ssl/certificate_packs?status=all',
    ];
    for (const path of paths) t.notMatch((await b('GET', `/zones/${id}/${path}`)).text, /203\.0\.113\.44/, path);
  }
  t.notMatch((await b('GET', '/zones?name=victim.test')).text, new RegExp(mine));
  t.notMatch((await b('GET', '/zones?account.name=contains:a&match=any&name=victim.test')).text, new RegExp(mine));
  t.notMatch((await b('GET', '/overview')).text, /victim\.test/);
});

t.test('nobody asks origins in the name of others with a claim alone', async (t) => {
  const { b, claim, createZone, account } = await startWorld(t, { activation: 'auto' });
  await createZone('victim.test');
  await claim('victim.test');
  await claim('below.victim.test');
  await claim('own.test');
  const pool = async (Host: string) => {
    const origins = [{ name: 'o', address: '203.0.113.44', header: { Host: [Host] } }];
    const made = await b('POST', `/accounts/${account}/load_balancers/pools`, {
      name: Host.replace(/\W/g, '-'),
      origins,
    });
    return made.status;
  };
  t.equal(await pool('www.victim.test'), 400);
  t.equal(await pool('www.below.victim.test'), 400);
  t.equal(await pool('www.own.test'), 200);
});

t.test('what happens to a name is told to both accounts', async (t) => {
  const delegations = new Map<string, readonly string[]>();
  const world = await startWorld(t, { activation: 'auto', findDelegation: async (name) => delegations.get(name) });
  const { b, claim, call, account, home } = world;
  const theirs = await claim('victim.test');
  delegations.set('victim.test', ['ns1.dns.test', 'ns2.dns.test']);
  await b('PUT', `/zones/${theirs}/activation_check`);
  t.match((await b('GET', `/zones/${theirs}`)).json.result, { status: 'active' });
  const mine = (await call('POST', '/zones', { name: 'victim.test', account: { id: home } })).json.result.id;
  t.match((await call('GET', `/zones/${mine}`)).json.result, { status: 'active' }, 'the operator’s word is stronger');
  t.match((await b('GET', `/zones/${theirs}`)).json.result, { status: 'moved' });
  const log = (await b('GET', `/accounts/${account}/audit_logs?per_page=50`)).text;
  t.match(log, /zone\.move/);
  t.notMatch(log, new RegExp(mine), 'not by whom');
  t.match((await call('GET', `/accounts/${home}/audit_logs?per_page=50`)).text, /zone\.create/);
});
