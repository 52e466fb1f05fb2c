/** People sign in as themselves: passwords, links, what ends sessions, and when one must prove again who one is. */

import { scryptSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { createLogger } from '../../src/base/log.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { createKey } from '../../src/control/access/keys.js';
import { createLoginLink } from '../../src/control/access/sessions.js';
import { createUserLink } from '../../src/sign-in/links.js';
import { removeFactorsOf, setPasswordOf } from '../../src/sign-in/operator.js';
import { until } from '../support/until.js';
import { ANONYMOUS, EMAIL, install } from './installation.js';
import { ADA, browser, OWN, PASSWORD, signIn, suspend, withAda } from './people.js';

const MINUTE = 60_000;

t.test('with a password', async (t) => {
  const installation = await withAda(t);
  const ada = browser(installation);
  const { status, json, headers } = await signIn(ada, PASSWORD, '  ada@EXAMPLE.com ');
  t.equal(status, 200);
  t.match(
    String(headers['set-cookie']),
    /^zoneplane_[0-9a-f]{8}=[\w-]{40}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=60/,
  );
  t.match(json.result.session, { current: true, credential: null, how: ['password'], user: { email: ADA } });
  const account = (await ada.call('GET', '/accounts')).json.result;
  t.strictSame(
    account.map(({ name }: { name: string }) => name),
    ['Engines'],
  );
  t.equal((await ada.call('POST', '/zones', { name: 'engines.example' })).status, 200);
  t.equal((await ada.call('GET', '/user')).json.result.email, ADA);
  const audit = (await ada.call('GET', '/user/audit_logs')).json.result;
  t.match(audit[0].actor, { email: ADA });
  t.equal((await ada.call('GET', '/user/sessions')).json.result.length, 1, 'sessions of others are not shown');
  t.equal((await ada.call('DELETE', '/user/sessions/current')).status, 200);
  t.equal((await ada.call('GET', '/zones')).status, 400);
  t.strictSame(installation.misfits, []);
});

t.test('a hash of older parameters is made anew by whoever knows the password', async (t) => {
  const world = await withAda(t);
  const { store } = world;
  const [salt, plain] = [
    Buffer.alloc(16, 7),
    (octets: Buffer): string => octets.toString('base64').replaceAll('=', ''),
  ];
  const tag = scryptSync(PASSWORD, salt, 32, { N: 2 ** 10, r: 8, p: 1 });
  const old = `$scrypt$ln=10,r=8,p=1$${plain(salt)}$${plain(tag)}`;
  const put = store.prepare<[hash: string]>('UPDATE passwords SET hash = ?');
  await store.write(() => put.run(old));
  const stored = () => (store.prepare('SELECT hash FROM passwords').get() as { hash: string }).hash;
  const ada = browser(world);
  t.equal((await signIn(browser(world), 'not the password')).status, 403);
  t.equal(stored(), old, 'nobody else changes it');
  t.equal((await signIn(ada)).status, 200);
  t.match(stored(), /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  const now = stored();
  t.equal((await signIn(browser(world))).status, 200, 'the password is the same');
  t.equal(stored(), now, 'once');
  t.equal((await ada.call('GET', '/user')).status, 200, 'no session has ended');
});

t.test('a page of another site signs nobody in', async (t) => {
  const { call } = await withAda(t);
  for (const headers of [{}, { ...OWN, 'sec-fetch-site': 'cross-site' }, { ...OWN, origin: 'https://evil.example' }]) {
    const body = { email: ADA, password: PASSWORD };
    t.equal((await call('POST', '/user/sign_in', body, { headers: { ...ANONYMOUS, ...headers } })).status, 403);
    t.equal(
      (await call('POST', '/user/password_reset', { email: ADA }, { headers: { ...ANONYMOUS, ...headers } })).status,
      403,
    );
  }
});

t.test('whoever has no access is told the same', async (t) => {
  const installation = await withAda(t);
  const { operator } = installation;
  await createAccount(operator, { name: 'Others', members: ['grace@example.com', 'gone@example.com'] });
  await setPasswordOf(operator, 'gone@example.com', PASSWORD);
  await suspend(installation, 'gone@example.com');
  const told = [];
  for (const [email, password] of [
    [ADA, 'wrong'],
    ['nobody@example.com', PASSWORD],
    ['grace@example.com', PASSWORD],
    ['gone@example.com', PASSWORD],
  ] as const) {
    const { status, headers, json } = await signIn(browser(installation), password, email);
    told.push({ status, json, headers: Object.keys(headers), length: headers['content-length'] });
  }
  t.match(told[0], {
    status: 403,
    json: { errors: [{ code: 9109, message: 'The e-mail address or the password is wrong.' }] },
  });
  for (const one of told) t.strictSame(one, told[0]);
});

t.test('after ten failures one has to wait, known or not', async (t) => {
  const installation = await withAda(t);
  for (const email of [ADA, 'nobody@example.com']) {
    for (let n = 0; n < 10; n++) t.equal((await signIn(browser(installation), 'wrong', email)).status, 403);
    const refused = await signIn(browser(installation), PASSWORD, email.toUpperCase());
    t.match(refused, { status: 429, headers: { 'retry-after': '1' }, json: { errors: [{ code: 10429 }] } });
  }
  const ada = browser(installation);
  const link = await createUserLink(installation.operator, ADA, 'sign-in');
  t.equal((await ada.call('POST', '/user/sign_in/link', { link })).status, 200, 'a link works all the time');
  installation.clock.advance(1000);
  t.equal((await signIn(browser(installation))).status, 200);
});

t.test('a new password', async (t) => {
  const installation = await withAda(t);
  const [ada, elsewhere] = [browser(installation), browser(installation)];
  await signIn(ada);
  await signIn(elsewhere);
  const stolen = ada.cookie;
  const change = (body: object) => ada.call('PUT', '/user/password', body);
  for (const [password, reason] of [
    ['short', /8 to 256 characters/],
    ['x'.repeat(257), /8 to 256 characters/],
    ['ada@example.COM', /must not be the e-mail address/],
    ['PASSWORD123', /most common/],
  ] as const) {
    const refused = await change({ current: PASSWORD, new: password });
    t.match([refused.status, refused.json.errors[0].message], [400, reason]);
  }
  t.equal((await change({ current: 'wrong', new: 'a loom of one’s own' })).status, 403);
  t.equal((await change({ new: 'a loom of one’s own' })).status, 403);
  t.equal((await change({ current: PASSWORD, new: 'a loom of one’s own' })).status, 200);
  t.equal((await ada.call('GET', '/zones')).status, 200);
  t.equal((await browser(installation, stolen).call('GET', '/zones')).status, 401, 'the session has a new secret');
  t.equal((await elsewhere.call('GET', '/zones')).status, 401);
  t.equal((await signIn(browser(installation))).status, 403);
  // The same characters, as another keyboard composes them.
  await change({ current: 'a loom of one’s own', new: 'a café of one’s own' });
  t.equal((await signIn(browser(installation), 'a cafe\u0301 of one’s own')).status, 200);
});

t.test('a key chooses no password; the link of the first start does', async (t) => {
  const installation = await install(t);
  const { call, operator } = installation;
  t.equal((await call('PUT', '/user/password', { new: PASSWORD })).status, 403);
  const byKey = browser(installation);
  byKey.cookie = String((await call('POST', '/user/sessions')).headers['set-cookie']).split(';')[0]!;
  t.equal((await byKey.call('PUT', '/user/password', { new: PASSWORD })).status, 403);
  const link = await createLoginLink(operator);
  const headers = { authorization: `Login-Link ${link}` };
  const first = browser(installation);
  first.cookie = String((await call('POST', '/user/sessions', undefined, { headers })).headers['set-cookie']).split(
    ';',
  )[0]!;
  const set = await first.call('PUT', '/user/password', { new: PASSWORD });
  t.match(set.json.result?.session, { credential: null, how: ['link', 'password'] });
  t.equal((await first.call('GET', '/zones')).status, 200);
  t.equal((await byKey.call('GET', '/zones')).status, 401, 'all other sessions have ended');
  t.equal((await signIn(browser(installation), PASSWORD, EMAIL)).status, 200);
});

t.test('a forgotten password', async (t) => {
  const installation = await withAda(t, { signIn: { publicUrl: 'https://dns.example.org' } });
  const { mails, clock, app } = installation;
  const ask = (email: string, host = 'evil.example') =>
    app.inject({
      ...{ method: 'POST', url: '/client/v4/user/password_reset', payload: { email } },
      headers: { ...OWN, host, 'x-forwarded-host': host },
    });
  const known = await ask(ADA.toLowerCase());
  const unknown = await ask('nobody@example.com');
  t.strictSame([known.statusCode, known.body], [unknown.statusCode, unknown.body]);
  for (let n = 0; n < 20; n++) await ask(ADA);
  await until(() => mails.length >= 3);
  await new Promise((resolve) => setTimeout(resolve, 50));
  t.equal(mails.length, 3, 'a flood is three messages in an hour');
  t.strictSame([...new Set(mails.map(({ to }) => to))], [ADA]);
  const codes = mails.map(({ text }) => /https:\/\/dns\.example\.org\/sign-in#password=([\w-]{40})\n/.exec(text)?.[1]);
  t.notMatch(JSON.stringify(mails), /evil/, 'links begin with the public address, whatever the request says');
  const ada = browser(installation);
  await signIn(ada);
  const reset = (code: string | undefined) =>
    browser(installation).call('PUT', `/user/password_reset/${code}`, { new: 'a loom of one’s own' });
  t.equal((await reset('x'.repeat(40))).status, 403);
  const done = await reset(codes[0]);
  t.strictSame([done.status, done.json.result], [200, { email: ADA }]);
  t.equal(done.headers['set-cookie'], undefined, 'it begins no session');
  t.equal((await ada.call('GET', '/zones')).status, 401);
  t.equal((await reset(codes[0])).status, 403, 'once');
  t.equal((await reset(codes[1])).status, 403, 'the others are worth nothing any more');
  clock.advance(61 * MINUTE);
  await ask(ADA);
  await until(() => mails.length === 4);
  clock.advance(61 * MINUTE);
  t.equal((await reset(/#password=([\w-]{40})/.exec(mails[3]!.text)![1])).status, 403, 'for an hour');
});

t.test('one network cannot use up the messages of all others', async (t) => {
  const installation = await withAda(t, { signIn: { publicUrl: 'https://dns.example.org' } });
  const { mails, app, operator } = installation;
  const ask = (email: string, remoteAddress: string) =>
    app.inject({
      ...{ method: 'POST', url: '/client/v4/user/password_reset', payload: { email }, remoteAddress },
      headers: { ...OWN, host: 'dns.example.org' },
    });
  const others = Array.from({ length: 12 }, (_, n) => `member${n}@example.com`);
  await createAccount(operator, { name: 'Others', members: others });
  for (const [n, email] of others.entries()) await ask(email, `192.0.2.${n}`);
  await ask(ADA, '198.51.100.7');
  await until(() => mails.some(({ to }) => to === ADA));
  t.equal(mails.length, 11, 'ten for that network, whichever of its addresses ask');
});

t.test('passwords can be switched off', async (t) => {
  const installation = await withAda(t, { signIn: { passwords: false } });
  t.equal((await signIn(browser(installation))).status, 403);
  t.equal(
    (await installation.call('GET', '/user/sign_in', undefined, { headers: ANONYMOUS })).json.result.passwords,
    false,
  );
  const link = await createUserLink(installation.operator, ADA, 'sign-in');
  const ada = browser(installation);
  t.equal((await ada.call('POST', '/user/sign_in/link', { link })).status, 200);
  t.equal((await browser(installation).call('POST', '/user/sign_in/link', { link })).status, 403, 'once');
  t.equal((await ada.call('PUT', '/user/password', { new: PASSWORD })).status, 403);
});

t.test('nothing of a suspended user counts from the next request on', async (t) => {
  const installation = await withAda(t);
  const { operator, call } = installation;
  const ada = browser(installation);
  await signIn(ada);
  const { secret } = await createKey(operator, { kind: 'key', name: 'k', email: ADA });
  const link = await createUserLink(operator, ADA, 'sign-in');
  const byKey = () => call('GET', '/zones', undefined, { headers: { 'x-auth-email': ADA, 'x-auth-key': secret } });
  const byToken = () => call('GET', '/zones', undefined, { headers: { authorization: `Bearer ${secret}` } });
  const ways = async () =>
    [await ada.call('GET', '/zones'), await byKey(), await byToken()].map(({ status }) => status);
  t.strictSame(await ways(), [200, 200, 200]);
  await suspend(installation, ADA);
  t.strictSame(await ways(), [401, 403, 403]);
  t.equal((await browser(installation).call('POST', '/user/sign_in/link', { link })).status, 403);
});

t.test('what guards others is changed by who has just proved who they are', async (t) => {
  const installation = await withAda(t);
  const ada = browser(installation);
  await signIn(ada);
  const groups = [{ id: '82e64a83756745bbbb1c9c2701bf816b' }];
  const policies = [
    { effect: 'allow', permission_groups: groups, resources: { 'com.cloudflare.api.account.zone.*': '*' } },
  ];
  const make = () => ada.call('POST', '/user/tokens', { name: 'token', policies });
  t.equal((await make()).status, 200);
  const zone = (await ada.call('POST', '/zones', { name: 'engines.example' })).json.result.id;
  installation.clock.advance(11 * MINUTE);
  const refused = await make();
  t.match(refused, { status: 403, json: { errors: [{ code: 10014, error_chain: [{ message: 'password' }] }] } });
  t.equal((await ada.call('DELETE', `/zones/${zone}`)).status, 403);
  t.equal((await ada.call('GET', '/user/tokens')).status, 200);
  const [{ id, name }] = (await ada.call('GET', '/accounts')).json.result;
  t.equal((await ada.call('PUT', `/accounts/${id}`, { id, name, type: 'standard' })).status, 403);
  const hook = { name: 'elsewhere', url: 'https://hooks.example.net/all' };
  t.equal((await ada.call('POST', `/accounts/${id}/alerting/v3/destinations/webhooks`, hook)).status, 403);
  t.equal(
    (await ada.call('POST', `/zones/${zone}/dns_records`, { type: 'A', name: 'a', content: '192.0.2.1' })).status,
    200,
  );
  t.equal((await ada.call('POST', '/user/confirm', { password: 'wrong' })).status, 403);
  const before = ada.cookie;
  t.equal((await ada.call('POST', '/user/confirm', { password: PASSWORD })).status, 200);
  t.equal((await browser(installation, before).call('GET', '/zones')).status, 401, 'the session has a new secret');
  t.equal((await make()).status, 200);
  t.equal((await ada.call('DELETE', `/zones/${zone}`)).status, 200);
  installation.clock.putBack(60 * MINUTE);
  t.equal((await make()).status, 403, 'a proof of the future, as of a clock put back, does not count');
  t.strictSame(installation.misfits, []);
});

t.test('no secret is stored or logged', async (t) => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ level: 'trace', pretty: false, destination });
  const installation = await withAda(t, { log, signIn: { publicUrl: 'https://dns.example.org' } });
  const ada = browser(installation);
  await signIn(ada);
  await signIn(browser(installation), 'a wrong password');
  const link = await createUserLink(installation.operator, ADA, 'password');
  await browser(installation).call('PUT', `/user/password_reset/${link}`, { new: 'a loom of one’s own' });
  await removeFactorsOf(installation.operator, ADA);
  const { store } = installation;
  store.checkpoint();
  const stored = ['', '-wal'].map((suffix) => {
    try {
      return readFileSync(store.path + suffix).toString('latin1');
    } catch {
      return '';
    }
  });
  const secret = ada.cookie.split('=')[1]!;
  for (const text of [...stored, lines.join('\n')]) {
    for (const secretText of [PASSWORD, 'a wrong password', secret, link])
      t.notOk(text.includes(secretText), secretText);
  }
});
