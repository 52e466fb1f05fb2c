/** Holds of zones, also against other accounts, and named zone settings. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import { authenticateToken } from '../../../src/control/access/authentication.js';
import { createKey } from '../../../src/control/access/keys.js';
import { checkActivation } from '../../../src/control/zones/activation.js';
import { developmentModeJobs } from '../../../src/control/zones/development-mode.js';
import { createZoneHold, deleteZoneHold, editZoneHold, getZoneHold } from '../../../src/control/zones/hold.js';
import { editZoneSetting, getZoneSetting, listZoneSettings } from '../../../src/control/zones/settings.js';
import { createZone, getZone } from '../../../src/control/zones/zones.js';
import { DEFAULT_ZONE_SETTINGS } from '../../../src/serving/zone-settings.js';
import { listJobs } from '../../../src/store/jobs.js';
import { changesAfter, lastChange } from '../../../src/store/log/changes.js';
import { latestEvents } from '../../support/rows.js';
import { startControl, startZone } from '../fixture.js';

t.test('hold', async (t) => {
  const { ctx, clock, zoneId } = await startZone(t);
  const { soa } = await getZone(ctx, zoneId);
  const before = lastChange(ctx.store);
  const none = { hold: false, holdAfter: null, includeSubdomains: false };
  t.strictSame(await getZoneHold(ctx, zoneId), none);
  for (const attempt of [editZoneHold(ctx, zoneId, { hold_after: '' }), deleteZoneHold(ctx, zoneId)]) {
    await t.rejects(attempt, { status: 404, code: 1003, message: 'No Zone Hold Found' });
  }
  const start = clock.nowUs();
  const on = await createZoneHold(ctx, zoneId, true);
  t.match(on, { hold: true, includeSubdomains: true });
  t.ok(on.holdAfter! > start);
  t.match(latestEvents(ctx.store, 1)[0], { kind: 'zone_hold.create' });
  const past = { hold_after: '2001-02-03T04:05:06Z' };
  t.strictSame(await editZoneHold(ctx, zoneId, past), on, 'a past time changes nothing');
  const at = clock.nowMs() + 60_000;
  const later = await editZoneHold(ctx, zoneId, { hold_after: new Date(at).toISOString(), include_subdomains: false });
  t.strictSame(later, { hold: false, holdAfter: at * 1000, includeSubdomains: false });
  t.match(await editZoneHold(ctx, zoneId, { hold_after: '' }), { hold: true });
  t.match(await editZoneHold(ctx, zoneId, { hold_after: null }), { hold: false, holdAfter: null });
  await createZoneHold(ctx, zoneId, false);
  const micro = await deleteZoneHold(ctx, zoneId, '2099-01-01T01:00:00.123456+01:00');
  t.strictSame(micro.holdAfter, Date.UTC(2099, 0, 1) * 1000 + 123456);
  t.match(await deleteZoneHold(ctx, zoneId), { hold: false, holdAfter: null });
  for (const bad of ['tomorrow', '2099-13-01T00:00:00Z']) {
    await t.rejects(editZoneHold(ctx, zoneId, { hold_after: bad }), {
      status: 400,
      code: 9207,
      pointer: '/hold_after',
    });
  }
  t.equal((await getZone(ctx, zoneId)).soa.serial, soa.serial);
  t.equal(lastChange(ctx.store), before, 'nothing for DNS');
});

t.test('another account cannot take a held name', async (t) => {
  const { ctx } = await startControl(t, { activation: 'delegation' });
  const { id } = await createZone(ctx, { name: 'example.com' });
  const account = await createAccount(ctx, { name: 'tenant', members: ['tenant@example.org'] });
  const { secret } = await createKey(ctx, { kind: 'token', name: 'test', email: 'tenant@example.org' });
  const result = await authenticateToken(ctx, secret, '127.0.0.1');
  if (!result.ok) throw new Error(result.reason);
  const tenant = { ...ctx, actor: result.actor };
  const elsewhere = { id: account.id };
  const held = { status: 400, code: 1118, message: /is held by another account/ };
  await createZoneHold(ctx, id, false);
  await t.rejects(createZone(tenant, { name: 'example.com' }), held);
  t.match(
    await createZone(tenant, { name: 'e.example.com' }),
    { status: 'pending' },
    'below it, as long as it says nothing',
  );
  t.match(await createZone(ctx, { name: 'b.example.com', account: elsewhere }), { name: 'b.example.com' });
  await editZoneHold(ctx, id, { include_subdomains: true });
  await t.rejects(createZone(tenant, { name: 'a.example.com' }), held);
  await t.rejects(createZone(ctx, { name: 'c.d.example.com', account: elsewhere }), held);
  t.match(await createZone(ctx, { name: 'own.example.com' }), { name: 'own.example.com' }, 'its own account may');
  await deleteZoneHold(ctx, id);
  t.match(await createZone(tenant, { name: 'example.com' }), { status: 'pending' });
});

t.test('activation of a name that another account holds', async (t) => {
  const { ctx: plain, clock } = await startControl(t, { activation: 'delegation' });
  const ctx = { ...plain, findDelegation: async () => ['ns1.dns.test', 'ns2.dns.test'] };
  const { id } = await createZone(ctx, { name: 'example.com' });
  const { id: account } = await createAccount(ctx, { name: 'tenant', members: ['tenant@example.org'] });
  const rival = await createZone(ctx, { name: 'example.com', account: { id: account } });
  const below = await createZone(ctx, { name: 'a.example.com', account: { id: account } });
  const own = await createZone(ctx, { name: 'b.example.com' });
  await createZoneHold(ctx, id, false);
  const held = { status: 400, code: 1118, message: /is held by another account/ };
  await t.rejects(checkActivation(ctx, rival.id), held);
  t.match(await getZone(ctx, rival.id), { status: 'pending' });
  await editZoneHold(ctx, id, { include_subdomains: true });
  await t.rejects(checkActivation(ctx, below.id), held);
  t.match(await checkActivation(ctx, own.id), { status: 'active' }, 'its own account may');
  const at = clock.nowMs() + 60_000;
  await deleteZoneHold(ctx, id, new Date(at).toISOString());
  t.match(await checkActivation(ctx, below.id), { status: 'active' }, 'the hold is off until then');
  clock.advance(60_000);
  await t.rejects(checkActivation(ctx, rival.id), held, 'and on again after it');
  await deleteZoneHold(ctx, id);
  t.match(await checkActivation(ctx, rival.id), { status: 'pending' }, 'the operator gave it to the other account');
  t.match(await getZone(ctx, id), { status: 'pending' });
});

t.test('a released hold differs from one that never existed', async (t) => {
  const { ctx, clock, zoneId } = await startZone(t);
  await createZoneHold(ctx, zoneId, true);
  await deleteZoneHold(ctx, zoneId);
  t.match(await editZoneHold(ctx, zoneId, { include_subdomains: false }), { hold: false, includeSubdomains: false });
  t.match(await editZoneHold(ctx, zoneId, { hold_after: '' }), { hold: true });
  const at = new Date(clock.nowMs() + 60_000).toISOString();
  await deleteZoneHold(ctx, zoneId);
  t.match(await editZoneHold(ctx, zoneId, { hold_after: at }), { hold: false });
  clock.advance(60_001);
  t.match(await getZoneHold(ctx, zoneId), { hold: true });
});

t.test('settings', async (t) => {
  const { ctx, clock, zoneId } = await startZone(t);
  const { soa } = await getZone(ctx, zoneId);
  const listed = await listZoneSettings(ctx, zoneId);
  t.strictSame(
    Object.fromEntries(listed.flatMap(({ name, value, isEditable }) => (isEditable ? [[name, value]] : []))),
    { ...DEFAULT_ZONE_SETTINGS },
    'all of them, with their defaults',
  );
  t.match(
    listed.find(({ name }) => name === 'rocket_loader'),
    { value: 'off', isEditable: false },
    'what the edge does not do is off',
  );
  for (const { name, modifiedAt } of listed) t.equal(modifiedAt, null, name);
  const before = lastChange(ctx.store);
  const start = clock.nowUs();
  const off = await editZoneSetting(ctx, zoneId, 'http3', 'off');
  t.match(off, { name: 'http3', value: 'off' });
  t.ok(off.modifiedAt! > start);
  t.strictSame(await editZoneSetting(ctx, zoneId, 'http3', 'off'), off);
  t.match(changesAfter(ctx.store, before, 9), [{ kind: 'settings', serial_to: soa.serial + 1 }]);
  t.equal(changesAfter(ctx.store, before, 9).length, 1);
  await t.rejects(getZoneSetting(ctx, zoneId, 'x'), { status: 400, code: 1003, message: 'Undefined zone setting: x' });
  await t.rejects(editZoneSetting(ctx, zoneId, 'http2', true), {
    status: 400,
    code: 1007,
    message: 'Invalid value for zone setting http2',
  });
  const after = lastChange(ctx.store);
  const stored = { cache_level: 'cache_everything', browser_cache_ttl: 14_400, development_mode: 'on' };
  for (const [name, value] of Object.entries(stored)) {
    t.match(await editZoneSetting(ctx, zoneId, name, value), { name, value });
    t.match(latestEvents(ctx.store, 1)[0], { kind: 'zone_settings.edit', after: JSON.stringify({ [name]: value }) });
    const { modifiedAt } = await getZoneSetting(ctx, zoneId, name);
    t.equal((await editZoneSetting(ctx, zoneId, name, value)).modifiedAt, modifiedAt, 'the same again changes nothing');
  }
  t.equal(lastChange(ctx.store), after, 'nothing for DNS');
  t.equal((await getZoneSetting(ctx, zoneId, 'development_mode')).timeRemaining, 3 * 3600);
  for (const [name, value] of [
    ['cache_level', 'all'],
    ['browser_cache_ttl', -1],
    ['browser_cache_ttl', 1.5],
    ['browser_cache_ttl', '60'],
    ['browser_cache_ttl', 31_536_001],
    ['development_mode', true],
  ] as const) {
    await t.rejects(editZoneSetting(ctx, zoneId, name, value), { status: 400, code: 1007, pointer: '/value' });
  }
});

t.test('development mode ends by itself', async (t) => {
  const { ctx, clock, zoneId } = await startZone(t);
  const value = async () => (await getZoneSetting(ctx, zoneId, 'development_mode')).value;
  const seconds = async () => (await getZone(ctx, zoneId)).developmentMode;
  const job = { ...ctx, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  const run = () => developmentModeJobs(ctx).handler(job, zoneId);
  t.equal(await seconds(), 0);
  await editZoneSetting(ctx, zoneId, 'development_mode', 'on');
  t.equal(await seconds(), 10_800);
  clock.advance(3_600_500);
  t.equal(await seconds(), 7200);
  t.equal((await getZoneSetting(ctx, zoneId, 'development_mode')).timeRemaining, 7200);
  await editZoneSetting(ctx, zoneId, 'development_mode', 'off');
  clock.advance(5000);
  t.strictSame([await value(), await seconds()], ['off', -5]);
  t.same(await run(), { done: true });
  t.equal(await seconds(), -5, 'it was off already');
  await editZoneSetting(ctx, zoneId, 'development_mode', 'on');
  const planned = listJobs(ctx.store, 10).find(({ kind }) => kind === 'development_mode')!;
  t.match(await run(), { againAtMs: Number }, 'it was switched on again');
  clock.advance(planned.run_at - clock.nowMs());
  t.same(await run(), { done: true });
  t.equal(await value(), 'off');
  t.match(latestEvents(ctx.store, 1)[0], { kind: 'zone_settings.edit', after: '{"development_mode":"off"}' });
  clock.advance(60_000);
  t.equal(await seconds(), -60);
});
