/** Second factors: one-time passwords, recovery codes, passkeys, and accounts that require one. */
import { Secret, TOTP } from 'otpauth';
import t from 'tap';
import { removeFactorsOf } from '../../src/sign-in/operator.js';
import { createAuthenticator } from '../support/authenticator.js';
import { latestEvents } from '../support/rows.js';
import type { Installation } from './installation.js';
import { ADA, browser, PASSWORD, type Person, signIn, withAda } from './people.js';

const MINUTE = 60_000;
const ORIGIN = 'https://dns.example.org';
const PUBLIC = { signIn: { publicUrl: ORIGIN } };

/** Enrols a device, and returns the codes that it shows. */
async function enrol(person: Person, { clock }: Installation): Promise<(laterMs?: number) => string> {
  const { secret, uri } = (await person.call('POST', '/user/totp')).json.result;
  t.match(
    uri,
    /^otpauth:\/\/totp\/dns\.example\.org:Ada%40example\.com\?issuer=dns\.example\.org&secret=[A-Z2-7]{32}&algorithm=SHA1&digits=6&period=30$/,
  );
  const totp = new TOTP({ secret: Secret.fromBase32(secret) });
  const code = (laterMs = 0): string => totp.generate({ timestamp: clock.nowMs() + laterMs });
  const done = await person.call('PUT', '/user/totp', { totp: code() });
  if (done.status !== 200) throw new Error(done.text);
  return code;
}

t.test('one-time passwords', async (t) => {
  const installation = await withAda(t, PUBLIC);
  const { clock, store } = installation;
  const [ada, elsewhere] = [browser(installation), browser(installation)];
  await signIn(ada);
  await signIn(elsewhere);
  const code = await enrol(ada, installation);
  t.equal((await elsewhere.call('GET', '/zones')).status, 401, 'the other sessions have ended');
  t.equal((await ada.call('GET', '/user')).json.result.two_factor_authentication_enabled, true);
  t.match((await ada.call('GET', '/user/factors')).json.result, { password: true, totp: true, recovery_codes: 0 });

  const begin = async (): Promise<{ person: Person; challenge: string; methods: string[] }> => {
    const person = browser(installation);
    const { json, headers } = await signIn(person);
    t.equal(headers['set-cookie'], undefined, 'no session yet');
    return { person, ...json.result };
  };
  const first = await begin();
  t.strictSame(first.methods, ['totp']);
  const used = await first.person.call('POST', `/user/sign_in/${first.challenge}`, { totp: code() });
  t.equal(used.status, 403, 'the code with which the device was enrolled');
  t.match(
    used.json.errors[0].message,
    /^The code is wrong or was used already\..* here it is 2024-05-05 12:00:00 UTC\.$/,
  );
  clock.advance(30_000);
  const now = code();
  const done = await first.person.call('POST', `/user/sign_in/${first.challenge}`, { totp: now });
  t.match(done, { status: 200, json: { result: { session: { how: ['password', 'totp'] } } } });
  t.equal(
    (await first.person.call('POST', `/user/sign_in/${first.challenge}`, { totp: now })).status,
    401,
    'a challenge works once',
  );
  const second = await begin();
  t.equal(
    (await second.person.call('POST', `/user/sign_in/${second.challenge}`, { totp: now })).status,
    403,
    'so does a code',
  );
  t.equal((await second.person.call('POST', `/user/sign_in/${second.challenge}`, { password: PASSWORD })).status, 403);
  t.equal(
    (await second.person.call('POST', `/user/sign_in/${second.challenge}`, { totp: code(10 * MINUTE) })).status,
    403,
    'a wrong clock',
  );
  t.equal(
    (await second.person.call('POST', `/user/sign_in/${second.challenge}`, { totp: code(30_000) })).status,
    200,
    'a step early',
  );

  const third = await begin();
  clock.advance(90_000);
  for (let n = 0; n < 5; n++) {
    t.equal((await third.person.call('POST', `/user/sign_in/${third.challenge}`, { totp: '000000' })).status, 403);
  }
  const over = await third.person.call('POST', `/user/sign_in/${third.challenge}`, { totp: code() });
  t.match(over, { status: 401, json: { errors: [{ message: 'The sign-in has expired. Please begin again.' }] } });
  const late = await begin();
  clock.advance(6 * MINUTE);
  t.equal(
    (await late.person.call('POST', `/user/sign_in/${late.challenge}`, { totp: code() })).status,
    401,
    'after five minutes',
  );

  const secret = store.prepare<[], { secret: Uint8Array }>('SELECT secret FROM one_time_passwords').all()[0]!.secret;
  t.equal(secret.length, 9 + 12 + 20 + 16, 'it is sealed');
  clock.advance(20 * MINUTE);
  t.equal((await ada.call('DELETE', '/user/totp')).json.errors[0].code, 10014);
  t.equal((await ada.call('POST', '/user/confirm', { totp: code() })).status, 200);
  t.equal((await ada.call('DELETE', '/user/totp')).status, 200);
  t.equal((await ada.call('DELETE', '/user/totp')).status, 404);
  t.strictSame(installation.misfits, []);
});

t.test('many guesses have to wait, but not whoever has a passkey', async (t) => {
  const installation = await withAda(t, PUBLIC);
  const ada = browser(installation);
  await signIn(ada);
  await enrol(ada, installation);
  const statuses: number[] = [];
  for (let n = 0; n < 3; n++) {
    const { challenge } = (await signIn(browser(installation))).json.result;
    for (let guess = 0; guess < 4; guess++) {
      statuses.push((await ada.call('POST', `/user/sign_in/${challenge}`, { totp: '000000' })).status);
    }
  }
  t.strictSame(statuses, [...Array(10).fill(403), 429, 429], 'beginning anew gives no new guesses');
});

t.test('recovery codes', async (t) => {
  const installation = await withAda(t, PUBLIC);
  const ada = browser(installation);
  await signIn(ada);
  await enrol(ada, installation);
  const { codes } = (await ada.call('POST', '/user/recovery_codes')).json.result;
  t.equal(new Set(codes).size, 10);
  for (const code of codes) t.match(code, /^[0-9a-hjkmnp-tv-z]{5}-[0-9a-hjkmnp-tv-z]{5}$/);
  const enter = async (recovery: string) => {
    const person = browser(installation);
    const { challenge, methods } = (await signIn(person)).json.result;
    t.strictSame(methods.includes('recovery'), true);
    return person.call('POST', `/user/sign_in/${challenge}`, { recovery });
  };
  const [code] = codes;
  t.equal((await enter(` ${code.toUpperCase().replace('-', ' ')} `)).status, 200, 'however it is typed');
  t.match(
    latestEvents(installation.store, 2).map(({ kind }) => kind),
    ['session.create', 'recovery_code.use'],
  );
  t.equal((await enter(code)).status, 403, 'once');
  t.equal((await ada.call('GET', '/user/factors')).json.result.recovery_codes, 9);
  const [newer] = (await ada.call('POST', '/user/recovery_codes')).json.result.codes;
  t.equal((await enter(codes[1])).status, 403, 'new ones replace the older');
  t.notMatch(JSON.stringify(installation.store.prepare('SELECT * FROM events').all()), newer);
  await removeFactorsOf(installation.operator, ADA);
  t.equal((await ada.call('GET', '/zones')).status, 401);
  t.ok((await signIn(browser(installation))).json.result.session, 'the operator has removed what was lost');
});

t.test('passkeys', async (t) => {
  const installation = await withAda(t, PUBLIC);
  const { clock, store } = installation;
  const ada = browser(installation);
  await signIn(ada);
  const key = createAuthenticator(ORIGIN);
  const ask = async (person: Person, path: string, body = {}) => (await person.call('POST', path, body)).json.result;
  const question = await ask(ada, '/user/passkeys/options');
  t.match(question, { rp: { id: 'dns.example.org' }, user: { name: ADA }, attestation: 'none' });
  t.strictSame(
    question.pubKeyCredParams.map(({ alg }: { alg: number }) => alg),
    [-8, -7, -257],
  );
  const add = (passkey: object) => ada.call('POST', '/user/passkeys', { name: 'Laptop', passkey });
  t.equal((await add(key.create(question, { origin: 'https://dns.example.net' }))).status, 403);
  t.equal((await add(key.create({ challenge: 'AAAA' }))).status, 403, 'a challenge of somebody else');
  const made = key.create(question);
  const added = await add(made);
  t.match(added.json.result, { id: key.id, name: 'Laptop', last_used_on: null });
  t.equal((await add(made)).status, 403, 'an answer counts once');
  t.match((await ada.call('GET', '/user/passkeys')).json.result, [{ name: 'Laptop' }]);
  t.equal((await ada.call('PATCH', `/user/passkeys/${key.id}`, { name: 'Old laptop' })).json.result.name, 'Old laptop');

  const enter = async (change = {}, person = browser(installation)) => {
    const asked = await ask(person, '/user/sign_in/passkey/options');
    return person.call('POST', '/user/sign_in/passkey', { passkey: key.get(asked, change) });
  };
  t.match(await enter(), { status: 200, json: { result: { session: { how: ['passkey'], user: { email: ADA } } } } });
  for (const [change, why] of [
    [{ origin: 'https://evil.example' }, /origin/i],
    [{ rpId: 'evil.example' }, /RP ID/i],
    [{ userVerified: false }, /user verification/i],
    [{ type: 'webauthn.create' }, /type/i],
    [{ challenge: Buffer.alloc(54).toString('base64url') }, /challenge/i],
  ] as const) {
    const refused = await enter(change);
    t.match([refused.status, refused.json.errors[0].message], [403, why]);
  }
  const stolen = await ask(browser(installation), '/user/sign_in/passkey/options');
  const answer = key.get(stolen);
  const give = () => browser(installation).call('POST', '/user/sign_in/passkey', { passkey: answer });
  t.equal((await give()).status, 200);
  t.equal((await give()).status, 403, 'an answer that somebody recorded');
  const old = await ask(browser(installation), '/user/sign_in/passkey/options');
  clock.advance(61_000);
  t.equal((await browser(installation).call('POST', '/user/sign_in/passkey', { passkey: key.get(old) })).status, 403);
  t.equal((await enter({ count: 1 })).status, 403, 'a copy counts what was counted already');
  t.equal(latestEvents(store, 1)[0]!.kind, 'passkey.clone');

  const second = (await signIn(browser(installation))).json.result;
  t.strictSame(second.methods, ['passkey']);
  const { challenge } = second;
  const asked = await ask(browser(installation), '/user/sign_in/passkey/options', { challenge });
  t.strictSame(
    asked.allowCredentials.map(({ id }: { id: string }) => id),
    [key.id],
  );
  const person = browser(installation);
  const passkey = key.get(asked, { userVerified: false, count: 50 });
  t.match(await person.call('POST', `/user/sign_in/${challenge}`, { passkey }), { status: 200 });
  t.equal((await person.call('DELETE', `/user/passkeys/${key.id}`)).status, 200);
  t.equal((await enter({ count: 60 })).status, 403);
  t.strictSame(installation.misfits, []);
});

t.test('an account that requires a second factor', async (t) => {
  const installation = await withAda(t, PUBLIC);
  const { store } = installation;
  const ada = browser(installation);
  await signIn(ada);
  t.equal((await ada.call('GET', '/zones')).status, 200);
  await store.write(() => store.prepare<[]>('UPDATE accounts SET enforce_twofactor = 1').run());
  const refused = await ada.call('GET', '/zones');
  t.match(refused, {
    status: 403,
    json: { errors: [{ code: 10013, message: 'This account requires two-factor authentication.' }] },
  });
  t.equal((await ada.call('GET', '/user')).json.result.two_factor_authentication_locked, true);
  t.equal((await ada.call('PATCH', '/user', { first_name: 'Ada' })).status, 403);
  await enrol(ada, installation);
  t.equal((await ada.call('GET', '/zones')).status, 200);
  t.equal((await ada.call('GET', '/user')).json.result.two_factor_authentication_locked, false);
  t.equal((await ada.call('DELETE', '/user/totp')).status, 400, 'the last one stays');
  t.equal((await installation.call('GET', '/zones')).status, 200, 'keys are for programs');
});

t.test('without a name, passkeys are only of this machine', async (t) => {
  const installation = await withAda(t);
  const ask = (host: string) =>
    installation.app.inject({
      ...{ method: 'POST', url: '/client/v4/user/sign_in/passkey/options', payload: {} },
      headers: { host, 'zoneplane-dashboard': '1' },
    });
  t.equal((await ask('localhost:8053')).json().result.rpId, 'localhost');
  for (const host of ['127.0.0.1:8053', 'evil.example', 'localhost.evil.example', 'localhost:1@evil.example']) {
    t.equal((await ask(host)).statusCode, 400, host);
  }
});
