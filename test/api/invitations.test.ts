/** How people hear of invitations: by mail, or with a link that an administrator hands on. */
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { createUserLink } from '../../src/sign-in/links.js';
import { until } from '../support/until.js';
import { type InstallationOptions, install } from './installation.js';
import { browser, PASSWORD, signIn, suspend } from './people.js';

const DNS = '069fe803647ed3609e93d041d5df6050';
const [ACCOUNT_WRITE, ...ZONE_GROUPS] = [
  '1af1fa2adc104452b74a9a3364202f20',
  'c8fed203ed3043cba015a93ad1616f1f',
  '517b21aee92c4d89936c976ba6e4be55',
  '4755a26eedb94da69e1066d98aa820be',
];
const SUPER = '33666b9c79b9a5273fc7344ff42f953d';
const PUBLIC = { signIn: { publicUrl: 'https://dns.example.org' } };

/** An account with a head who manages it. */
async function team(t: Test, options: InstallationOptions = {}, name = 'Team') {
  const world = await install(t, options);
  const { id } = await createAccount(world.operator, { name, members: ['head@example.org'] });
  const head = { headers: await world.token({ email: 'head@example.org', name: 'head' }) };
  const path = `/accounts/${id}/members`;
  const invite = (email: string) => world.call('POST', path, { email, roles: [DNS] }, head);
  return { ...world, path, head, invite };
}

/** The second user is invited, and accepts. */
async function join(
  { call, path, head }: Awaited<ReturnType<typeof team>>,
  second: { readonly headers: Record<string, string> },
  role = SUPER,
): Promise<void> {
  const invited = await call('POST', path, { email: 'second@example.org', roles: [role] }, head);
  await call('PUT', `/memberships/${invited.json.result.id}`, { status: 'accepted' }, second);
}

t.test('somebody new comes in with the link of the message', async (t) => {
  const world = await team(t, PUBLIC);
  const { mails, invite, call, path, head, clock } = world;
  const made = await invite('Grace@example.com');
  t.equal(made.status, 200);
  t.notMatch(made.text, /password=/, 'who invites learns no secret');
  await until(() => mails.length === 1);
  t.match(mails[0], { to: 'Grace@example.com', subject: 'An invitation' });
  const code = /https:\/\/dns\.example\.org\/sign-in#password=([\w-]{40})\n/.exec(mails[0]!.text)?.[1];
  t.ok(code, 'it leads to a password');
  clock.advance(6 * 24 * 3_600_000);
  const grace = browser(world);
  t.equal((await grace.call('PUT', `/user/password_reset/${code}`, { new: PASSWORD })).status, 200);
  t.equal((await signIn(grace, PASSWORD, 'grace@example.com')).status, 200);
  t.match((await grace.call('GET', '/user/permissions')).json.result.session, { invitations: 1 });
  t.equal((await grace.call('GET', '/accounts')).json.result.length, 0, 'an invitation gives nothing yet');
  const [{ id }] = (await grace.call('GET', '/user/invites')).json.result;
  t.equal((await grace.call('PATCH', `/user/invites/${id}`, { status: 'accepted' })).status, 200);
  t.match((await grace.call('GET', '/user/permissions')).json.result.session, { invitations: 0 });
  t.equal((await grace.call('GET', '/accounts')).json.result.length, 1);
  t.match(
    await call('POST', `${path}/${made.json.result.id}/invitation`, undefined, head),
    { status: 400, json: { errors: [{ message: 'The invitation was answered already.' }] } },
    'whoever has accepted is not asked again',
  );
  await invite('head@example.org').then(({ status }) => t.equal(status, 400));
  t.equal(mails.length, 1);
});

t.test('whoever can sign in gets no link to become that user', async (t) => {
  const world = await team(t, PUBLIC);
  const { operator, mails, invite, head, call, path } = world;
  await createAccount(operator, { name: 'Elsewhere', members: ['ada@example.com'] });
  const { id } = (await invite('ada@example.com')).json.result;
  await until(() => mails.length === 1);
  t.notMatch(mails[0]!.text, /#/);
  const again = await call('POST', `${path}/${id}/invitation`, undefined, head);
  t.match(again.json.result, { mailed: true, link: null, member: { status: 'pending' } });
  await suspend(world, 'ada@example.com');
  const suspended = await call('POST', `${path}/${id}/invitation`, undefined, head);
  t.match(suspended.json.result, { mailed: true, link: null }, 'nobody learns by it who is suspended');
  await invite('last@example.com');
  await until(() => mails.some(({ to }) => to === 'last@example.com'));
  t.equal(mails.length, 3, 'and who is gets nothing');
});

t.test('a link that was handed on ends when somebody is the user', async (t) => {
  const world = await team(t);
  const { operator, invite, call, path } = world;
  const { id } = (await invite('grace@example.com')).json.result;
  const { link } = (await call('POST', `${path}/${id}/invitation`)).json.result;
  for (let n = 0; n < 8; n++) await createUserLink(operator, 'grace@example.com', 'password');
  const hashes = world.store.prepare('SELECT count(*) AS links FROM user_links').get();
  t.same(hashes, { links: 6 }, 'requests for a new password end no invitation');
  await createAccount(operator, { name: 'Elsewhere', members: ['grace@example.com'] });
  const mallory = browser(world);
  const [, code] = link.split('=');
  t.match(await mallory.call('PUT', `/user/password_reset/${code}`, { new: PASSWORD }), {
    status: 403,
    json: { errors: [{ message: 'This link was used already, or is too old.' }] },
  });
  t.equal((await signIn(mallory, PASSWORD, 'grace@example.com')).status, 403);
});

t.test('floods, and names that look like header fields', async (t) => {
  const { mails, invite, head, call, path } = await team(t, PUBLIC, 'Team\u2028Bcc: eve@evil.example');
  const { id } = (await invite('grace@example.com')).json.result;
  const sent: boolean[] = [];
  for (let n = 0; n < 6; n++) {
    sent.push((await call('POST', `${path}/${id}/invitation`, undefined, head)).json.result.mailed);
  }
  t.strictSame(sent, [true, true, false, false, false, false], 'three an hour, with the first');
  await until(() => mails.length === 3);
  for (const { subject, text, to } of mails) {
    t.strictSame([to, subject], ['grace@example.com', 'An invitation']);
    t.notMatch(text, /[\n\u2028]Bcc/);
  }
  const statuses: number[] = [];
  for (const email of ['a@b.example\r\nBcc: c@d.example', 'a@b.example, c@d.example', '"x" <a@b.example>']) {
    statuses.push((await invite(email)).status);
  }
  t.strictSame(statuses, [400, 400, 400]);
  t.equal(mails.length, 3);
});

t.test('an invitation gives no more than whoever made it could give now', async (t) => {
  const world = await team(t, {}, 'Changing');
  const { call, path, head, operator } = world;
  const second = { headers: await world.token({ email: 'second@example.org', name: 'second' }) };
  await join(world, second);
  const inviting = (email: string) => call('POST', path, { email, roles: [DNS] }, second);
  for (const email of ['ann@example.org', 'bea@example.org', 'cleo@example.org']) await inviting(email);
  /** Signs in somebody with a new password. */
  const accept = async (email: string) => {
    const link = await createUserLink(operator, email, 'sign-in');
    const person = browser(world);
    await person.call('POST', '/user/sign_in/link', { link });
    const [{ id }] = (await person.call('GET', '/user/invites')).json.result;
    return (await person.call('PATCH', `/user/invites/${id}`, { status: 'accepted' })).status;
  };
  t.equal(await accept('ann@example.org'), 200);
  const members = (await call('GET', path, undefined, head)).json.result;
  const idOf = (email: string): string =>
    members.find(({ user }: { user: { email: string } }) => user.email === email).id;
  const demoted = await call('PUT', `${path}/${idOf('second@example.org')}`, { roles: [{ id: DNS }] }, head);
  t.equal(demoted.status, 200);
  t.equal(await accept('bea@example.org'), 400, 'may not invite any more');
  await call('PUT', `${path}/${idOf('second@example.org')}`, { roles: [{ id: SUPER }] }, head);
  await suspend(world, 'second@example.org');
  t.equal(await accept('cleo@example.org'), 400, 'is suspended');
  const own = await call('DELETE', `${path}/${idOf('head@example.org')}`, undefined, head);
  t.match([own.status, own.json.errors[0].message], [400, 'The account needs a super administrator.']);
});

t.test('a token of the account invites for the account, even if the user who created it has left', async (t) => {
  const world = await team(t, {}, 'Owner');
  const { call, path, head, operator } = world;
  const second = { headers: await world.token({ email: 'second@example.org', name: 'second' }) };
  await join(world, second);
  const [, , id] = path.split('/');
  const account = `com.cloudflare.api.account.${id}`;
  const allow = (groups: readonly string[], resources: object) => {
    return { effect: 'allow', permission_groups: groups.map((group) => ({ id: group })), resources };
  };
  const zones = allow(ZONE_GROUPS, { [account]: { 'com.cloudflare.api.account.zone.*': '*' } });
  const policies = [allow([ACCOUNT_WRITE!], { [account]: '*' }), zones];
  const made = await call('POST', `/accounts/${id}/tokens`, { name: 'automation', policies }, second);
  const automation = { headers: { authorization: `Bearer ${made.json.result.value}` } };
  for (const email of ['ann@example.org', 'bea@example.org', 'cleo@example.org']) {
    t.match(await call('POST', path, { email, roles: [DNS] }, automation), { status: 200 });
  }
  const accept = async (email: string) => {
    const link = await createUserLink(operator, email, 'sign-in');
    const person = browser(world);
    await person.call('POST', '/user/sign_in/link', { link });
    const [invite] = (await person.call('GET', '/user/invites')).json.result;
    t.equal(invite.invited_by, 'second@example.org');
    return (await person.call('PATCH', `/user/invites/${invite.id}`, { status: 'accepted' })).status;
  };
  await suspend(world, 'second@example.org');
  t.equal(await accept('ann@example.org'), 200, 'its creator is suspended');
  const token = `/accounts/${id}/tokens/${made.json.result.id}`;
  t.equal((await call('PUT', token, { name: 'automation', policies: [zones] }, head)).status, 200);
  t.equal(await accept('bea@example.org'), 400, 'it may not invite any more');
  t.equal((await call('PUT', token, { name: 'automation', policies }, head)).status, 200);
  t.equal((await call('DELETE', token, undefined, head)).status, 200);
  t.equal(await accept('cleo@example.org'), 400, 'it is deleted');
});

t.test('without mail, an administrator of the installation hands a link on, and nobody else', async (t) => {
  const world = await team(t);
  const { mails, invite, head, call, path } = world;
  const { id } = (await invite('grace@example.com')).json.result;
  const byHead = await call('POST', `${path}/${id}/invitation`, undefined, head);
  t.match(byHead.json.result, { mailed: false, link: null }, 'whoever has it would become that user everywhere');
  const { json } = await call('POST', `${path}/${id}/invitation`);
  const code = /^\/sign-in#password=([\w-]{40})$/.exec(json.result.link)?.[1];
  const grace = browser(world);
  t.equal((await grace.call('PUT', `/user/password_reset/${code}`, { new: PASSWORD })).status, 200);
  t.equal((await call('POST', `${path}/${id}/invitation`)).json.result.link, null, 'now there is somebody');
  t.equal(mails.length, 0);
  t.equal((await call('POST', `${path}/${'0'.repeat(32)}/invitation`)).status, 404);
});
