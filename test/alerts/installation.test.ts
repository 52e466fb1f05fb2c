/** Events that belong to no account: who says where they go, and who reads what was told. */
import t from 'tap';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { logEvents } from '../../src/control/kernel/outbox.js';
import { allDestinations } from '../../src/store/alerts/destinations.js';
import { egressTo } from '../support/egress.js';
import { TestClock } from '../support/test-clock.js';
import { until } from '../support/until.js';
import { alertWorld, startReceiver } from './world.js';

t.test('events of the installation go where an administrator says, and nobody else reads them', async (t) => {
  const world = await alertWorld(t, { egress: egressTo(new TestClock(), ['127.0.0.1/32']) });
  const deliverer = world.startDeliverer();
  const [receiver, other] = [await startReceiver(t), await startReceiver(t)];
  const hook = await world.webhook(receiver);
  await world.policy([hook], { alert_type: 'zoneplane_backup' });
  deliverer.look();
  const by = { store: world.store, actor: OPERATOR, requestId: world.base.random.uuid(), source: 'service' } as const;
  const after = { text: 'the newest backup is too old' };
  const { store, clock } = world;
  await store.write(() => logEvents(by, clock.nowUs(), [{ kind: 'backup.overdue', name: 'backup', after }]));
  deliverer.look();
  await until(() => {
    clock.advance(100);
    return allDestinations(store)[0]!.last_success !== null;
  }, 'what was told to be stored');
  const policies = [
    {
      effect: 'allow',
      permission_groups: [{ id: '1af1fa2adc104452b74a9a3364202f20' }],
      resources: { [`com.cloudflare.api.account.${world.account}`]: '*' },
    },
  ];
  const { json } = await world.call('POST', `/accounts/${world.account}/tokens`, { name: 'settings', policies });
  const tenant = { headers: { authorization: `Bearer ${json.result.value}` } };
  const path = `${world.path}/destinations/webhooks/${hook}`;
  const seen = async (options: object) => {
    const lists = [`${path}/deliveries`, `${world.path}/history?per_page=1000`];
    const answers = await Promise.all(lists.map((list) => world.call('GET', list, undefined, options)));
    return answers.map(({ status, text }) => [status, text.includes('backup.overdue')]);
  };
  t.strictSame(await seen({}), [
    [200, true],
    [200, true],
  ]);
  t.strictSame(await seen(tenant), [
    [200, false],
    [200, false],
  ]);
  const put = async (url: string, options: object) =>
    (await world.call('PUT', path, { name: 'hook', url }, options)).status;
  t.equal(await put(other.url, tenant), 403, 'another address');
  t.equal(await put(receiver.url, tenant), 200, 'the same address');
  t.equal(await put(other.url, {}), 200, 'an administrator');
});
