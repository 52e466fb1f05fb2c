/** Single sign-on: who comes in, who does not, and what a provider that lies can do. */
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { createEgress } from '../../src/egress/egress.js';
import { CLIENT, type IdentityProvider, type Statement, startIdentityProvider } from '../support/identity-provider.js';
import { latestEvents } from '../support/rows.js';
import { ANONYMOUS, type Answer, type Installation, type InstallationOptions } from './installation.js';
import { ADA, browser, PASSWORD, type Person, signIn, withAda } from './people.js';

const PUBLIC = 'https://dns.example.org';
const DNS_ROLE = '069fe803647ed3609e93d041d5df6050';
const AUDIT_ROLE = '9dfa4d1b73034f70ad896bf1c26d78f3';
const MINUTE = 60_000;

interface World extends Installation {
  readonly idp: IdentityProvider;
  readonly provider: string;
}

async function withProvider(t: Test, body: object = {}, options: InstallationOptions = {}): Promise<World> {
  const installation = await withAda(t, { signIn: { publicUrl: PUBLIC }, ...options });
  const idp = await startIdentityProvider(() => installation.clock.nowMs());
  t.teardown(() => idp.close());
  const described = { name: 'Example', issuer: idp.issuer, client_id: CLIENT, client_secret: 'client-secret-of-ours' };
  const { json, text } = await installation.call('POST', '/oidc_providers', {
    ...described,
    creates: 'always',
    ...body,
  });
  if (!json?.result) throw new Error(text);
  return { ...installation, idp, provider: json.result.id };
}

/** A browser goes to the provider; returns what it is asked there. */
async function leave(person: Person, { provider }: World, query = ''): Promise<URL> {
  const answer = await person.call('GET', `/user/sign_in/oidc/${provider}${query}`);
  if (answer.status !== 302) throw new Error(answer.text);
  return new URL(String(answer.headers.location));
}

/** The browser comes back. */
function comeBack(
  person: Person,
  { provider }: World,
  asked: URL,
  state = asked.searchParams.get('state'),
): Promise<Answer> {
  return person.call('GET', `/user/sign_in/oidc/${provider}/callback?code=abc&state=${state}`);
}

async function enter(world: World, statement: Statement = {}, query = ''): Promise<{ person: Person; answer: Answer }> {
  const person = browser(world);
  const asked = await leave(person, world, query);
  world.idp.say(asked.searchParams.get('nonce')!, statement);
  const answer = await comeBack(person, world, asked);
  // The browser keeps what the last field sets, which is the session.
  const fields = [answer.headers['set-cookie']].flat().map(String);
  person.cookie = fields.find((field) => !field.includes('_sso='))?.split(';')[0] ?? '';
  return { person, answer };
}

t.test('somebody new comes in, and stays the same person', async (t) => {
  const world = await withProvider(t);
  const { person, answer } = await enter(world, {}, '?return=/zones?search=a');
  t.strictSame([answer.status, answer.headers.location], [302, '/zones?search=a']);
  const { session, user } = {
    session: (await person.call('GET', '/user/sessions/current')).json.result,
    user: (await person.call('GET', '/user')).json.result,
  };
  t.match([session.how, user.email], [['oidc'], 'ada@provider.example']);
  const again = await enter(world, { claims: { email: 'renamed@provider.example', email_verified: false } });
  t.equal((await again.person.call('GET', '/user')).json.result.id, user.id, 'whatever the address is by now');
  t.equal(
    (await world.call('GET', '/user/sign_in', undefined, { headers: ANONYMOUS })).json.result.providers[0].name,
    'Example',
  );
  const asked = await leave(browser(world), world);
  t.equal(asked.searchParams.get('redirect_uri'), `${PUBLIC}/client/v4/user/sign_in/oidc/${world.provider}/callback`);
  t.match(asked.search, /code_challenge_method=S256/);
  t.equal(world.idp.asked.get('/.well-known/openid-configuration'), 1, 'its description is kept');
  const stored = JSON.stringify(world.store.prepare('SELECT * FROM events').all());
  t.notMatch(stored, /client-secret-of-ours|access-token-of-ada|eyJ/);
  t.notMatch(JSON.stringify((await world.call('GET', '/oidc_providers')).json), /client-secret-of-ours/);
  world.clock.advance(11 * MINUTE);
  const late = await again.person.call('PUT', '/user/password', { new: PASSWORD });
  t.match(late, { status: 403, json: { errors: [{ code: 10014 }] } }, 'a password would outlive the session');
  const back = (await enter(world)).person;
  t.equal((await back.call('PUT', '/user/password', { new: PASSWORD })).status, 200);
});

t.test('a provider that lies', async (t) => {
  const world = await withProvider(t);
  world.idp.describe({ userinfo_endpoint: `${world.idp.issuer}/userinfo` });
  const now = Math.floor(world.clock.nowMs() / 1000);
  const real = Math.floor(Date.now() / 1000);
  for (const [what, statement] of Object.entries<Statement>({
    'another issuer': { claims: { iss: 'https://evil.example' } },
    'another client': { claims: { aud: 'other' } },
    'another client beside ours': { claims: { aud: [CLIENT, 'other'], azp: 'other' } },
    'several clients, nobody named': { claims: { aud: [CLIENT, 'other'] } },
    'given to another client': { claims: { azp: 'other' } },
    'too old': { claims: { exp: real - 3600 } },
    'no end': { claims: { exp: undefined } },
    'made in the past': { claims: { iat: now - 3600 } },
    'made in the future': { claims: { iat: now + 3600 } },
    'an answer to another question': { claims: { nonce: 'other' } },
    'no answer': { claims: { nonce: undefined } },
    nobody: { claims: { sub: '' } },
    'a number as name': { claims: { sub: 7 } },
    'a key of somebody else': { foreignKey: true },
    'a shared secret': { algorithm: 'HS256' },
    'no signature': {
      raw: `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify({ iss: world.idp.issuer, aud: CLIENT, sub: 'x', exp: real + 300, iat: now })).toString('base64url')}.`,
    },
    'no statement': { raw: 'x' },
    'a key that it does not show': { kid: 'other' },
    'more than anybody needs to say': { claims: { groups: Array.from({ length: 90_000 }, () => 'a group of ours') } },
    'the way to another place': { leadsAway: true },
    'somebody else beside the statement': {
      claims: { email: undefined },
      userinfo: { sub: 'other', email: 'root@provider.example', email_verified: true },
    },
    'an address of another, not proved, beside the statement': {
      claims: { email: undefined },
      userinfo: { sub: 'ada-at-provider', email: 'root@provider.example', email_verified: 'true' },
    },
    'an address that is not proved': { claims: { email_verified: false } },
    'a proof that is a text': { claims: { email_verified: 'true' } },
    'no address': { claims: { email: undefined } },
    'two addresses': { claims: { email: ['a@provider.example'] } },
    'an address with a line break': { claims: { email: 'a@provider.example\r\nBcc: b@x.example' } },
  })) {
    const { person, answer } = await enter(world, statement);
    t.strictSame([answer.status, person.cookie], [302, ''], what);
    t.match(answer.headers.location, /^\/sign-in#problem=\w+(\.[\dTZ:.-]+)?$/, what);
  }
  t.ok(world.idp.asked.get('/keys')! <= 2, 'an unknown key is looked for once in a minute');
  t.equal(world.store.prepare('SELECT * FROM oidc_identities').all().length, 0);
});

t.test('clocks that are ten minutes apart are named', async (t) => {
  const world = await withProvider(t);
  const now = Math.floor(world.clock.nowMs() / 1000);
  const time = new Date(world.clock.nowMs()).toISOString();
  for (const apart of [-600, 600]) {
    const { person, answer } = await enter(world, { claims: { iat: now + apart } });
    t.strictSame([answer.headers.location, person.cookie], [`/sign-in#problem=clocksApart.${time}`, '']);
  }
  const { answer } = await enter(world, { claims: { exp: Math.floor(Date.now() / 1000) - 601 } });
  t.equal(answer.headers.location, `/sign-in#problem=clocksApart.${time}`);
  t.equal((await enter(world, { claims: { iat: now - 240 } })).answer.headers.location, '/');
});

t.test('providers that are mixed up, and a question that is made weaker', async (t) => {
  const world = await withProvider(t);
  const other = await startIdentityProvider(() => world.clock.nowMs());
  t.teardown(() => other.close());
  const described = { name: 'Other', issuer: other.issuer, client_id: CLIENT, client_secret: 'x', creates: 'always' };
  const { id } = (await world.call('POST', '/oidc_providers', described)).json.result;
  const person = browser(world);
  const asked = await leave(person, world);
  other.say(asked.searchParams.get('nonce')!, {});
  const mixed = await comeBack(person, { ...world, provider: id }, asked);
  t.match(mixed.headers.location, /problem=expired/, 'an answer of another provider');
  t.equal(other.asked.get('/token'), undefined, 'which does not get the code');
  other.describe({
    code_challenge_methods_supported: ['plain'],
    authorization_response_iss_parameter_supported: true,
  });
  const weak = browser(world);
  const question = await leave(weak, { ...world, provider: id });
  t.equal(question.searchParams.get('code_challenge_method'), 'S256', 'whatever it says that it can');
  other.say(question.searchParams.get('nonce')!, {});
  const state = question.searchParams.get('state');
  for (const iss of ['', `&iss=${encodeURIComponent(world.idp.issuer)}`]) {
    const answer = await weak.call('GET', `/user/sign_in/oidc/${id}/callback?code=abc&state=${state}${iss}`);
    t.match(answer.headers.location, /problem=(badStatement|expired)/, 'it says who it is in each answer (RFC 9207)');
  }
});

t.test('the browser that comes back is the one that left', async (t) => {
  const world = await withProvider(t);
  const [victim, thief] = [browser(world), browser(world)];
  const asked = await leave(thief, world);
  world.idp.say(asked.searchParams.get('nonce')!, {});
  t.match((await comeBack(victim, world, asked)).headers.location, /problem=expired/, 'a link that somebody was sent');
  await leave(victim, world);
  t.match((await comeBack(victim, world, asked)).headers.location, /problem=badStatement/, 'with an answer of another');
  const remembered = thief.cookie;
  t.equal((await comeBack(thief, world, asked)).headers.location, '/');
  thief.cookie = remembered;
  world.idp.say(asked.searchParams.get('nonce')!, {});
  t.match((await comeBack(thief, world, asked)).headers.location, /problem=expired/, 'once');
  const slow = browser(world);
  const later = await leave(slow, world);
  world.clock.advance(11 * MINUTE);
  t.match((await comeBack(slow, world, later)).headers.location, /problem=expired/);
});

t.test('nobody is led to another site', async (t) => {
  const world = await withProvider(t);
  for (const to of [
    'https://evil.example',
    '//evil.example',
    '/\\evil.example',
    '/%09/evil.example',
    '/a%0d%0aset-cookie:b',
    'javascript:1',
  ]) {
    const { answer } = await enter(world, {}, `?return=${to}`);
    t.equal(answer.headers.location?.replace(/^\/%.*$/, '/'), '/', to);
  }
});

t.test('an address is not an identity', async (t) => {
  const world = await withProvider(t);
  const claims = { sub: 'mallory', email: ADA.toUpperCase(), email_verified: true };
  t.match((await enter(world, { claims })).answer.headers.location, /problem=needsLink/);
  const ada = browser(world);
  await signIn(ada);
  const { json } = await ada.call('POST', '/user/sso_link', { provider: world.provider });
  const cookie = ada.cookie;
  const asked = new URL(json.result.location);
  world.idp.say(asked.searchParams.get('nonce')!, { claims: { sub: 'ada', email: undefined } });
  // The cookie of the session is not sent along from other sites; that of the way to the provider is.
  t.equal((await comeBack(ada, world, asked)).headers.location, '/profile');
  ada.cookie = cookie;
  const { person } = await enter(world, { claims: { sub: 'ada', email: undefined } });
  t.equal((await person.call('GET', '/user')).json.result.email, ADA);
  t.match(
    (await enter(world, { claims })).answer.headers.location,
    /problem=needsLink/,
    'somebody else at the provider still is not',
  );
});

t.test('groups give roles, and users are made as the settings say', async (t) => {
  const world = await withProvider(t);
  const account = await createAccount(world.operator, { name: 'Team' });
  const map = { group_map: [{ group: 'dns', account: account.id, role: DNS_ROLE }], groups_claim: 'realm.roles' };
  const put = (body: object) =>
    world.call('PUT', `/oidc_providers/${world.provider}`, {
      name: 'Example',
      issuer: world.idp.issuer,
      client_id: CLIENT,
      ...body,
    });
  t.equal((await put({ creates: 'mapped', updates_roles: true, ...map })).status, 200);
  const as = (sub: string, roles: unknown) => ({ claims: { sub, email: `${sub}@provider.example`, realm: { roles } } });
  t.match((await enter(world, as('bob', ['other']))).answer.headers.location, /problem=notAllowed/);
  t.match(
    (await enter(world, as('bob', undefined))).answer.headers.location,
    /problem=notAllowed/,
    'a list that is elsewhere',
  );
  const { person } = await enter(world, as('bob', 'dns'));
  t.strictSame(
    (await person.call('GET', '/accounts')).json.result.map(({ name }: { name: string }) => name),
    ['Team'],
  );
  t.equal((await person.call('POST', '/zones', { name: 'bob.example' })).status, 403, 'that role adds no zones');
  await enter(world, as('bob', []));
  t.strictSame((await person.call('GET', '/zones')).json.result, [], 'from the next request on');
  const members = `/accounts/${account.id}/members`;
  const erin = await world.call('POST', members, { email: 'erin@provider.example', roles: [AUDIT_ROLE] });
  const asMember = async () => (await world.call('GET', `${members}/${erin.json.result.id}`)).json.result;
  await enter(world, as('erin', ['other']));
  t.match(
    await asMember(),
    { status: 'pending', roles: [{ id: AUDIT_ROLE }] },
    'an invitation is answered by its user',
  );
  const invited = await enter(world, as('erin', 'dns'));
  t.match(await asMember(), { status: 'accepted', roles: [{ id: DNS_ROLE }], invite: null });
  t.strictSame((await invited.person.call('GET', '/user/invites')).json.result, [], 'and needs no answer then');
  t.equal((await put({ creates: 'never', ...map })).status, 200);
  t.match((await enter(world, as('carol', ['dns']))).answer.headers.location, /problem=notAllowed/);
  t.equal((await put({ creates: 'always', trusts_email: true })).status, 400, 'whose word counts for every address');
  t.equal((await put({ creates: 'always', domains: ['provider.example'], trusts_email: true })).status, 200);
  const unproved = { email_verified: undefined };
  t.match(
    (await enter(world, { claims: { sub: 'dave', email: 'dave@elsewhere.example' } })).answer.headers.location,
    /problem=badStatement/,
  );
  t.equal(
    (await enter(world, { claims: { sub: 'dave', email: 'dave@provider.example', ...unproved } })).answer.headers
      .location,
    '/',
  );
});

t.test('a provider ends what began with it, and rolls its keys', async (t) => {
  const world = await withProvider(t);
  const { idp, provider, clock } = world;
  const { person } = await enter(world);
  const other = (await enter(world, { claims: { sid: 'session-2' } })).person;
  const iat = Math.floor(clock.nowMs() / 1000);
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} };
  const logout = { iss: idp.issuer, aud: CLIENT, iat, jti: 'a', events };
  const send = async (claims: object) =>
    world.call('POST', `/user/sign_in/oidc/${provider}/logout`, undefined, {
      headers: { ...ANONYMOUS, 'content-type': 'application/x-www-form-urlencoded' },
      text: `logout_token=${await idp.sign(claims as never)}`,
    });
  for (const wrong of [{ aud: 'other' }, { events: {} }, { nonce: 'n' }, { iat: iat - 3600 }, { jti: undefined }]) {
    t.equal((await send({ ...logout, sid: 'session-1', ...wrong })).status, 400, JSON.stringify(wrong));
  }
  t.equal((await person.call('GET', '/zones')).status, 200);
  t.equal((await send({ ...logout, sid: 'session-1' })).status, 200);
  t.equal((await person.call('GET', '/zones')).status, 401);
  t.equal((await other.call('GET', '/zones')).status, 200, 'only that session');
  t.equal((await send({ ...logout, jti: 'b', sub: 'ada-at-provider' })).status, 200);
  t.equal((await other.call('GET', '/zones')).status, 401, 'all of the person');
  t.equal(latestEvents(world.store, 1)[0]!.kind, 'sso.logout');
  const third = (await enter(world)).person;
  t.equal((await world.call('DELETE', `/oidc_providers/${provider}`)).status, 200);
  t.equal((await third.call('GET', '/zones')).status, 401, 'sessions go with the provider');
});

t.test('who may say what a provider is, and where it may be', async (t) => {
  const egress = createEgress({ allowed: [], own: { has: () => false } });
  const world = await withProvider(t, {}, { egress });
  t.match((await leave(browser(world), world).catch((error: Error) => error)) as unknown, Error);
  const away = await browser(world).call('GET', `/user/sign_in/oidc/${world.provider}`);
  t.equal(away.headers.location, '/sign-in#problem=providerAway', 'a private address that the operator does not allow');
  t.equal(world.idp.asked.size, 0, 'nothing was connected to');
  const tested = await world.call('POST', `/oidc_providers/${world.provider}/test`);
  t.match([tested.status, tested.json.errors[0].message], [503, /not a public address/]);
  const ada = browser(world);
  await signIn(ada);
  t.equal((await ada.call('GET', '/oidc_providers')).status, 403, 'super administrators only');
  for (const issuer of ['http://login.example.com', 'ftp://x', 'https://a:b@login.example.com', 'x', 'https://x/?y']) {
    t.equal((await world.call('POST', '/oidc_providers', { name: 'x', issuer, client_id: 'x' })).status, 400, issuer);
  }
});
