/** The health of pools over HTTP, previews, and events of what became of it. */
import Cloudflare from 'cloudflare';
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { refreshTransferViews } from '../../src/control/balancing/transfer-views.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { createPreviews } from '../../src/monitoring/previews.js';
import type { LastResult } from '../../src/monitoring/prober.js';
import type { Target } from '../../src/monitoring/probes/probe.js';
import { recordTransitions } from '../../src/monitoring/record.js';
import {
  appendHealthEvent,
  type HealthEventRow,
  healthEventsAfter,
  lastHealthEvent,
} from '../../src/store/balancing/health-events.js';
import { findLoadBalancerById } from '../../src/store/balancing/load-balancers.js';
import { findMonitorById } from '../../src/store/balancing/monitors.js';
import { findPoolById } from '../../src/store/balancing/pools.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { examinedFor } from '../../src/warnings/asked.js';
import { examinePools } from '../../src/warnings/pools.js';
import { TestClock } from '../support/test-clock.js';
import { runSql } from '../support/write-now.js';
import { install } from './installation.js';
import { sent } from './sdk-fetch.js';

t.test('health, events and previews', async (t) => {
  const last: LastResult[] = [];
  const asked: Target[] = [];
  const previewClock = new TestClock();
  const once = async (targets: readonly Target[]) => {
    asked.push(...targets);
    return targets.map(({ address }) => {
      const pass = address !== '198.51.100.2';
      const [reason, responseCode] = pass ? (['No failures', 200] as const) : (['TCP Timeout', undefined] as const);
      return { pass, reason, responseCode, rttMs: 7, timedOut: !pass };
    });
  };
  const previews = createPreviews({ clock: previewClock, node: 'here', once });
  const world = await install(t, { probing: { node: 'here', lastOf: async () => last, previews } });
  const { call, base, store, operator } = world;
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const at = `/accounts/${account}/load_balancers`;
  const monitor = (await call('POST', `${at}/monitors`, { type: 'http', path: '/up' })).json.result.id as string;
  const origins = ['a', 'b'].map((name, i) => ({ name, address: `198.51.100.${i + 1}` }));
  const made = await call('POST', `${at}/pools`, { name: 'web', monitor, origins });
  const id = made.json.result.id as string;
  const seq = findPoolById(store, Buffer.from(id, 'hex'))!.seq;
  const monitorSeq = findMonitorById(store, Buffer.from(monitor, 'hex'))!.seq;
  t.strictSame((await call('GET', `${at}/pools/${id}/health`)).json.result, { pool_id: id, pop_health: {} });

  const found = (origin: string, healthy: boolean) => ({
    ...{ pool: seq, monitor: monitorSeq, origin, healthy, rttMs: 12.06 },
    reason: healthy ? 'No failures' : 'TCP Timeout',
    responseCode: healthy ? 200 : undefined,
  });
  const options = { node: { region: '', node: '' }, living: undefined };
  await recordTransitions(base, options, [found('a', true), found('b', true)]);
  await recordTransitions(base, options, [found('b', false)]);
  last.push({ ...found('a', true), rttMs: 9.04 });
  t.strictSame((await call('GET', `${at}/pools/${id}/health`)).json.result, {
    pool_id: id,
    pop_health: {
      here: {
        healthy: true,
        origins: [
          { '198.51.100.1': { healthy: true, failure_reason: 'No failures', response_code: 200, rtt: '9.0ms' } },
          { '198.51.100.2': { healthy: false, failure_reason: 'TCP Timeout', response_code: 0, rtt: '12.1ms' } },
        ],
      },
    },
  });
  t.equal((await call('GET', `${at}/pools/${'0'.repeat(32)}/health`)).status, 404);
  const { id: other } = await createAccount(operator, { name: 'other' });
  t.equal((await call('GET', `/accounts/${other}/load_balancers/pools/${id}/health`)).status, 404);

  const warned = examinePools(examinedFor({ store, actor: OPERATOR }, base.settings, base.clock.nowUs()));
  t.match(warned, [
    { kind: 'pool-unhealthy', verdict: 'warn', text: /^1 of 2 origins of the pool web .*b: TCP Timeout/ },
  ]);
  const audit = await call('GET', `/accounts/${account}/audit_logs`);
  t.notOk(audit.json.result.some((entry: { action: { type: string } }) => entry.action.type.includes('health')));

  t.equal((await call('GET', '/user/load_balancing_analytics/events')).status, 400, 'of which account?');

  const begun = await call('POST', `${at}/pools/${id}/preview`, { path: '/other', port: 8080 });
  t.match(begun, { status: 200, json: { result: { pools: { [id]: 'web' }, preview_id: /^[0-9a-f]{32}$/ } } });
  t.match(asked, [{ port: 8080, settings: { path: '/other', type: 'http' } }, { address: '198.51.100.2' }]);
  const { preview_id: preview } = begun.json.result;
  t.match((await call('GET', `${at}/preview/${preview}`)).json.result[id].pop_health.here, {
    healthy: true,
    origins: [
      { '198.51.100.1': { healthy: true } },
      { '198.51.100.2': { healthy: false, failure_reason: 'TCP Timeout' } },
    ],
  });
  const { loadBalancers } = new Cloudflare({
    apiToken: (await world.token()).authorization.slice(7),
    ...{ baseURL: 'http://api.test/client/v4', maxRetries: 0 },
    fetch: (url, init) => sent(world, String(url), init),
  });
  const of = { account_id: account };
  t.match(await loadBalancers.pools.health.get(id, of), { pool_id: id, pop_health: { here: { healthy: true } } });
  const begin = [loadBalancers.pools.health.create(id, of), loadBalancers.monitors.previews.create(monitor, of)];
  for (const { pools, preview_id } of await Promise.all(begin)) {
    t.strictSame(pools, { [id]: 'web' });
    t.match(await loadBalancers.previews.get(preview_id!, of), { [id]: { pop_health: { here: { healthy: true } } } });
  }
  t.equal((await call('GET', `/accounts/${other}/load_balancers/preview/${preview}`)).status, 404);
  t.equal((await call('GET', `${at}/preview/${'1'.repeat(32)}`)).status, 404);
  t.match(await call('POST', `${at}/monitors/${monitor}/preview`, {}), { status: 200 });
  t.equal((await call('POST', `${at}/monitors/${monitor}/preview`, { path: 'no slash' })).status, 400);
  for (let i = 0; i < 16; i++) await call('POST', `${at}/pools/${id}/preview`, {});
  t.equal((await call('POST', `${at}/pools/${id}/preview`, {})).status, 403, 'so many in ten minutes');
  previewClock.advance(600_001);
  t.equal((await call('GET', `${at}/preview/${preview}`)).status, 404);
  t.equal((await call('POST', `${at}/pools/${id}/preview`, {})).status, 200);
  t.strictSame(world.misfits, []);
});

t.test('events of the only account, and what older clients ask', async (t) => {
  const once = async (targets: readonly Target[]) =>
    targets.map(() => ({ pass: true, reason: 'No failures' as const, responseCode: 200, rttMs: 7, timedOut: false }));
  const previews = createPreviews({ clock: new TestClock(), node: 'here', once });
  const probing = { node: 'here', lastOf: async () => [], previews };
  const { call, base, store, misfits } = await install(t, { probing });
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const at = `/accounts/${account}/load_balancers`;
  const monitor = (await call('POST', `${at}/monitors`, {})).json.result.id as string;
  const pool = async (name: string, address: string) => {
    const body = { name, monitor, origins: [{ name: 'a', address }] };
    return (await call('POST', `${at}/pools`, body)).json.result.id as string;
  };
  const [one, two] = [await pool('one', '198.51.100.1'), await pool('two', '198.51.100.2')];
  const own = '/user/load_balancers';
  const around = (await call('GET', `${at}/pools/${one}/references`)).json.result;
  t.match(around, [{ reference_type: 'referral', resource_id: monitor }]);
  t.strictSame((await call('GET', `${own}/pools/${one}/references`)).json.result, around);
  t.match((await call('GET', `${own}/monitors/${monitor}/references`)).json.result, [
    { resource_id: one },
    { resource_id: two },
  ]);
  t.match(await call('GET', `${own}/pools/${one}/health`), { status: 200, json: { result: { pool_id: one } } });
  for (const asked of [`pools/${one}`, `monitors/${monitor}`]) {
    const begun = await call('POST', `${own}/${asked}/preview`, {});
    t.match((await call('GET', `${own}/preview/${begun.json.result.preview_id}`)).json.result[one], {
      pop_health: { here: { healthy: true } },
    });
  }
  const seqOf = (id: string): number => findPoolById(store, Buffer.from(id, 'hex'))!.seq;
  const monitorSeq = findMonitorById(store, Buffer.from(monitor, 'hex'))!.seq;
  const note = (id: string, healthy: boolean) =>
    recordTransitions(base, { node: { region: '', node: '' }, living: undefined }, [
      {
        ...{ pool: seqOf(id), monitor: monitorSeq, origin: 'a', healthy, responseCode: 200, rttMs: 1 },
        reason: healthy ? 'No failures' : 'TCP connection failed',
      },
    ]);
  await note(one, true);
  await note(two, false);
  await note(one, false);
  const events = async (query = '') => {
    const { json } = await call('GET', `/user/load_balancing_analytics/events${query}`);
    return json.result.map(({ pool, origins }: { pool: Record<string, unknown>; origins: { healthy: boolean }[] }) => [
      pool['name'],
      pool['healthy'],
      origins[0]?.healthy,
    ]);
  };
  t.strictSame(await events(), [
    ['one', false, false],
    ['two', false, false],
    ['one', true, true],
  ]);
  t.strictSame(await events('?pool_name=two'), [['two', false, false]]);
  t.strictSame(await events(`?pool_id=${one}&origin_healthy=true`), [['one', true, true]]);
  t.strictSame(await events('?pool_healthy=true'), [['one', true, true]]);
  t.strictSame(await events('?origin_name=b'), []);
  t.strictSame(await events('?until=2020-01-01T00:00:00Z'), []);
  t.equal((await call('GET', '/user/load_balancing_analytics/events?since=yesterday')).status, 400);
  const [{ seq: _, ...last }] = healthEventsAfter(store, lastHealthEvent(store) - 1, 1) as [HealthEventRow];
  await store.write(() => {
    for (let i = 0; i < 1001; i++) appendHealthEvent(store, last);
  });
  t.equal((await events()).length, 1000, 'the most in one answer');
  t.strictSame(await events('?pool_name=two'), [['two', false, false]], 'a pool that changes often hides no other');
  t.strictSame(misfits, []);
});

t.test('transfers follow health where that is wanted, and not each change of it', async (t) => {
  const world = await install(t);
  const { call, base, store } = world;
  const account = (await call('GET', '/accounts')).json.result[0].id as string;
  const at = `/accounts/${account}/load_balancers`;
  const monitor = (await call('POST', `${at}/monitors`, {})).json.result.id as string;
  const origins = ['a', 'b'].map((name, i) => ({ name, address: `198.51.100.${i + 1}` }));
  const pool = (await call('POST', `${at}/pools`, { name: 'web', monitor, origins })).json.result.id as string;
  const seq = findPoolById(store, Buffer.from(pool, 'hex'))!.seq;
  const monitorSeq = findMonitorById(store, Buffer.from(monitor, 'hex'))!.seq;
  const zone = await world.createZone('followed.test');
  const body = { default_pools: [pool], fallback_pool: pool };
  const still = { name: 'still.followed.test', ...body };
  await call('POST', `/zones/${zone}/load_balancers`, still);
  const note = async (origin: string, healthy: boolean) => {
    const found = { pool: seq, monitor: monitorSeq, origin, healthy, responseCode: undefined, rttMs: 1 };
    const transition = { ...found, reason: healthy ? ('No failures' as const) : ('TCP Timeout' as const) };
    await recordTransitions(base, { node: { region: '', node: '' }, living: undefined }, [transition]);
  };
  for (const { name } of origins) await note(name, true);
  const balancer = { name: 'www.followed.test', ...body, transfer_health: true };
  const made = (await call('POST', `/zones/${zone}/load_balancers`, balancer)).json.result;
  t.match(made, { transfer_health: true });
  t.notOk('transfer_view' in made, 'what the service keeps is not shown');
  const serial = () => findZoneByName(store, 'followed.test')!.serial;
  const carried = async (): Promise<string> => {
    const { text } = await call('GET', `/zones/${zone}/dns_records/export`);
    const found = [...text.matchAll(/^(still|www)\.followed\.test\.\s.*\sA\s+198\.51\.100\.(\d)/gm)];
    return found
      .map(([, name, last]) => `${name}${last}`)
      .sort()
      .join(' ');
  };
  const both = 'still1 still2 www1 www2';
  t.equal(await carried(), both);
  const before = serial();
  await note('b', false);
  await note('b', true);
  await note('b', false);
  t.equal(await carried(), both, 'not each change');
  t.equal(serial(), before);
  await refreshTransferViews(base);
  t.equal(await carried(), 'still1 still2 www1');
  t.equal(serial(), before + 1);
  const position = store.position().number;
  await refreshTransferViews(base);
  t.equal(store.position().number, position, 'nothing is written when nothing changes');
  let turns = 0;
  let next = setImmediate(function count() {
    turns++;
    next = setImmediate(count);
  });
  await refreshTransferViews(base);
  clearImmediate(next);
  t.ok(turns > 0, 'everybody else gets a turn for each load balancer, also where nothing changes');
  await note('a', false);
  await refreshTransferViews(base);
  t.equal(await carried(), both, 'all of them while none is healthy');
  await note('b', true);
  await call('PATCH', `/zones/${zone}/load_balancers/${made.id}`, { ttl: 60 });
  t.equal(await carried(), 'still1 still2 www2', 'an edit looks at it, too');
  const edited = await call('PATCH', `/zones/${zone}/load_balancers/${made.id}`, { transfer_health: false });
  t.match(edited.json.result, { transfer_health: false });
  t.equal(await carried(), both);

  const other = await world.createZone('other.test');
  const later = { ...body, name: 'www.other.test', transfer_health: true };
  await call('PATCH', `/zones/${zone}/load_balancers/${made.id}`, { transfer_health: true });
  const { id } = (await call('POST', `/zones/${other}/load_balancers`, later)).json.result;
  const refused = `CREATE TRIGGER refused BEFORE UPDATE OF settings ON load_balancers WHEN OLD.id = x'${made.id}'`;
  runSql(store, `${refused} BEGIN SELECT RAISE(ABORT, 'not this one'); END`);
  await note('a', true);
  await t.rejects(refreshTransferViews(base), /not this one/);
  const { settings } = findLoadBalancerById(store, Buffer.from(id, 'hex'))!;
  t.strictSame(JSON.parse(settings).transfer_view, { [pool]: ['a', 'b'] }, 'one that fails keeps no other from it');
  runSql(store, 'DROP TRIGGER refused');
  t.strictSame(world.misfits, []);
});
