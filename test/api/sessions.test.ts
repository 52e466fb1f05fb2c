/** Sessions of browsers: what begins and ends them, what they may do, and from which pages. */
import t, { type Test } from 'tap';
import { createKey, revokeKey } from '../../src/control/access/keys.js';
import { createLoginLink } from '../../src/control/access/sessions.js';
import { allKeys } from '../../src/store/access/keys.js';
import { ADMIN_HEADERS, ANONYMOUS, type Answer, EMAIL, type Installation, install, KEY } from './installation.js';

const SESSIONS = '/user/sessions';
const OWN = { 'zoneplane-dashboard': '1' };
const HOUR = 3_600_000;

interface Browser {
  readonly cookie: string;
  readonly id: string;
  readonly setCookie: string;
}

async function signIn(installation: Installation, headers: Record<string, string> = ADMIN_HEADERS): Promise<Browser> {
  const answer = await installation.call('POST', SESSIONS, undefined, { headers });
  if (answer.status !== 200) throw new Error(answer.text);
  const setCookie = String(answer.headers['set-cookie']);
  return { cookie: setCookie.split(';')[0]!, id: answer.json.result.id, setCookie };
}

function as(
  { call }: Installation,
  { cookie }: Pick<Browser, 'cookie'>,
): (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown, more?: Record<string, string>) => Promise<Answer> {
  return (method, path, body, more = method === 'GET' ? {} : OWN) =>
    call(method, path, body, { headers: { ...ANONYMOUS, cookie, ...more } });
}

/** A token that may edit the records at `_acme-challenge` of one zone. */
async function narrowToken({ operator }: Installation, zone: string): Promise<{ id: string; authorization: string }> {
  const policy = {
    effect: 'allow' as const,
    permission_groups: [{ id: '4755a26eedb94da69e1066d98aa820be' }],
    resources: { [`com.cloudflare.api.account.zone.${zone}`]: '*' },
    records: { names: ['_acme-challenge.*'], types: ['TXT'] },
  };
  const { key, secret } = await createKey(operator, { kind: 'token', name: 'acme', email: EMAIL, policies: [policy] });
  return { id: key.id, authorization: `Bearer ${secret}` };
}

t.test('a credential becomes a session that can do the same', async (t) => {
  const installation = await install(t);
  const { createZone, misfits, store } = installation;
  const zone = await createZone('example.com');
  const browser = await signIn(installation);
  t.match(browser.setCookie, /^zoneplane_[0-9a-f]{8}=[\w-]{40}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=604800$/);
  const call = as(installation, browser);
  t.equal((await call('GET', `/zones/${zone}`)).json.result.name, 'example.com');
  const made = await call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' });
  t.equal(made.status, 200);
  t.match((await call('GET', `${SESSIONS}/current`)).json.result, {
    id: browser.id,
    current: true,
    credential: { name: 'First administrator', type: 'key' },
    user: { email: EMAIL },
  });
  const secret = browser.cookie.split('=')[1]!;
  const rows = store.prepare('SELECT * FROM sessions').all();
  t.equal(rows.length, 1);
  t.notMatch(JSON.stringify(rows), secret, 'only a hash is stored');
  t.equal((await call('POST', SESSIONS)).status, 400, 'a session begins no other');
  t.equal(
    (await call('GET', '/zones', undefined, { 'x-auth-email': EMAIL, 'x-auth-key': 'x'.repeat(40) })).status,
    403,
  );
  t.strictSame(misfits, []);
});

t.test('over TLS, as a trusted proxy says, the cookie is bound to it', async (t) => {
  const installation = await install(t, { trustedProxies: ['127.0.0.0/8'] });
  const secure = { ...ADMIN_HEADERS, 'x-forwarded-for': '192.0.2.7', 'x-forwarded-proto': 'https' };
  const browser = await signIn(installation, secure);
  t.match(browser.setCookie, /^__Host-zoneplane_[0-9a-f]{8}=.*; Secure; Max-Age=/);
  const call = as(installation, browser);
  t.equal((await call('GET', '/zones', undefined, { 'x-forwarded-proto': 'https' })).status, 200);
  t.equal((await call('GET', '/zones')).status, 400, 'not without TLS');
  const stranger = await install(t);
  t.notMatch((await signIn(stranger, { ...ADMIN_HEADERS, 'x-forwarded-proto': 'https' })).setCookie, /Secure/);
});

t.test('only pages of the dashboard', async (t) => {
  const installation = await install(t);
  const call = as(installation, await signIn(installation));
  const create = (headers: Record<string, string>): Promise<Answer> =>
    call('POST', '/zones?dry_run=true', { name: 'example.com' }, headers);
  t.equal((await create(OWN)).status, 200);
  for (const [headers, reason] of [
    [{}, /needs the header zoneplane-dashboard/],
    [{ ...OWN, 'sec-fetch-site': 'cross-site' }, /another site/],
    [{ ...OWN, 'sec-fetch-site': 'same-site', origin: 'http://localhost:80' }, /another site/],
    [{ ...OWN, origin: 'http://evil.example' }, /another host/],
    [{ ...OWN, origin: 'null' }, /another host/],
    [{ ...OWN, origin: 'http://localhost:8080' }, /another host/],
  ] as const) {
    const answer = await create(headers);
    t.equal(answer.status, 403);
    t.match(answer.json.errors[0].message, reason);
  }
  t.equal((await create({ ...OWN, origin: 'http://localhost:80' })).status, 200, 'the own origin, with its port');
  t.equal((await create({ ...OWN, 'sec-fetch-site': 'same-origin' })).status, 200);
  t.equal((await call('GET', '/zones', undefined, { 'sec-fetch-site': 'cross-site' })).status, 403);
  t.equal((await call('GET', '/zones', undefined, { 'sec-fetch-site': 'none' })).status, 200, 'the address bar');
});

t.test('a session ends', async (t) => {
  const installation = await install(t);
  const { clock, operator, store } = installation;
  const isAlive = async (browser: Browser): Promise<boolean> => {
    const { status, json } = await as(installation, browser)('GET', '/zones');
    if (status !== 200) t.match([status, json.errors[0].code], [401, 9109]);
    return status === 200;
  };
  const tokenOf = async (days = 30): Promise<{ id: string; authorization: string }> => {
    const expiresAt = clock.nowUs() + days * 24 * HOUR * 1000;
    const input = { kind: 'token', name: 'test', email: EMAIL, expiresAt } as const;
    const { key, secret } = await createKey(operator, input);
    return { id: key.id, authorization: `Bearer ${secret}` };
  };
  await t.test('after twelve hours without use, and after seven days', async (t) => {
    const idle = await signIn(installation);
    const busy = await signIn(installation);
    clock.advance(11 * HOUR);
    t.ok(await isAlive(busy));
    clock.advance(2 * HOUR);
    t.ok(await isAlive(busy));
    t.notOk(await isAlive(idle));
    for (let hours = 13; hours < 167; hours += 11) {
      t.ok(await isAlive(busy), `after ${hours} hours`);
      clock.advance(11 * HOUR);
    }
    clock.advance(HOUR);
    t.notOk(await isAlive(busy));
    await signIn(installation);
    t.equal(store.prepare('SELECT * FROM sessions').all().length, 1, 'those that are over are removed');
  });
  await t.test('with its credential', async (t) => {
    const expiring = await tokenOf(1 / 24);
    const browser = await signIn(installation, { authorization: expiring.authorization });
    t.ok(await isAlive(browser));
    clock.advance(HOUR + 1);
    t.notOk(await isAlive(browser));
    const revoked = await tokenOf();
    const second = await signIn(installation, { authorization: revoked.authorization });
    await revokeKey(operator, revoked.id);
    t.notOk(await isAlive(second));
    const rolled = await tokenOf();
    const third = await signIn(installation, { authorization: rolled.authorization });
    const roll = await installation.call('PUT', `/user/tokens/${rolled.id}/value`, {});
    t.equal(roll.status, 200, roll.text);
    t.notOk(await isAlive(third), 'the credential has another secret');
    t.strictSame((await installation.call('GET', SESSIONS)).json.result.length, 1, 'those do not count any more');
  });
  await t.test('by signing out, and by others', async (t) => {
    const browser = await signIn(installation);
    const out = await as(installation, browser)('DELETE', `${SESSIONS}/current`);
    t.match(String(out.headers['set-cookie']), /=; Path=\/; HttpOnly; SameSite=Strict; Max-Age=0$/);
    t.notOk(await isAlive(browser));
    const second = await signIn(installation);
    t.equal((await installation.call('DELETE', `${SESSIONS}/${second.id}`)).status, 200);
    t.notOk(await isAlive(second));
    t.equal((await installation.call('DELETE', `${SESSIONS}/${second.id}`)).status, 404);
    t.equal((await installation.call('DELETE', `${SESSIONS}/current`)).status, 400, 'a key is not a session');
  });
  await t.test('where its credential may not be used', async (t) => {
    const { secret } = await createKey(operator, {
      kind: 'token',
      name: 'here',
      email: EMAIL,
      networks: ['127.0.0.0/8'],
    });
    const browser = await signIn(installation, { authorization: `Bearer ${secret}` });
    const request = (remoteAddress: string) =>
      installation.app.inject({ url: '/client/v4/zones', headers: { cookie: browser.cookie }, remoteAddress });
    t.equal((await request('127.0.0.1')).statusCode, 200);
    t.equal((await request('192.0.2.1')).statusCode, 403);
  });
  await t.test('when there are a hundred newer ones', async (t) => {
    const oldest = await signIn(installation);
    clock.advance(1);
    for (let n = 0; n < 100; n++) await signIn(installation);
    t.notOk(await isAlive(oldest));
  });
});

t.test('a narrow token', async (t) => {
  const installation = await install(t);
  const { createZone } = installation;
  const zone = await createZone('example.com');
  await createZone('example.org');
  await signIn(installation);
  const token = await narrowToken(installation, zone);
  const browser = await signIn(installation, token);
  const call = as(installation, browser);
  t.strictSame(
    (await call('GET', '/zones')).json.result.map(({ name }: { name: string }) => name),
    ['example.com'],
  );
  const txt = { type: 'TXT', name: '_acme-challenge.www', content: 'x' };
  t.equal((await call('POST', `/zones/${zone}/dns_records`, txt)).status, 200);
  t.equal((await call('POST', `/zones/${zone}/dns_records`, { ...txt, name: 'www' })).status, 403);
  const sessions = (await call('GET', SESSIONS)).json.result;
  t.strictSame(
    sessions.map(({ id }: Browser) => id),
    [browser.id],
    'it sees no session of others',
  );
  const { areas, records, administrator } = (await call('GET', `/user/permissions?zone_id=${zone}`)).json.result;
  t.strictSame([areas.dns, areas.zone, areas.userTokens, administrator], ['write', null, null, false]);
  t.strictSame(records, [{ names: ['_acme-challenge.*'], types: ['TXT'] }]);
  const everywhere = (await call('GET', '/user/permissions')).json.result;
  t.equal(everywhere.areas.dns, 'write', 'somewhere');
  t.equal(everywhere.creates_zones, false);
  const { headers } = await installation.call('GET', '/user/permissions');
  t.equal(headers['set-cookie'], undefined);
  t.strictSame(installation.misfits, []);
});

t.test('what a credential may do is what it is told', async (t) => {
  const installation = await install(t);
  const zone = await installation.createZone('example.com');
  const account = (await installation.call('GET', '/accounts')).json.result[0].id;
  const policy = (group: string, resource: string) => ({
    policies: [{ effect: 'allow' as const, permission_groups: [{ id: group }], resources: { [resource]: '*' } }],
  });
  const zoneWrite = 'e6d2666161e84845a636613608cee8d5';
  const kinds = {
    'for one zone': { zoneIds: [zone] },
    'for one account': { accountId: account },
    'that only reads': { readOnly: true },
    'with policies for one zone': policy(zoneWrite, `com.cloudflare.api.account.zone.${zone}`),
    'with policies for all zones': policy(zoneWrite, 'com.cloudflare.api.account.zone.*'),
  };
  for (const [what, limits] of Object.entries(kinds)) {
    const credential = await installation.token(limits);
    const call = as(installation, await signIn(installation, credential));
    const { areas, creates_zones: creates, all_zones: all } = (await call('GET', '/user/permissions')).json.result;
    const isDone = async (method: 'GET' | 'POST', path: string, body?: object): Promise<boolean> =>
      (await call(method, path, body)).status !== 403;
    t.equal(creates, await isDone('POST', '/zones', { name: `${what.replaceAll(' ', '-')}.example` }), `zones ${what}`);
    const victim = { policies: [{ effect: 'allow', permission_groups: [{ id: zoneWrite }], resources: {} }] };
    const makes = await isDone('POST', '/user/tokens', { name: what, ...victim });
    t.equal(areas.userTokens === 'write', makes, `tokens ${what}`);
    t.equal(areas.buckets !== null, await isDone('GET', `/accounts/${account}/r2/buckets`), `buckets ${what}`);
    t.equal(all, await isDone('GET', `/accounts/${account}/dns_templates`), `templates ${what}`);
  }
});

t.test('a token that may only read', async (t) => {
  const installation = await install(t);
  const reading = await installation.token({ readOnly: true });
  const call = as(installation, await signIn(installation, reading));
  t.equal((await call('GET', '/zones')).status, 200);
  t.equal((await call('POST', '/zones', { name: 'example.com' })).status, 403);
  t.equal((await call('GET', '/user/permissions')).json.result.areas.dns, 'read');
  t.equal((await call('DELETE', `${SESSIONS}/current`)).status, 200);
});

async function useLink({ call }: Installation, secret: string): Promise<Answer> {
  return call('POST', SESSIONS, undefined, { headers: { authorization: `Login-Link ${secret}` } });
}

t.test('a link signs in once', async (t: Test) => {
  const installation = await install(t);
  const { operator, clock, store, call } = installation;
  const link = await createLoginLink(operator);
  t.notMatch(JSON.stringify(store.prepare('SELECT * FROM login_links').all()), link);
  t.equal((await call('GET', '/zones', undefined, { headers: { authorization: `Login-Link ${link}` } })).status, 400);
  const [first, second] = await Promise.all([useLink(installation, link), useLink(installation, link)]);
  t.strictSame([first.status, second.status].sort(), [200, 403], 'one of two at once');
  t.equal((await useLink(installation, link)).status, 403);
  const browser = { cookie: String((first.status === 200 ? first : second).headers['set-cookie']).split(';')[0]! };
  t.equal((await as(installation, browser)('GET', '/user')).json.result.email, EMAIL);

  const old = await createLoginLink(operator);
  clock.advance(15 * 60_000 + 1);
  t.equal((await useLink(installation, old)).status, 403, 'too old');
  t.equal((await useLink(installation, 'x'.repeat(40))).status, 403);

  const last = await createLoginLink(operator);
  const { id } = allKeys(store)[0]!;
  await revokeKey(operator, Buffer.from(id).toString('hex'));
  t.equal((await useLink(installation, last)).status, 403, 'the credential behind it is gone');
  await t.rejects(createLoginLink(operator), { code: 9207 });
  const { actor } = { actor: { ...operator.actor, kind: 'key' as const } };
  await t.rejects(createLoginLink({ ...operator, actor }), { code: 1002 }, 'only at the machine');
});

t.test('guessing is limited like that of credentials', async (t) => {
  const installation = await install(t, { rateLimit: 3 });
  for (let n = 0; n < 3; n++) t.equal((await useLink(installation, 'y'.repeat(40))).status, 403);
  t.equal((await useLink(installation, 'y'.repeat(40))).status, 429);
  const cookie = 'zoneplane_00000000=z';
  t.equal((await as(installation, { cookie })('GET', '/zones')).status, 429);
  t.equal(
    (await installation.call('POST', SESSIONS, undefined, { headers: { authorization: `Bearer ${KEY}` } })).status,
    200,
  );
});
