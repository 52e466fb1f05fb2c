/** Webhooks over HTTP, with the vendor's SDK, and what real receivers get of what happens. */
import Cloudflare from 'cloudflare';
import { Webhook } from 'standardwebhooks';
import t from 'tap';
import type { Deliverer } from '../../src/alerts/deliverer.js';
import { OLD_DELIVERIES_JOB, oldDeliveriesJob } from '../../src/alerts/old-deliveries.js';
import { beginningOf } from '../../src/alerts/record.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { allDestinations, editDestination, findDestinationById } from '../../src/store/alerts/destinations.js';
import { WEBHOOK_SECRETS } from '../../src/store/sealed-columns.js';
import { examineStore } from '../../src/warnings/examine.js';
import { sent } from '../api/sdk-fetch.js';
import { egressTo } from '../support/egress.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';
import { type AlertWorld, alertWorld, type Receiver, startReceiver } from './world.js';

const DAY_MS = 86_400_000;
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

let world: AlertWorld;
let deliverer: Deliverer;
const faults: unknown[] = [];
let zone: string;

t.before(async () => {
  const listeners = [{ host: '127.0.0.1', port: 8053, place: 'here' as const }];
  const egress = egressTo(new TestClock(), ['192.0.2.0/24', '127.0.0.1/32'], listeners);
  world = await alertWorld(t, { egress });
  deliverer = world.startDeliverer({ onFault: (error) => faults.push(error) });
  zone = await world.createZone('told.test');
});

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

let number = 0;
async function addRecord(inZone = zone): Promise<string> {
  const name = `r${++number}`;
  const body = { type: 'A', name, content: '198.51.100.1' };
  const { json } = await world.call('POST', `/zones/${inZone}/dns_records`, body);
  deliverer.look();
  return `${json.result.name} A`;
}

/** Stores what was reported; and for time that passes, what is due. */
async function arrived(receiver: Receiver, count: number): Promise<void> {
  await until(() => {
    world.clock.advance(1);
    return receiver.got.length >= count;
  }, `${count} messages`);
}

async function stored(id: string, fits: (hook: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
  const path = `${world.path}/destinations/webhooks/${id}`;
  let shown: Record<string, unknown> = {};
  await until(async () => {
    world.clock.advance(100);
    shown = (await world.call('GET', path)).json.result;
    return fits(shown);
  }, 'what is stored of a webhook');
  return shown;
}

async function forget(policy: string, ...hooks: string[]): Promise<void> {
  await world.call('DELETE', `${world.path}/policies/${policy}`);
  for (const hook of hooks) await world.call('DELETE', `${world.path}/destinations/webhooks/${hook}`);
  deliverer.look();
}

t.test('the calls of the SDK, from a webhook to what was sent', async (t) => {
  const receiver = await startReceiver(t);
  const { authorization } = await world.token();
  const client = new Cloudflare({
    apiToken: authorization.slice(7),
    baseURL: 'http://api.test/client/v4',
    maxRetries: 0,
    fetch: (url, init) => sent(world, String(url), init),
  });
  const { alerting } = client;
  const of = { account_id: world.account };
  const made = await alerting.destinations.webhooks.create({ ...of, name: 'chat', url: receiver.url, secret: SECRET });
  const listed = await all(alerting.destinations.webhooks.list(of));
  t.strictSame(
    listed.map(({ id, name, type, url }) => ({ id, name, type, url })),
    [{ id: made.id, name: 'chat', type: 'generic', url: receiver.url }],
  );
  t.notMatch(JSON.stringify(listed), SECRET, 'the secret is in no answer');
  const types = await alerting.availableAlerts.list(of);
  t.ok(
    Object.values(types)
      .flat()
      .some(({ type }) => type === 'universal_ssl_event_type'),
  );
  const policy = await alerting.policies.create({
    ...{ ...of, name: 'records', alert_type: 'zoneplane_record' as 'universal_ssl_event_type', enabled: true },
    mechanisms: { webhooks: [{ id: made.id! }] },
  });
  deliverer.look();
  const name = await addRecord();
  await arrived(receiver, 1);
  const [{ headers, body } = { headers: {}, body: '' }] = receiver.got;
  t.equal(headers['cf-webhook-auth'], SECRET);
  const clock = Date.now;
  Date.now = () => world.clock.nowMs();
  try {
    t.match(new Webhook(SECRET).verify(body, headers as Record<string, string>), {
      ...{ name: 'records', account_id: world.account, policy_id: policy.id, alert_type: 'zoneplane_record' },
      data: { kind: 'record.create', subject: { name }, zone: { id: zone, name: 'told.test' } },
    });
  } finally {
    Date.now = clock;
  }
  await stored(made.id!, (hook) => hook.last_success !== null);
  const history = await all(alerting.history.list({ ...of, per_page: 10 }));
  t.match(history, [
    { alert_type: 'zoneplane_record', mechanism: made.id, mechanism_type: 'webhook', name: 'records' },
  ]);
  await alerting.policies.update(policy.id!, { ...of, enabled: false });
  deliverer.look();
  t.match(await alerting.policies.get(policy.id!, of), { enabled: false, name: 'records' });
  await addRecord();
  const test = await world.call('POST', `${world.path}/destinations/webhooks/${made.id}/test`);
  t.match(test.json.result, { delivered: true, status: 200, answer: 'thanks', event_id: null });
  t.equal(receiver.got.length, 2, 'the test, and nothing of a policy that is disabled');
  const { json } = await world.call('GET', `${world.path}/destinations/webhooks/${made.id}/deliveries`);
  t.match(json.result, [{ event_id: null }, { delivered: true, status: 200, answer: 'thanks', attempt: 1 }]);
  await t.rejects(alerting.destinations.webhooks.delete(made.id!, of), /The notification policy records uses/);
  await alerting.policies.delete(policy.id!, of);
  await alerting.destinations.webhooks.delete(made.id!, of);
  t.strictSame(await all(alerting.destinations.webhooks.list(of)), []);
  t.strictSame(world.misfits, []);
});

t.test('events keep their order while a receiver fails, and a repetition has the same identifier', async (t) => {
  const receiver = await startReceiver(t);
  const other = await startReceiver(t);
  const [hook, second] = [await world.webhook(receiver), await world.webhook(other)];
  const policy = await world.policy([hook, second]);
  deliverer.look();
  receiver.answer = (_request, response) => response.writeHead(503).end('not now');
  const first = await addRecord();
  const next = await addRecord();
  await arrived(other, 2);
  t.equal(receiver.got.length, 1, 'it gets nothing else before it has taken the first');
  const shown = await stored(hook, ({ failures }) => failures === 1);
  t.match(shown, { last_success: null, enabled: true });
  t.ok(shown.next_attempt);
  receiver.answer = (_request, response) => response.end();
  world.clock.advance(1000);
  await arrived(receiver, 3);
  const names = receiver.got.map(({ body }) => JSON.parse(body).data.subject.name);
  t.strictSame(names, [first, first, next]);
  const ids = receiver.got.map(({ headers }) => headers['webhook-id']);
  t.equal(ids[0], ids[1]);
  t.not(ids[1], ids[2]);
  await stored(hook, ({ failures }) => failures === 0);
  await forget(policy, hook, second);
});

t.test('an owner changes a webhook while it is told', async (t) => {
  const receiver = await startReceiver(t);
  const hook = await world.webhook(receiver);
  const policy = await world.policy([hook]);
  deliverer.look();
  let release = (): void => {};
  receiver.answer = (_request, response) => {
    release = () => response.end();
  };
  const first = await addRecord();
  await arrived(receiver, 1);
  await world.call('PUT', `${world.path}/destinations/webhooks/${hook}`, { name: 'other', url: receiver.url });
  deliverer.look();
  t.equal(deliverer.turns.waiting, 1, 'it stands behind the message that is under way');
  receiver.answer = (_request, response) => response.end();
  release();
  await until(() => deliverer.turns.held === 0, 'the message is told, and nothing is left');
  const next = await addRecord();
  await arrived(receiver, 2);
  const names = receiver.got.map(({ body }) => JSON.parse(body).data.subject.name);
  t.strictSame(names, [first, next], 'each once');
  t.strictSame(faults, []);
  await forget(policy, hook);
});

t.test('a webhook whose secret cannot be opened fails, and others are told', async (t) => {
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)];
  const [hook, second] = [await world.webhook(receiver, { secret: 'sec' }), await world.webhook(other)];
  const { seq } = findDestinationById(world.store, Buffer.from(hook, 'hex'))!;
  await world.store.write(() => editDestination(world.store, seq, { secret: Buffer.alloc(40) }));
  const policy = await world.policy([hook, second]);
  deliverer.look();
  await addRecord();
  await arrived(other, 1);
  await stored(hook, ({ failures }) => Number(failures) > 0);
  t.ok(faults.splice(0).length > 0, 'a fault of ours is told');
  t.equal(receiver.got.length, 0);
  await forget(policy, hook, second);
});

t.test('what a receiver may answer', async (t) => {
  const receiver = await startReceiver(t);
  const hook = await world.webhook(receiver);
  const test = async () => (await world.call('POST', `${world.path}/destinations/webhooks/${hook}/test`)).json.result;
  receiver.answer = (_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
  t.match(await test(), { delivered: false, status: 302, reason: /redirects/ });
  receiver.answer = (_request, response) => response.end('x'.repeat(1_000_000));
  const long = await test();
  t.match(long, { delivered: true, status: 200 });
  t.equal(long.answer.length, 1000, 'the beginning of a long answer');
  receiver.answer = (_request, response) => {
    response.writeHead(200, { 'content-length': '500' }).write('less');
    setImmediate(() => response.socket!.destroy());
  };
  t.match(await test(), { delivered: true, status: 200, answer: 'less' }, 'the status counts');
  receiver.answer = (request) => request.socket.destroy();
  t.match(await test(), { delivered: false, status: null, reason: /cannot be reached/ });
  receiver.answer = (request) => request.socket.end('SSH-2.0-OpenSSH\r\n');
  t.match(
    await test(),
    { delivered: false, status: null, reason: /cannot be reached/ },
    'the same for what is not HTTP',
  );
  receiver.answer = () => world.clock.advance(10_000);
  t.match(await test(), { delivered: false, status: null, reason: /no answer within 10 s/ });
  await world.call('DELETE', `${world.path}/destinations/webhooks/${hook}`);
});

t.test('a receiver that is gone, or has failed for a day, is switched off, and that is an event', async (t) => {
  const [dead, alive] = [await startReceiver(t), await startReceiver(t)];
  const [hook, watcher] = [await world.webhook(dead), await world.webhook(alive)];
  const policy = await world.policy([hook]);
  const watch = await world.policy([watcher], { alert_type: 'zoneplane_webhook' });
  deliverer.look();
  dead.answer = (_request, response) => response.writeHead(500).end();
  await addRecord();
  await arrived(dead, 1);
  await stored(hook, ({ failures }) => failures === 1);
  world.clock.putBack(-DAY_MS);
  world.clock.advance(1000);
  await arrived(dead, 2);
  t.ok(
    (await stored(hook, ({ failures }) => failures === 2)).enabled,
    'a clock that is set forward switches nothing off',
  );
  const { seq, edition } = findDestinationById(world.store, Buffer.from(hook, 'hex'))!;
  const often = { failures: 11, retry_at: null, edition: edition + 1 };
  await world.store.write(() => editDestination(world.store, seq, often));
  await forget(await world.policy([watcher]));
  await arrived(dead, 3);
  const off = await stored(hook, ({ enabled }) => enabled === false);
  t.match(off, { disabled_reason: /failed for a day: the receiver answered 500/ });
  const findings = examineStore({ store: world.store, actor: OPERATOR }, world.base.settings, world.clock.nowUs());
  t.match(findings.find(({ kind }) => kind === 'alerts-off')?.text, /hook gets no more alerts: it failed for a day/);
  deliverer.look();
  await arrived(alive, 1);
  t.match(JSON.parse(alive.got[0]!.body), { data: { kind: 'webhook.disable' }, text: /gets no more alerts/ });
  await addRecord();
  dead.answer = (_request, response) => response.writeHead(410).end();
  const told = dead.got.length;
  const body = { name: 'hook', url: dead.url, enabled: true };
  await world.call('PUT', `${world.path}/destinations/webhooks/${hook}`, body);
  deliverer.look();
  const name = await addRecord();
  await arrived(dead, told + 1);
  t.equal(JSON.parse(dead.got.at(-1)!.body).data.subject.name, name, 'what happened while it was off is not told');
  t.match(await stored(hook, ({ enabled }) => enabled === false), { disabled_reason: /410/ });
  await forget(policy, hook);
  await forget(watch, watcher);
});

t.test('a clock that is put back by a day keeps nobody waiting for a day', async (t) => {
  const receiver = await startReceiver(t);
  const hook = await world.webhook(receiver);
  const policy = await world.policy([hook]);
  deliverer.look();
  receiver.answer = (_request, response) => response.writeHead(500).end();
  await addRecord();
  await arrived(receiver, 1);
  await stored(hook, ({ failures }) => failures === 1);
  world.clock.putBack(DAY_MS);
  receiver.answer = (_request, response) => response.end();
  // Its pause ends, is found too long, and ends again; what is sent then has all its time.
  for (const ms of [1000, 3_600_000]) world.clock.advance(ms);
  await arrived(receiver, 2);
  t.match(await stored(hook, ({ failures }) => failures === 0), { enabled: true });
  world.clock.putBack(-DAY_MS);
  await forget(policy, hook);
});

t.test('filters choose, and other accounts are not told', async (t) => {
  const receiver = await startReceiver(t);
  const hook = await world.webhook(receiver);
  const other = await world.createZone('untold.test');
  const filters = { zones: [zone], event_type: ['record.create'] };
  const policy = await world.policy([hook], { filters });
  const { id: account } = await createAccount(world.operator, { name: 'other' });
  const foreign = `/accounts/${account}/alerting/v3`;
  const stolen = { name: 'x', alert_type: 'zoneplane_event', mechanisms: { webhooks: [{ id: hook }] } };
  t.equal((await world.call('POST', `${foreign}/policies`, stolen)).status, 404, 'the webhook of another account');
  t.equal((await world.call('GET', `${foreign}/destinations/webhooks/${hook}`)).status, 404);
  const far = await world.call('POST', '/zones', { name: 'foreign.test', account: { id: account } });
  deliverer.look();
  await addRecord(other);
  await addRecord(far.json.result.id);
  const told = await addRecord();
  await arrived(receiver, 1);
  t.strictSame(
    receiver.got.map(({ body }) => JSON.parse(body).data.subject.name),
    [told],
  );
  await forget(policy, hook);
});

t.test('what is refused', async (t) => {
  const receiver = await startReceiver(t);
  const hook = await world.webhook(receiver);
  const bad: readonly (readonly [object, string])[] = [
    [{ name: '', url: receiver.url }, '/name'],
    [{ name: 'x', url: 'ftp://hooks.test/' }, '/url'],
    [{ name: 'x', url: 'http://user:password@hooks.test/' }, '/url'],
    [{ name: 'x', url: `https://hooks.test/${'x'.repeat(3000)}` }, '/url'],
    [{ name: 'x', url: receiver.url, secret: 'two\r\nlines' }, '/secret'],
    [{ name: 'x', url: receiver.url, secret: 'whsec_!' }, '/secret'],
  ];
  for (const [body, pointer] of bad) {
    const { status, json } = await world.call('POST', `${world.path}/destinations/webhooks`, body);
    t.match({ status, pointer: json.errors[0].source?.pointer }, { status: 400, pointer }, JSON.stringify(body));
  }
  const mechanisms = { webhooks: [{ id: hook }] };
  const { id: foreign } = await createAccount(world.operator, { name: 'others' });
  const pool = async (account: string): Promise<string> => {
    const body = { name: 'web', origins: [{ name: 'a', address: '198.51.100.1' }] };
    return (await world.call('POST', `/accounts/${account}/load_balancers/pools`, body)).json.result.id;
  };
  const [own, theirs] = [await pool(world.account), await pool(foreign)];
  const ofPool = (id: string) => {
    return { name: 'x', alert_type: 'load_balancing_health_alert', mechanisms, filters: { pool_id: [id] } };
  };
  const far = await world.call('POST', '/zones', { name: 'theirs.test', account: { id: foreign } });
  const ofZone = (id: string) => ({ name: 'x', alert_type: 'zoneplane_record', mechanisms, filters: { zones: [id] } });
  const policies: readonly (readonly [object, RegExp])[] = [
    [{ name: 'x', alert_type: 'bgp_hijack_notification', mechanisms }, /is not supported/],
    [{ name: 'x', alert_type: 'zoneplane_record' }, /must name a webhook/],
    [{ name: 'x', alert_type: 'zoneplane_record', mechanisms, filters: { pool_id: ['a'] } }, /has the filters/],
    [
      { name: 'x', alert_type: 'zoneplane_record', mechanisms, filters: { zones: ['told.test'] } },
      /not a value of zones/,
    ],
    [
      { name: 'x', alert_type: 'zoneplane_record', mechanisms: { pagerduty: [{ id: 'x' }] } },
      /PagerDuty is not supported/,
    ],
    [{ name: 'x', alert_type: 'zoneplane_record', mechanisms: { email: [{ id: 'who@else.test' }] } }, /members/],
    [{ name: 'x', alert_type: 'zoneplane_record', mechanisms, alert_interval: '30m' }, /alert_interval/],
    [ofPool(theirs), new RegExp(`${theirs}.* is not a value of pool_id`)],
    [ofPool('0'.repeat(32)), /is not a value of pool_id/],
    [ofZone(far.json.result.id), new RegExp(`${far.json.result.id}.* is not a value of zones`)],
    [ofZone('0'.repeat(32)), /is not a value of zones/],
  ];
  for (const [body, text] of policies) {
    const { status, text: answer } = await world.call('POST', `${world.path}/policies`, body);
    t.match({ status, answer }, { status: 400, answer: text }, JSON.stringify(body));
  }
  t.strictSame((await world.call('GET', `${world.path}/policies`)).json.result, [], 'nothing of it was stored');
  const { json } = await world.call('POST', `${world.path}/policies`, ofPool(own));
  await world.call('DELETE', `/accounts/${world.account}/load_balancers/pools/${own}`);
  const policy = `${world.path}/policies/${json.result.id}`;
  t.equal((await world.call('PUT', policy, ofPool(own))).status, 200, 'a pool that is gone may stay');
  await world.call('DELETE', policy);
  const [row] = allDestinations(world.store);
  t.equal(row!.secret, null);
  await world.call('PUT', `${world.path}/destinations/webhooks/${hook}`, {
    name: 'x',
    url: receiver.url,
    secret: 'sec',
  });
  const { id, secret } = allDestinations(world.store)[0]!;
  t.notMatch(Buffer.from(secret!).toString('latin1'), 'sec', 'sealed');
  t.equal(Buffer.from(world.services.vault.open(WEBHOOK_SECRETS, id, secret!)).toString(), 'sec');
  await world.call('DELETE', `${world.path}/destinations/webhooks/${hook}`);
});

t.test('addresses that are not public, and listeners of this installation', async (t) => {
  const post = async (url: string) =>
    (await world.call('POST', `${world.path}/destinations/webhooks`, { name: 'x', url })).status;
  for (const url of [
    'http://10.0.0.1/',
    'http://169.254.169.254/latest/meta-data',
    'http://[::ffff:10.0.0.1]/',
    'http://[fd00::1]/',
    'http://0x0a000001/',
    'http://127.0.0.1:8053/client/v4/user',
  ]) {
    t.equal(await post(url), 400, url);
  }
  t.equal(await post('http://192.0.2.1/'), 200, 'what the operator allows');
  const own = await world.createZone('rebound.test');
  const record = { type: 'A', name: 'hook', content: '10.0.0.1' };
  await world.call('POST', `/zones/${own}/dns_records`, record);
  const { json } = await world.call('POST', `${world.path}/destinations/webhooks`, {
    ...{ name: 'x', url: 'http://hook.rebound.test/' },
  });
  const { json: test } = await world.call('POST', `${world.path}/destinations/webhooks/${json.result.id}/test`);
  t.match(test.result, { delivered: false, status: null, reason: /refused by policy/ });
});

t.test('the beginning of each message is kept for a month, also for webhooks that get nothing any more', async (t) => {
  t.equal(beginningOf('ä'.repeat(40_000)), 'ä'.repeat(4000));
  const receiver = await startReceiver(t);
  const hook = await world.webhook(receiver);
  await world.call('POST', `${world.path}/destinations/webhooks/${hook}/test`);
  const path = `${world.path}/destinations/webhooks/${hook}/deliveries`;
  const days = async (count: number): Promise<number> => {
    world.clock.advance(count * DAY_MS);
    const { store, clock, base } = world;
    const { log } = base;
    const context = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease() {} };
    const outcome = await oldDeliveriesJob.handler(context, '');
    t.strictSame(outcome, { againAtMs: clock.nowMs() + DAY_MS }, OLD_DELIVERIES_JOB);
    return (await world.call('GET', path)).json.result.length;
  };
  t.equal(await days(29), 1);
  t.equal(await days(2), 0);
});
