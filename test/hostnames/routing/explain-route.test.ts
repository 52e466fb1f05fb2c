/** What people are told of a name at the edge: each setting that changes what happens says so. */
import t from 'tap';
import { createAccount } from '../../../src/control/access/accounts.js';
import { authenticateToken } from '../../../src/control/access/authentication.js';
import { createKey } from '../../../src/control/access/keys.js';
import { createRecord } from '../../../src/control/records/records.js';
import { editZoneSetting } from '../../../src/control/zones/settings.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { explainRoute } from '../../../src/hostnames/routing/explain-route.js';
import { insertIssued, removeIssued } from '../../../src/store/certs/issued.js';
import { findRequest, insertRequest } from '../../../src/store/certs/requests.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { startControl } from '../../control/fixture.js';

t.test('the way of a request', async (t) => {
  const { ctx, clock } = await startControl(t);
  const { store } = ctx;
  const { id } = await createZone(ctx, { name: 'shop.test' });
  const { seq } = findZoneByName(store, 'shop.test')!;
  await createRecord(ctx, id, { type: 'A', name: 'www', content: '192.0.2.1', proxied: true });
  t.equal(explainRoute(ctx, 'other.shop.test'), undefined);
  const steps = () => explainRoute(ctx, 'www.shop.test')!.steps.join('\n');
  t.match(steps(), /^HTTPS: handshakes fail, because no certificate covers the name/);

  const nowMs = clock.nowMs();
  const names = JSON.stringify(['shop.test', '*.shop.test']);
  await store.write(() => {
    const columns = {
      names,
      method: 'txt',
      authority: '',
      status: 'active',
      started_at: nowMs,
      next_at: null,
      validity_days: 90,
    } as const;
    insertRequest(store, { id: 'request', owner_kind: 'zone', owner: id, zone: seq, ...columns });
    const request = findRequest(store, 'zone', id)!.seq;
    removeIssued(store, request);
    const made = {
      chain: 'x',
      private_key: Uint8Array.of(1),
      issuer: 'x',
      serial: '1',
      signature: 'x',
      fingerprint: 'f',
    };
    const times = { not_before: nowMs, not_after: nowMs + 86_400_000 };
    insertIssued(store, {
      id: 'certificate',
      request,
      authority: 'google',
      uploaded: 0,
      renewal: 0,
      names,
      ...made,
      ...times,
    });
  });
  const until = new Date(nowMs + 86_400_000).toISOString();
  t.equal(
    explainRoute(ctx, 'www.shop.test')!.steps[0],
    `HTTPS: the certificate of the zone for shop.test, *.shop.test, until ${until}; TLS 1.2 and newer, HTTP/2 or HTTP/1.1`,
  );
  for (const [name, value, told] of [
    ['min_tls_version', '1.3', /TLS 1\.3 and newer/],
    ['http2', 'off', /, HTTP\/1\.1$/m],
    ['ssl', 'strict', /certificate must be valid \(ssl strict\)/],
    ['ssl', 'flexible', /always asked over plain HTTP \(ssl flexible\)/],
    ['ssl', 'off', /redirected to plain HTTP \(ssl off\)/],
    ['ssl', 'full', /not verified \(ssl full\)/],
    ['always_use_https', 'on', /redirected to HTTPS \(always_use_https on\)/],
    ['cache_level', 'cache_everything', /everything is stored .*\(cache_level cache_everything\)/],
    ['cache_level', 'bypass', /cache: nothing is stored \(cache_level bypass\)/],
    ['development_mode', 'on', /nothing is stored or answered .*\(development_mode on\)/],
    ['origin_max_http_version', '2', /HTTP\/2 is used with the origin/],
    ['brotli', 'off', /without Brotli \(brotli off\)/],
    ['compression', 'off', /nothing is compressed \(compression off\)/],
    ['websockets', 'off', /WebSockets are refused \(websockets off\)/],
  ] as const) {
    t.notMatch(steps(), told, `not before ${name} is ${value}`);
    await editZoneSetting(ctx, id, name, value);
    t.match(steps(), told, `${name} ${value}`);
  }
  clock.advance(86_400_000);
  t.match(steps(), /which expired at/);
});

t.test('another account is told nothing of where a name leads', async (t) => {
  const { ctx } = await startControl(t);
  const { id } = await createZone(ctx, { name: 'victim.test' });
  await createRecord(ctx, id, { type: 'A', name: 'www', content: '192.0.2.77', proxied: true });
  await createRecord(ctx, id, { type: 'CNAME', name: 'app', content: 'hidden.origin.test', proxied: true });
  const account = await createAccount(ctx, { name: 'B', members: ['b@example.org'] });
  const { secret } = await createKey(ctx, { kind: 'token', name: 'B', email: 'b@example.org' });
  const signedIn = await authenticateToken(ctx, secret, '127.0.0.1');
  if (!signedIn.ok) throw new Error(signedIn.reason);
  const b = { ...ctx, actor: signedIn.actor };
  t.match(await createZone(b, { name: 'www.victim.test', account: { id: account.id } }), { status: 'pending' });
  for (const host of ['www.victim.test', 'app.victim.test']) {
    const told = explainRoute(b, host)!;
    t.notMatch(JSON.stringify(told), /192\.0\.2\.77|hidden|ssl|certificate/);
    t.match(told, { by: null, cause: null, origins: [], steps: [] });
    t.not(explainRoute(ctx, host)!.origins.length, 0, 'its own account is');
  }
});
