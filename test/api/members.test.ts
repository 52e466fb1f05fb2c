/** Members, roles, groups and invitations over HTTP: the forms of v4, and what strangers could try. */
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { addUser, suspendUser } from '../../src/control/people/users.js';
import { findAccountById, requiresTwoFactor } from '../../src/store/access/accounts.js';
import { countInvitationsSince } from '../../src/store/access/invitations.js';
import { putPassword } from '../../src/store/access/passwords.js';
import { findUserByEmail } from '../../src/store/access/users.js';
import { latestEvents } from '../support/rows.js';
import { install } from './installation.js';

const SUPER = '33666b9c79b9a5273fc7344ff42f953d';
const ADMIN = '05784afa30c1afe1440e79d9351c7430';
const READ_ONLY = 'f2b20eaa1a5d4af42b53ac16238c99c7';
const DNS = '069fe803647ed3609e93d041d5df6050';
const DOMAIN_DNS = '132c52e7e6654b999c183cfcbafd37d7';

/** An account «Team» with a head who manages it by a token, and further users with tokens of their own. */
async function team(t: Test) {
  const world = await install(t);
  const { operator, token, call } = world;
  const { id: account } = await createAccount(operator, { name: 'Team', members: ['head@example.org'] });
  await createAccount(operator, { name: 'Elsewhere', members: ['stranger@example.org', 'Äda@example.org'] });
  const head = await token({ email: 'head@example.org', name: 'head' });
  const stranger = await token({ email: 'stranger@example.org', name: 'stranger' });
  const as =
    (headers: Record<string, string>) =>
    // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
    async (method: 'GET', path: string, body?: unknown): Promise<any> => {
      const { status, json } = await call(method, path.replace('~', `/accounts/${account}`), body, { headers });
      return { status, ...json };
    };
  const zone = async (name: string): Promise<string> =>
    (await as(head)('POST' as 'GET', '/zones', { name, account: { id: account } })).result.id;
  /** The stranger agrees to what the head asks. */
  const join = async (body: object): Promise<{ result: { id: string } }> => {
    const invited = await as(head)('POST' as 'GET', '~/members', { email: 'stranger@example.org', ...body });
    await as(stranger)('PUT' as 'GET', `/memberships/${invited.result.id}`, { status: 'accepted' });
    return invited;
  };
  /** In an earlier version, an account could add users of others without asking them. */
  const joinUnasked = async (body: object): Promise<{ result: { id: string } }> => {
    const joined = await join(body);
    const { store } = world;
    const unasked = store.prepare<[Uint8Array]>('UPDATE memberships SET agreed = 0 WHERE id = ?');
    await store.write(() => unasked.run(Buffer.from(joined.result.id, 'hex')));
    return joined;
  };
  return { ...world, account, head: as(head), stranger: as(stranger), as, zone, join, joinUnasked };
}

const owning = (group: string) => ({
  access: 'allow',
  permission_groups: [{ id: 'a5e5061418ea445fbba04aac57f359a8' }],
  resource_groups: [{ id: group }],
});

type Method = 'GET';
const [POST, PUT, PATCH, DELETE] = ['POST', 'PUT', 'PATCH', 'DELETE'] as unknown as readonly Method[] as [
  Method,
  Method,
  Method,
  Method,
];

t.test('an invitation, its answer, and what the member may do then', async (t) => {
  const { head, stranger, zone, clock, misfits } = await team(t);
  const shop = await zone('shop.test');
  const made = await head(POST, '~/members', { email: 'Stranger@example.org', roles: [DNS], status: 'pending' });
  t.match(made, { status: 200, result: { status: 'pending', roles: [{ id: DNS, name: 'DNS' }], policies: [] } });
  t.equal(made.result.user.id, undefined, 'nobody learns by inviting who somebody is');
  t.match(made.result.user, { email: 'stranger@example.org', first_name: null });
  const again = await head(POST, '~/members', { email: 'stranger@EXAMPLE.org', roles: [DNS] });
  t.match(again, {
    status: 400,
    errors: [{ code: 1003, message: 'Member with specified email address already exists' }],
  });
  t.match(await stranger('GET', `/zones/${shop}`), { status: 404 }, 'an open invitation gives nothing');
  t.match(await stranger('GET', '/memberships?status=pending'), {
    result: [{ id: made.result.id, status: 'pending', roles: ['DNS'], account: { name: 'Team' } }],
  });
  const [invite] = (await stranger('GET', '/user/invites')).result;
  t.match(invite, { status: 'pending', organization_name: 'Team', invited_by: 'head@example.org', roles: ['DNS'] });
  t.match(await head(PATCH, `/user/invites/${invite.id}`, { status: 'accepted' }), {
    status: 404,
    errors: [{ code: 1003 }],
  });
  t.match(await head(PUT, `/memberships/${made.result.id}`, { status: 'accepted' }), { status: 404 });
  t.match(await stranger(PATCH, `/user/invites/${invite.id}`, { status: 'accepted' }), {
    result: { status: 'accepted' },
  });
  t.strictSame(
    (await stranger('GET', `/zones/${shop}`)).result.permissions,
    ['#dns_records:edit', '#dns_records:read', '#zone:read'],
    'a zone says what the roles permit in it',
  );
  t.match(await stranger(PATCH, `/user/invites/${invite.id}`, { status: 'accepted' }), { status: 400 });
  const record = { type: 'A', name: 'www', content: '192.0.2.1' };
  t.match(await stranger(POST, `/zones/${shop}/dns_records`, record), { status: 200 });
  t.match(await stranger(DELETE, `/zones/${shop}`), { status: 403, errors: [{ code: 10000 }] });
  t.match(await stranger('GET', '~/members'), { status: 403 });
  t.match(await stranger('GET', '~/tokens'), { status: 403 });
  t.match(await stranger('GET', '~'), { status: 200, result: { name: 'Team' } });
  t.match(await stranger('GET', '/zones?per_page=50'), { result: [{ name: 'shop.test' }] });
  t.match(await head('GET', `~/members/${made.result.id}`), {
    result: { status: 'accepted', invite: null, user: { two_factor_authentication_enabled: false } },
  });
  t.match(await head(DELETE, `~/members/${made.result.id}`), { result: { id: made.result.id } });
  t.match(await stranger('GET', `/zones/${shop}`), { status: 404 });
  t.match(await stranger('GET', '~'), { status: 403 });

  const second = (await head(POST, '~/members', { email: 'new@example.org', roles: [DNS] })).result;
  clock.advance(7 * 24 * 3_600_000 + 1000);
  t.match(await head('GET', `~/members/${second.id}`), { result: { status: 'pending', invite: { expired: true } } });
  const renewed = (await head(POST, '~/members', { email: 'new@example.org', roles: [READ_ONLY] })).result;
  t.equal(renewed.id, second.id, 'the member stays, the invitation is new');
  t.match(renewed, { invite: { expired: false }, roles: [{ id: READ_ONLY }] });
  t.strictSame(misfits, []);
});

t.test('an account that adds a user of others unasked takes nothing from the user, and learns nothing', async (t) => {
  const { head, stranger, account, store, misfits, joinUnasked } = await team(t);
  const added = await joinUnasked({ roles: [DNS] });
  const seen = (await head('GET', `~/members/${added.result.id}`)).result.user;
  t.strictSame([seen.id, seen.two_factor_authentication_enabled], [undefined, undefined]);
  t.match(await head(PUT, '~', { name: 'Team', settings: { enforce_twofactor: true } }), { status: 200 });
  const { seq } = findUserByEmail(store, 'stranger@example.org')!;
  t.notOk(requiresTwoFactor(store, seq), 'its sessions need no second factor because of that');
  const pools = '/user/load_balancers/pools';
  t.match(await stranger('GET', pools), { status: 200 }, 'its only account is still its own');
  t.match(await head(PUT, `~/members/${added.result.id}`, { roles: [{ id: READ_ONLY }] }), { status: 200 });
  t.notOk(requiresTwoFactor(store, seq));
  const accepted = await stranger(PUT, `/memberships/${added.result.id}`, { status: 'accepted' });
  t.match(accepted, { result: { status: 'accepted', account: { id: account } } });
  t.ok(requiresTwoFactor(store, seq), 'the user has agreed');
  t.match(await stranger('GET', pools), { status: 400 });
  t.match((await head('GET', `~/members/${added.result.id}`)).result, {
    ...{ user: { two_factor_authentication_enabled: false }, roles: [{ id: READ_ONLY }] },
  });
  t.strictSame(misfits, []);
});

t.test(
  'invitations that are withdrawn count as well, because each may make a user, and all accounts share these',
  async (t) => {
    const { head, account, store } = await team(t);
    const { seq } = findAccountById(store, Buffer.from(account, 'hex'))!;
    for (const email of ['a@example.org', 'b@example.org']) {
      const { result } = await head(POST, '~/members', { email, roles: [DNS] });
      t.match(await head(DELETE, `~/members/${result.id}`), { status: 200 });
    }
    t.equal(countInvitationsSince(store, seq, 0), 2);
  },
);

t.test(
  'a user whom an account invited, and whom nobody became, goes when the day is over in which they count',
  async (t) => {
    const { head, stranger, account, store, clock, operator } = await team(t);
    const { seq } = findAccountById(store, Buffer.from(account, 'hex'))!;
    const invite = async (email: string): Promise<string> => {
      const { status, result } = await head(POST, '~/members', { email, roles: [DNS] });
      t.equal(status, 200, email);
      return result.id;
    };
    const withdraw = async (email: string): Promise<void> => {
      t.match(await head(DELETE, `~/members/${await invite(email)}`), { status: 200 });
    };
    for (const email of ['gone@example.org', 'works@example.org', 'suspended@example.org', 'stranger@example.org']) {
      await withdraw(email);
    }
    await invite('pending@example.org');
    await addUser(operator, 'added@example.org', false);
    const { seq: works } = findUserByEmail(store, 'works@example.org')!;
    await store.write(() => putPassword(store, works, 'a hash', 0));
    await suspendUser(operator, 'suspended@example.org', true);
    clock.advance(23 * 3_600_000);
    await withdraw('later@example.org');
    t.ok(findUserByEmail(store, 'gone@example.org'));
    t.equal(countInvitationsSince(store, seq, 0), 6);
    clock.advance(3_601_000);
    await withdraw('third@example.org');
    t.equal(findUserByEmail(store, 'gone@example.org'), undefined);
    t.match(
      latestEvents(store, 9).find(({ kind }) => kind === 'user.delete'),
      { name: 'gone@example.org' },
    );
    const kept = ['later', 'works', 'suspended', 'pending', 'added', 'stranger', 'third'];
    for (const name of kept) t.ok(findUserByEmail(store, `${name}@example.org`), name);
    t.equal(countInvitationsSince(store, seq, clock.nowUs() - 24 * 3_600_000_000), 2);
    const own: { action: { type: string } }[] = (await head('GET', '/user/audit_logs')).result;
    t.strictSame(
      own.filter(({ action }) => /^user\./.test(action.type)),
      [],
      'whom other accounts invited is not shown',
    );
    t.match(await stranger('GET', '/memberships'), { status: 200 });
  },
);

t.test('who adds somebody does not learn whether they work here already', async (t) => {
  const { head, misfits } = await team(t);
  const answers: unknown[] = [];
  let { length: noted } = (await head('GET', '/user/audit_logs')).result;
  for (const name of ['stranger', 'nobody']) {
    const email = `${name}@example.org`;
    const added = await head(POST, '~/members', { email, roles: [DNS], status: 'accepted' });
    const again = await head(POST, '~/members', { email, roles: [DNS], status: 'accepted' });
    const renewed = await head(POST, `~/members/${added.result.id}/invitation`);
    const edited = await head(PUT, `~/members/${added.result.id}`, { roles: [{ id: READ_ONLY }] });
    const { result: done } = await head('GET', '/user/audit_logs');
    const since = done.slice(0, done.length - noted).map((event: { action: object }) => event.action);
    noted = done.length;
    const text = JSON.stringify([added, again, renewed, edited, since]).replaceAll(name, 'N');
    answers.push(text.replace(/[0-9a-f]{32}|\d{4}-\d\d-\d\dT[^"]+/g, (value) => (value === DNS ? value : '#')));
  }
  t.equal(answers[0], answers[1]);
  t.match(answers[0], /"status":"pending"/);
  t.strictSame(misfits, []);
});

t.test('an invitation that is renewed counts again, and replaces the one before', async (t) => {
  const { head, stranger, account, store, clock } = await team(t);
  const { seq } = findAccountById(store, Buffer.from(account, 'hex'))!;
  const { result } = await head(POST, '~/members', { email: 'stranger@example.org', roles: [DNS] });
  const invites = async () => (await stranger('GET', '/user/invites')).result;
  const [first] = await invites();
  for (let i = 0; i < 2; i++) t.match(await head(POST, `~/members/${result.id}/invitation`), { status: 200 });
  t.equal(countInvitationsSince(store, seq, 0), 3, 'each may send a message');
  const [newest, ...others] = await invites();
  t.match([newest.status, others.length], ['pending', 0], 'the user sees one');
  t.not(newest.id, first.id);
  t.match(await stranger(PATCH, `/user/invites/${first.id}`, { status: 'accepted' }), { status: 404 });
  clock.advance(31 * 24 * 3_600_000);
  t.match(await head(POST, '~/members', { email: 'other@example.org', roles: [DNS] }), { status: 200 });
  t.equal(countInvitationsSince(store, seq, 0), 2, 'what was replaced is not kept for ever');
  t.match(await invites(), [{ id: newest.id, status: 'expired' }]);
});

t.test('of the users whom all share, an account may make half of what the others leave', async (t) => {
  const { head, as, token, account, store, operator } = await team(t);
  const insert = store.prepare<[Uint8Array]>(
    `INSERT INTO users (id, email, super_administrator, created_at, modified_at, suspended, made_by)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4997)
     SELECT unhex(printf('%032x', i)), i || '@example.net', 0, 0, 0, 1, ? FROM n`,
  );
  await store.write(() => insert.run(Buffer.from(account, 'hex')));
  const user = (name: string) => ({ email: `${name}@example.org`, roles: [DNS] });
  t.match(await head(POST, '~/members', user('last')), { status: 200 });
  t.match(await head(POST, '~/members', user('more')), { status: 403, errors: [{ code: 1405 }] });
  const known = await head(POST, '~/members', user('stranger'));
  t.match(known, { status: 403, errors: [{ code: 1405 }] }, 'nobody learns who is known');
  t.ok(await addUser(operator, 'operator@example.org', false), 'the operator is not held');
  const { id: other } = await createAccount(operator, { name: 'Other', members: ['other@example.org'] });
  const owner = as(await token({ email: 'other@example.org', name: 'other' }));
  t.match(await owner(POST, `/accounts/${other}/members`, user('first')), { status: 200 }, 'others have room');
});

t.test('who was added without being asked is not held as the last administrator', async (t) => {
  const { head, stranger, account, misfits, joinUnasked } = await team(t);
  const added = await joinUnasked({ roles: [SUPER] });
  const own = (await head('GET', '/memberships')).result.find(
    (row: { account: { id: string } }) => row.account.id === account,
  );
  t.match(await head(DELETE, `/memberships/${own.id}`), { status: 200 });
  t.match(await stranger(DELETE, `/memberships/${added.result.id}`), { status: 200 }, 'who leaves at any time');
  t.strictSame(misfits, []);
});

t.test('what is refused', async (t) => {
  const { head, as, token, misfits, account, join } = await team(t);
  const refused = async (body: unknown, code: number): Promise<void> => {
    const { status, errors } = await head(POST, '~/members', body);
    t.match([status, errors?.[0].code], [400, code], JSON.stringify(body));
  };
  await refused({ email: 'a@example.org' }, 1001);
  await refused({ email: 'a@example.org', roles: [] }, 1001);
  await refused({ email: 'a@example.org', roles: ['0'.repeat(32)] }, 1001);
  await refused({ email: 'a@example.org', roles: [DOMAIN_DNS] }, 1001);
  await refused({ email: 'a\r\nBcc: b@example.org', roles: [DNS] }, 1001);
  await refused({ email: 'a\u202e@example.org', roles: [DNS] }, 1001);
  await refused({ email: 'no address', roles: [DNS] }, 1001);
  t.match(await head('GET', `~/members/${'0'.repeat(32)}`), { status: 404, errors: [{ code: 1003 }] });
  t.match(await head('GET', `~/roles/${'0'.repeat(32)}`), { status: 404, errors: [{ code: 1004 }] });
  const [own] = (await head('GET', '~/members')).result;
  const last = { status: 400, errors: [{ code: 1004, message: 'The account needs a super administrator.' }] };
  t.match(await head(DELETE, `~/members/${own.id}`), last);
  t.match(await head(PUT, `~/members/${own.id}`, { roles: [{ id: ADMIN }] }), last);
  t.match(await head(DELETE, `/memberships/${own.id}`), last);
  t.match(await head(PUT, `/memberships/${own.id}`, { status: 'rejected' }), last);
  t.match(await head(POST, '~/members', { email: 'new@example.org', roles: [SUPER], status: 'accepted' }), {
    result: { status: 'pending' },
  });
  t.match(await head(DELETE, `~/members/${own.id}`), last, 'one who has not accepted does not count');
  await join({ roles: [SUPER] });
  t.match(await head(PUT, `~/members/${own.id}`, { roles: [{ id: ADMIN }] }), { status: 200 });
  t.match(await head(POST, '~/members', { email: 'b@example.org', roles: [DNS] }), { status: 403 }, 'not any more');
  const limited = await token({
    email: 'stranger@example.org',
    policies: [
      {
        effect: 'allow',
        permission_groups: [{ id: '1af1fa2adc104452b74a9a3364202f20' }],
        resources: { [`com.cloudflare.api.account.${account}`]: '*' },
      },
    ],
  });
  t.match(await as(limited)('GET', '~/members'), { status: 200 });
  t.match(await as(limited)(POST, '~/members', { email: 'c@example.org', roles: [DNS] }), { status: 403 });
  t.match(await as(limited)(DELETE, `~/members/${own.id}`), { status: 403 }, 'nobody takes what they do not have');
  t.match(
    await as(limited)(POST, '~/members', { email: 'c@example.org', roles: ['5c35d2bf3a545e6b7560b826c0d23c39'] }),
    {
      status: 200,
    },
  );
  const reading = await token({ email: 'stranger@example.org', readOnly: true });
  const listed = (await as(reading)('GET', '~/members')).result;
  t.ok(listed.every(({ user }: { user: object }) => !('two_factor_authentication_enabled' in user)));
  t.strictSame(misfits, []);
});

t.test('addresses are compared without regard to case and composition', async (t) => {
  const { head, as, token } = await team(t);
  await head(POST, '~/members', { email: 'A\u0308DA@example.org', roles: [DNS] });
  const ada = await token({ email: 'äda@example.org' });
  t.match(await as(ada)('GET', '/user/invites'), { result: [{ invited_member_email: 'äda@example.org' }] });
  t.match(await head(POST, '~/members', { email: 'ÄDA@EXAMPLE.org', roles: [DNS] }), { errors: [{ code: 1003 }] });
});

t.test('policies, resource groups and user groups', async (t) => {
  const { head, stranger, zone, account, misfits, join } = await team(t);
  const [one, two] = [await zone('one.test'), await zone('two.test')];
  const scope = (...keys: string[]) => ({
    key: `com.cloudflare.api.account.${account}`,
    objects: keys.map((key) => ({ key: key === '*' ? key : `com.cloudflare.api.account.zone.${key}` })),
  });
  const group = (await head(POST, '~/iam/resource_groups', { name: 'One', scope: scope(one) })).result;
  t.match(await head(POST, '~/iam/resource_groups', { name: 'Bad', scope: scope('0'.repeat(32)) }), { status: 400 });
  const policy = (access: string) => ({
    access,
    permission_groups: [{ id: DOMAIN_DNS, name: 'Domain DNS' }],
    resource_groups: [{ id: group.id }],
  });
  const { id } = (await join({ roles: [SUPER], policies: [policy('allow')] })).result;
  const member = (await head('GET', `~/members/${id}`)).result;
  t.match(member, { roles: [], policies: [{ access: 'allow', resource_groups: [{ name: 'One' }] }] }, 'policies count');
  t.match(await stranger('GET', '/zones?per_page=50'), { result: [{ id: one }], result_info: { total_count: 1 } });
  t.match(await stranger('GET', `/zones/${one}/dns_records`), { status: 200 });
  t.match(await stranger('GET', `/zones/${two}`), { status: 404 });
  t.match(await stranger('GET', `/zones/${two}/dns_records`), { status: 404 });
  t.match(await stranger(POST, '/zones', { name: 'three.test', account: { id: account } }), { status: 403 });

  const unchanged = (await head(PUT, `~/members/${member.id}`, { policies: [policy('allow')], status: 'pending' }))
    .result;
  t.strictSame(
    { ...unchanged, last_active_on: null },
    { ...member, last_active_on: null },
    'the identifier of a policy stays, and so does the status',
  );
  t.match(await head(DELETE, `~/iam/resource_groups/${group.id}`), { status: 400 });
  const group2 = (await head(POST, '~/iam/resource_groups', { name: 'All', scope: scope('*') })).result;
  const widened = await head(PUT, `~/iam/resource_groups/${group.id}`, { name: 'Both', scope: scope(one, two) });
  t.match(widened, { result: { name: 'Both', scope: { objects: [{}, {}] } } });
  t.match(await stranger('GET', `/zones/${two}/dns_records`), { status: 200 });
  const owner = (await head(POST, '~/iam/user_groups', { name: 'Owners', policies: [owning(group.id)] })).result;
  await head(POST, `~/iam/user_groups/${owner.id}/members`, [{ id: member.id }]);
  t.match(await stranger(DELETE, `/zones/${two}`), { status: 200 }, 'who may delete a zone loses it with that');
  await head(DELETE, `~/iam/user_groups/${owner.id}`);
  t.match(await head('GET', `~/iam/resource_groups/${group.id}`), {
    result: { scope: { objects: [{ key: /.{32}$/ }] } },
  });
  t.match(await head(DELETE, `/zones/${one}`), { status: 200 });
  t.match((await head('GET', `~/iam/resource_groups/${group.id}`)).result.scope.objects, []);
  const three = await zone('three.test');
  t.match(await stranger('GET', `/zones/${three}`), { status: 404 }, 'an empty group grants nothing');

  const editors = (
    await head(POST, '~/iam/user_groups', {
      name: 'Editors',
      policies: [{ access: 'allow', permission_groups: [{ id: DNS }], resource_groups: [{ id: group2.id }] }],
    })
  ).result;
  t.match(await head(POST, `~/iam/user_groups/${editors.id}/members`, [{ id: member.id }]), {
    result: [{ email: 'stranger@example.org', status: 'accepted' }],
  });
  t.match(await stranger('GET', `/zones/${three}/dns_records`), { status: 200 }, 'own and shared policies add up');
  t.match(await head(PUT, `~/iam/user_groups/${editors.id}/members`, []), { result: [] });
  t.match(await stranger('GET', `/zones/${three}`), { status: 404 });
  t.match(await head('GET', `~/iam/user_groups/${editors.id}`), { result: { name: 'Editors', policies: [{}] } });
  t.match(await head('GET', '~/iam/permission_groups?label=domain_dns'), { result: [{ id: DOMAIN_DNS }] });
  t.match(await head('GET', `~/iam/permission_groups/${DNS}`), { result: { name: 'DNS' } });
  t.match(await head('GET', '~/roles?per_page=50'), { result_info: { total_count: 12 } });
  t.match(await stranger('GET', '~/iam/user_groups'), { status: 403 });
  t.strictSame(misfits, []);
});
