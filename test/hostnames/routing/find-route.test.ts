/** Where a host leads: custom hostnames, records and wildcards against each other, and the causes of error 1016. */
import { randomUUID } from 'node:crypto';
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { createBucket } from '../../../src/bucket/buckets.js';
import { attachBucketDomain, detachBucketDomain, editBucketDomain } from '../../../src/bucket/domains.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { createRecord } from '../../../src/control/records/records.js';
import { createZone, deleteZone, editZone } from '../../../src/control/zones/zones.js';
import { putFallback } from '../../../src/hostnames/fallback-origin.js';
import { findRoute } from '../../../src/hostnames/routing/find-route.js';
import { allAccounts } from '../../../src/store/access/accounts.js';
import {
  findHostname,
  type HostnameChange,
  insertHostname,
  updateHostname,
} from '../../../src/store/hostnames/hostnames.js';
import { findZoneByName, updateZone } from '../../../src/store/zones/zones.js';
import { startControl } from '../../control/fixture.js';
import { openOneCopy, openTwoCopies } from '../../support/two-copies.js';

interface World {
  readonly ctx: Context;
  /** In the zone saas.test, whose fallback origin is `fallback`. */
  readonly hostname: (hostname: string, change?: HostnameChange) => Promise<string>;
  /** What a host leads to, in a few words. */
  readonly lead: (host: string) => string;
  readonly zone: (name: string) => Promise<string>;
}

async function startWorld(t: Test, fallback = true, open: typeof openOneCopy = openTwoCopies): Promise<World> {
  const { ctx } = await startControl(t, {}, open);
  const zone = async (name: string): Promise<string> => (await createZone(ctx, { name })).id;
  const saas = await zone('saas.test');
  await createRecord(ctx, saas, { type: 'A', name: 'fallback', content: '192.0.2.1', proxied: true });
  await createRecord(ctx, saas, {
    type: 'CNAME',
    name: 'own',
    content: 'elsewhere.test',
    settings: { origin_port: 81 },
  });
  if (fallback) await putFallback(ctx, saas, 'fallback.saas.test');
  const seq = findZoneByName(ctx.store, 'saas.test')!.seq;
  return {
    ctx,
    zone,
    async hostname(hostname, change = { state: 'active' }) {
      const id = randomUUID();
      const tokens = { txt_token: 'a', http_token: 'b' };
      const columns = { ssl: null, metadata: null, origin: null, origin_sni: null, next_check_ms: null, created_at: 1 };
      await ctx.store.write(() => {
        insertHostname(ctx.store, { id, zone: seq, hostname, ...tokens, ...columns });
        updateHostname(ctx.store, findHostname(ctx.store, id)!.seq, change);
      });
      return id;
    },
    lead(host) {
      const route = findRoute(ctx.store, ctx.settings, host);
      if (route.kind === 'unknown') return 'unknown';
      if (route.kind === 'failure') return route.cause;
      if (route.kind === 'bucket') return `bucket ${route.bucket.name} ${route.bucket.enabled ? 'on' : 'off'}`;
      const places = route.places.map((place) => (place.kind === 'name' ? place.name : place.address));
      const ports = route.places.flatMap(({ port }) => port ?? []);
      return `${route.by} ${[...places, ...ports, `sni ${route.sni}`].join(' ')}`;
    },
  };
}

t.test('custom hostnames', async (t) => {
  const { hostname, lead } = await startWorld(t);
  await hostname('app.customer.test');
  t.equal(lead('app.customer.test'), 'hostname 192.0.2.1 sni app.customer.test');
  await hostname('own.customer.test', { state: 'active', origin: 'own.saas.test' });
  t.equal(lead('own.customer.test'), 'hostname elsewhere.test 81 sni own.saas.test');
  await hostname('sni.customer.test', { state: 'active', origin: 'own.saas.test', origin_sni: 'x.test' });
  t.match(lead('sni.customer.test'), /sni x\.test$/);
  await hostname('host.customer.test', {
    state: 'active',
    origin: 'own.saas.test',
    origin_sni: ':request_host_header:',
  });
  t.match(lead('host.customer.test'), /sni host\.customer\.test$/);
  await hostname('gone.customer.test', { state: 'active', origin: 'gone.saas.test' });
  t.equal(lead('gone.customer.test'), 'origin_dns');
  for (const state of ['pending', 'moved', 'blocked'] as const) {
    await hostname(`${state}.customer.test`, { state });
    t.equal(lead(`${state}.customer.test`), 'ownership', state);
  }
  await hostname('*.many.test');
  t.equal(lead('a.many.test'), 'wildcard-hostname 192.0.2.1 sni a.many.test');
  t.equal(lead('many.test'), 'unknown', 'a wildcard is not its parent');
  t.equal(lead('a.b.many.test'), 'unknown', 'and stands for one label');
  const ssl = JSON.stringify({ method: 'txt', type: 'dv', authority: '', wildcard: true, settings: {} });
  await hostname('both.test', { state: 'active', ssl });
  t.match(lead('both.test'), /^hostname/);
  t.match(lead('x.both.test'), /^wildcard-hostname/, 'as a certificate for names below says');
  t.equal(lead('nobody.test'), 'unknown');
});

t.test('without a fallback origin, or one that is not proxied', async (t) => {
  const { ctx, hostname, lead } = await startWorld(t, false);
  await hostname('app.customer.test');
  t.equal(lead('app.customer.test'), 'fallback_origin');
  const { id } = { id: Buffer.from(findZoneByName(ctx.store, 'saas.test')!.id).toString('hex') };
  await putFallback(ctx, id, 'own.saas.test');
  t.equal(lead('app.customer.test'), 'fallback_origin', 'its record is not proxied');
  await putFallback(ctx, id, 'fallback.saas.test');
  t.match(lead('app.customer.test'), /^hostname/);
  await editZone(ctx, id, { paused: true });
  t.equal(lead('app.customer.test'), 'fallback_origin', 'the zone is paused');
});

t.test('a standalone zone takes precedence over a wildcard hostname, not over an exact one', async (t) => {
  const { ctx, zone, hostname, lead } = await startWorld(t);
  await hostname('*.customer.test');
  t.match(lead('a.customer.test'), /^wildcard-hostname/);
  const id = await zone('customer.test');
  t.equal(lead('a.customer.test'), 'standalone_zone', 'even without any record of the name');
  await createRecord(ctx, id, { type: 'A', name: 'a', content: '192.0.2.7' });
  t.equal(lead('a.customer.test'), 'standalone_zone', 'with a record that is not proxied');
  await createRecord(ctx, id, { type: 'A', name: 'b', content: '192.0.2.8', proxied: true });
  t.equal(lead('b.customer.test'), 'record 192.0.2.8 sni b.customer.test');
  await hostname('a.customer.test');
  t.match(lead('a.customer.test'), /^hostname/, 'each name of its own');
  await hostname('b.customer.test');
  t.match(lead('b.customer.test'), /^hostname 192\.0\.2\.1/, 'an exact hostname goes before a record');
  await createRecord(ctx, id, { type: 'A', name: '*', content: '192.0.2.9', proxied: true });
  t.equal(lead('c.customer.test'), 'wildcard-record 192.0.2.9 sni c.customer.test');
  t.equal(lead('x.y.customer.test'), 'wildcard-record 192.0.2.9 sni x.y.customer.test', 'by the closest encloser');
  const below = await zone('deep.customer.test');
  t.equal(lead('c.deep.customer.test'), 'unknown', 'the deepest zone decides');
  await deleteZone(ctx, below);
  t.match(lead('c.deep.customer.test'), /^wildcard-record/);
});

t.test('names in the zone of the wildcard itself', async (t) => {
  const { ctx, hostname, lead } = await startWorld(t);
  await hostname('*.saas.test');
  t.match(lead('tenant.saas.test'), /^wildcard-hostname/);
  t.match(lead('fallback.saas.test'), /^record/);
  const id = Buffer.from(findZoneByName(ctx.store, 'saas.test')!.id).toString('hex');
  await createRecord(ctx, id, {
    type: 'AAAA',
    name: 'fallback',
    content: '2001:db8::1',
    proxied: true,
    settings: { origin_port: 99 },
  });
  t.equal(lead('fallback.saas.test'), 'record 192.0.2.1 2001:db8::1 99 sni fallback.saas.test');
});

t.test('a hostname that waits is passed over where a proxied record is', async (t) => {
  const { ctx, zone, hostname, lead } = await startWorld(t);
  const id = await zone('customer.test');
  await hostname('www.customer.test', { state: 'pending' });
  t.equal(lead('www.customer.test'), 'ownership');
  await createRecord(ctx, id, { type: 'A', name: 'www', content: '192.0.2.8', proxied: true });
  t.match(lead('www.customer.test'), /^record/);
});

t.test('a name that is attached to a bucket', async (t) => {
  const { ctx, zone, hostname, lead } = await startWorld(t);
  const id = await zone('shop.test');
  const accountId = toHex(allAccounts(ctx.store)[0]!.id);
  const place = { accountId, name: 'pictures', jurisdiction: 'default' } as const;
  await createBucket(ctx, accountId, place);
  await attachBucketDomain(ctx, place, { domain: 'cdn.shop.test', zoneId: id });
  t.equal(lead('cdn.shop.test'), 'bucket pictures on');
  t.equal(lead('a.cdn.shop.test'), 'unknown');
  await editBucketDomain(ctx, place, 'cdn.shop.test', { enabled: false });
  t.equal(lead('cdn.shop.test'), 'bucket pictures off');
  await editZone(ctx, id, { paused: true });
  t.equal(lead('cdn.shop.test'), 'unknown', 'the zone is paused');
  await editZone(ctx, id, { paused: false });
  await hostname('cdn.shop.test');
  t.match(lead('cdn.shop.test'), /^hostname/, 'an exact hostname goes before a bucket as before a record');
  await attachBucketDomain(ctx, place, { domain: 'x.y.shop.test', zoneId: id });
  const below = await zone('y.shop.test');
  t.equal(lead('x.y.shop.test'), 'unknown', 'the deepest zone decides');
  await deleteZone(ctx, below);
  t.equal(lead('x.y.shop.test'), 'bucket pictures on');
  await detachBucketDomain(ctx, place, 'x.y.shop.test');
  t.equal(lead('x.y.shop.test'), 'unknown');
});

t.test('every combination of wildcard, exact hostname, zone and record', async (t) => {
  const { ctx, zone, hostname, lead } = await startWorld(t, true, openOneCopy);
  const saas = Buffer.from(findZoneByName(ctx.store, 'saas.test')!.id).toString('hex');
  const states = [undefined, 'pending', 'active'] as const;
  let number = 0;
  for (const place of ['nowhere', 'the zone of the wildcard', 'another zone', 'a zone that is not active'] as const) {
    for (const record of ['none', 'of its own', 'proxied', 'proxied wildcard', 'proxied, paused'] as const) {
      const isPaused = record.endsWith('paused');
      if (place === 'nowhere' && record !== 'none') continue;
      if (place === 'the zone of the wildcard' && isPaused) continue;
      for (const wildcard of states) {
        for (const exact of states) {
          const base = `b${++number}.${place === 'the zone of the wildcard' ? 'saas.' : ''}test`;
          const isOther = place === 'another zone' || place === 'a zone that is not active';
          const id = isOther ? await zone(base) : saas;
          if (record !== 'none') {
            const owner = record === 'proxied wildcard' ? `*.${base}` : `x.${base}`;
            const proxied = record !== 'of its own';
            await createRecord(ctx, id, { type: 'A', name: owner, content: '192.0.2.7', proxied });
          }
          if (isPaused) await editZone(ctx, id, { paused: true });
          const { seq } = findZoneByName(ctx.store, isOther ? base : 'saas.test')!;
          if (place === 'a zone that is not active') {
            await ctx.store.write(() => updateZone(ctx.store, seq, { status: 'pending' }));
          }
          if (wildcard) await hostname(`*.${base}`, { state: wildcard });
          if (exact) await hostname(`x.${base}`, { state: exact });

          const isStandalone = place === 'another zone';
          const counts = place === 'another zone' || place === 'the zone of the wildcard';
          const expected = ((): string => {
            if (exact === 'active') return 'hostname';
            if (counts && record === 'proxied') return 'record';
            if (counts && record === 'proxied wildcard') return 'wildcard-record';
            if (wildcard === 'active' && !isStandalone) return 'wildcard-hostname';
            if (exact === 'pending') return 'ownership';
            if (wildcard === undefined) return 'unknown';
            if (wildcard === 'pending') return isStandalone ? 'unknown' : 'ownership';
            return 'standalone_zone';
          })();
          const what = `${place}, record ${record}, wildcard ${wildcard ?? 'none'}, exact ${exact ?? 'none'}`;
          t.equal(lead(`x.${base}`).split(' ')[0], expected, what);
        }
      }
    }
  }
});
