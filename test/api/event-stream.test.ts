/** Streams of events: what comes, to whom, how they end, and that nobody takes more than a share. */
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { actorOfPerson } from '../../src/control/access/authentication.js';
import { setPasswordOf } from '../../src/sign-in/operator.js';
import { insertSession } from '../../src/store/access/sessions.js';
import { findUserById } from '../../src/store/access/users.js';
import { type EventStream, openEventStream } from '../support/event-stream.js';
import { until } from '../support/until.js';
import { ADMIN_HEADERS, type Installation, install } from './installation.js';
import { ADA, browser, PASSWORD, signIn } from './people.js';

let world: Installation;
let url: string;
let zone: string;
let account: string;

t.before(async () => {
  world = await install(t);
  await world.app.listen({ port: 0, host: '127.0.0.1' });
  url = `http://127.0.0.1:${(world.app.server.address() as AddressInfo).port}/client/v4/events`;
  account = (await world.call('GET', '/accounts')).json.result[0].id;
  zone = await world.createZone('seen.test');
  // Connections of clients that have gone.
  t.teardown(() => world.app.server.closeAllConnections());
});

const follow = (t: Test, query: string, headers: Record<string, string> = ADMIN_HEADERS): Promise<EventStream> =>
  openEventStream(t, url + query, headers);

async function comes(stream: EventStream, isThere: () => boolean): Promise<void> {
  await until(
    () => {
      world.events.wake();
      world.clock.advance(20);
      return isThere();
    },
    'what a stream is to say',
    stream.text,
  );
}

const add = (name: string, inZone = zone) =>
  world.call('POST', `/zones/${inZone}/dns_records`, { type: 'A', name, content: '198.51.100.1' });

t.test('what happens comes in its order, and goes on where it was', async (t) => {
  const first = await follow(t, '');
  t.equal(first.status, 200);
  await add('a');
  await add('b');
  await comes(first, () => first.events().length === 2);
  const [a, b] = first.events();
  t.match(a, { kind: 'record.create', zone: { id: zone, name: 'seen.test' }, account: { id: account } });
  t.match([a.subject.name, b.subject.name], ['a.seen.test A', 'b.seen.test A']);
  first.close();
  await add('c');
  const next = await follow(t, '', { ...ADMIN_HEADERS, 'last-event-id': a.id });
  await comes(next, () => next.events().length === 2);
  t.strictSame(
    next.events().map(({ subject }) => subject.name),
    ['b.seen.test A', 'c.seen.test A'],
    'nothing is missing, and nothing comes twice',
  );
  const { json } = await world.call('GET', `/events?last_event_id=${a.id}`);
  t.equal(json.result.length, 2, 'the same as a list');
  t.equal(json.result_info.cursors.after, json.result[1].id);
  t.strictSame(world.misfits, []);
});

t.test('filters', async (t) => {
  const other = await world.createZone('other.test');
  const stream = await follow(t, '?zone=seen.test&kind=record.create,zone.*');
  const id = (await add('d')).json.result.id;
  await add('d', other);
  await world.call('DELETE', `/zones/${zone}/dns_records/${id}`);
  await add('e');
  await comes(stream, () => stream.events().length === 2);
  t.strictSame(
    stream.events().map(({ kind, subject }) => [kind, subject.name]),
    [
      ['record.create', 'd.seen.test A'],
      ['record.create', 'e.seen.test A'],
    ],
  );
  for (const query of ['?kind=records', '?last_event_id=x', `?account=${'0'.repeat(32)}`]) {
    const status = (await world.call('GET', `/events${query}`)).status;
    t.ok(status === 400 || status === 404, query);
  }
});

t.test('a credential sees what it may read, and its stream ends with it', async (t) => {
  const { id: foreign } = await createAccount(world.operator, { name: 'foreign' });
  const far = (await world.call('POST', '/zones', { name: 'far.test', account: { id: foreign } })).json.result.id;
  const hidden = await world.createZone('hidden.test');
  const policies = [
    {
      effect: 'allow',
      permission_groups: [{ id: '82e64a83756745bbbb1c9c2701bf816b' }],
      resources: { [`com.cloudflare.api.account.zone.${zone}`]: '*' },
    },
  ];
  const { json } = await world.call('POST', `/accounts/${account}/tokens`, { name: 'narrow', policies });
  const headers = { authorization: `Bearer ${json.result.value}` };
  const stream = await follow(t, '', headers);
  await add('f', far);
  await add('f', hidden);
  await world.call('PATCH', `/zones/${zone}/settings/ssl`, { value: 'full' });
  await add('g');
  await comes(stream, () => stream.events().length === 1);
  t.match(stream.events()[0], { subject: { name: 'g.seen.test A' }, actor: null }, 'not who did it');
  t.equal(stream.events().length, 1, 'nothing of other zones, accounts and settings');
  await world.call('DELETE', `/accounts/${account}/tokens/${json.result.id}`);
  await comes(stream, stream.isOver);
  t.match(stream.text(), /event: end\ndata: {"reason":"the credential has ended/);
});

t.test('a credential for some records sees no state of others', async (t) => {
  const policies = [
    {
      effect: 'allow',
      permission_groups: [{ id: '82e64a83756745bbbb1c9c2701bf816b' }],
      resources: { [`com.cloudflare.api.account.zone.${zone}`]: '*' },
      records: { names: ['shown.*'] },
    },
  ];
  const { json } = await world.call('POST', `/accounts/${account}/tokens`, { name: 'records', policies });
  const { id } = (await add('private')).json.result;
  await world.call('PATCH', `/zones/${zone}/dns_records/${id}`, { name: 'shown' });
  const { text, json: list } = await world.call('GET', '/events', undefined, {
    headers: { authorization: `Bearer ${json.result.value}` },
  });
  t.match(list.result, [{ kind: 'record.edit', before: null, after: { name: 'shown.seen.test' } }]);
  t.notMatch(text, /private/);
});

t.test('events that say much come in several answers', async (t) => {
  const { json } = await world.call('GET', '/events?last_event_id=999999');
  const posts = Array.from({ length: 100 }, (_, i) => {
    return { type: 'TXT', name: `long${i}`, content: `"${'x'.repeat(250)}" `.repeat(8).trim() };
  });
  const made = await world.call('POST', `/zones/${zone}/dns_records/batch`, { posts });
  t.equal(made.status, 200, made.text.slice(0, 500));
  let [after, count, answers] = [json.result_info.cursors.after, 0, 0];
  for (; count < 100 && answers < 100; answers++) {
    const { text, json: list } = await world.call('GET', `/events?last_event_id=${after}`);
    t.ok(text.length < 256 * 1024);
    after = list.result_info.cursors.after;
    count += list.result.length;
  }
  t.equal(count, 100);
  t.ok(answers > 1);
});

t.test('a stream ends with the time of its session', async (t) => {
  const { store, clock, events } = world;
  const user = findUserById(store, Buffer.from((await world.call('GET', '/user')).json.result.id, 'hex'))!;
  const [id, now] = [Buffer.alloc(16, 1), clock.nowUs()];
  await store.write(() =>
    insertSession(store, {
      ...{ id, hash: Buffer.alloc(32, 1), user: user.seq, credential: null, credential_hash: null },
      ...{ how: 'password', proved_at: now, provider: null, provider_subject: null, provider_session: null },
      ...{ address: '192.0.2.1', user_agent: '', created_at: now, last_used_at: now, expires_at: now + 600_000_000 },
    }),
  );
  const request = { actor: actorOfPerson(store, user), session: id.toString('hex'), address: '192.0.2.1' };
  const stream = events.open({ ...request, filter: { zones: [], kinds: [] }, after: undefined });
  let text = '';
  stream.on('data', (piece) => (text += piece));
  const says = (what: string) =>
    until(() => {
      clock.advance(1000);
      return text.includes(what);
    }, what);
  await says(': \n\n');
  t.notMatch(text, /event: end/, 'a sign of life');
  clock.advance(600_000);
  await says('event: end');
  stream.destroy();
});

t.test('when there are too many, the account with most gives one up', async (t) => {
  const filter = { zones: [], kinds: [] };
  const open = (accountNumber: number, i: number) => {
    const accountIds = [String(accountNumber)];
    const actor = { ...world.operator.actor, keyId: `${accountNumber}-${i}`, accountIds };
    return world.events.open({ actor, address: `10.0.${accountNumber}.${i}`, filter, after: undefined });
  };
  const counts = [...Array<number>(9).fill(100), 90, 20];
  const many = counts.flatMap((count, n) => Array.from({ length: count }, (_, i) => open(n, i)));
  t.equal(world.events.samples()[0]!.value, 1000);
  for (const one of many) one.destroy();
  await until(() => world.events.samples()[0]!.value === 0, 'all to be forgotten');
});

t.test('there are few streams of one credential, and whoever does not read is cut', async (t) => {
  const request = {
    ...{ actor: world.operator.actor, address: '192.0.2.1' },
    filter: { zones: [], kinds: [] },
    after: 0,
  };
  const actor = { ...request.actor, userId: '1'.repeat(32) };
  const many = Array.from({ length: 20 }, () => world.events.open({ ...request, actor }));
  t.throws(() => world.events.open({ ...request, actor }), { message: /Too many streams/ });
  for (const one of many) one.destroy();
  await until(() => {
    const value = world.events.samples().find(({ name }) => name === 'event_streams')?.value;
    return value === 0;
  }, 'all to be forgotten');
  const key = (await world.call('GET', '/user')).json.result.id as string;
  const accountIds = [account];
  const silent = world.events.open({
    ...request,
    actor: { ...request.actor, userId: key, kind: 'session', accountIds },
  });
  const posts = Array.from({ length: 400 }, (_, i) => ({
    type: 'TXT',
    name: `t${i}`,
    content: `"${'x'.repeat(200)}"`,
  }));
  await world.call('POST', `/zones/${zone}/dns_records/batch`, { posts });
  await until(() => {
    world.clock.advance(5000);
    return silent.destroyed;
  }, 'the one that does not read to be cut');
  t.equal(world.events.samples().find(({ name }) => name === 'event_streams_cut_total')?.value, 1);
});

t.test('a stream ends with the secret, the session and the factors with which it began', async (t) => {
  const { json } = await world.call('POST', `/accounts/${account}/tokens`, {
    name: 'rolled',
    policies: [
      {
        effect: 'allow',
        permission_groups: [{ id: '82e64a83756745bbbb1c9c2701bf816b' }],
        resources: { [`com.cloudflare.api.account.zone.${zone}`]: '*' },
      },
    ],
  });
  const rolled = await follow(t, '', { authorization: `Bearer ${json.result.value}` });
  t.equal((await world.call('PUT', `/accounts/${account}/tokens/${json.result.id}/value`, {})).status, 200);
  await comes(rolled, rolled.isOver);
  await createAccount(world.operator, { name: 'Engines', members: [ADA] });
  await setPasswordOf(world.operator, ADA, PASSWORD);
  const person = browser(world);
  await signIn(person);
  const enforce = (on: number): Promise<void> =>
    world.store.write(() => {
      world.store.prepare<[on: number]>("UPDATE accounts SET enforce_twofactor = ? WHERE name = 'Engines'").run(on);
    });
  const weak = await follow(t, '', { cookie: person.cookie });
  t.equal(weak.status, 200);
  await enforce(1);
  await add('weak');
  await comes(weak, weak.isOver);
  await enforce(0);
  const idle = await follow(t, '', { cookie: person.cookie });
  t.equal(idle.status, 200);
  world.clock.advance(13 * 3_600_000);
  await add('idle');
  await comes(idle, idle.isOver);
  t.match(idle.text(), /event: end\n/);
});
