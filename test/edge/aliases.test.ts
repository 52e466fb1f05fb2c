/** Origins that are names of the edge itself: of the same account, and of others. */
import t from 'tap';
import { createAccount } from '../../src/control/access/accounts.js';
import { createRecord } from '../../src/control/records/records.js';
import { createZone } from '../../src/control/zones/zones.js';
import { addHostname, startEdgeWorld, startOrigin } from './fixture.js';

const GET = (host: string): string => `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

t.test('a name of another account is not an origin, whichever way it is reached', async (t) => {
  let asked = 0;
  const origin = await startOrigin(t, (_, response) => {
    asked++;
    response.end('hidden');
  });
  const world = await startEdgeWorld(t);
  const { ctx, raw, heard } = world;
  await world.zone('a.test', origin.port);
  const { id: account } = await createAccount(ctx, { name: 'other', members: ['other@example.org'] });
  const { id } = await createZone(ctx, { name: 'b.test', account });
  const add = (name: string, content: string, proxied: boolean, zone = id) =>
    createRecord(ctx, zone, { type: 'CNAME', name, content, proxied });
  await addHostname(ctx, 'a.test', 'shop.c.test', { origin: 'www.a.test', proof_zone: null });
  await add('direct', 'www.a.test', true);
  await add('dotted', 'WWW.a.test.', true);
  await add('plain', 'www.a.test', false);
  await add('chain', 'plain.b.test', true);
  await add('flat', 'www.a.test', true, (await createZone(ctx, { name: 'flat.test', account })).id);
  await add('shop', 'shop.c.test', true);
  await addHostname(ctx, 'b.test', 'custom.c.test', { origin: 'direct.b.test' });
  await heard();
  t.match(await raw(GET('www.a.test')), /hidden/, 'its own account reaches it');
  asked = 0;
  const hosts = ['direct.b.test', 'dotted.b.test', 'chain.b.test', 'shop.b.test', 'custom.c.test', 'flat.flat.test'];
  for (const host of hosts) {
    const answer = await raw(GET(host));
    t.match(answer, /^HTTP\/1\.1 403 /, host);
    t.match(answer, /error code: 1014/, host);
    t.notMatch(answer, /127\.0\.0\.1|origin\.a\.test|www\.a\.test/, 'it names nothing behind it');
  }
  t.equal(asked, 0);
});

t.test('a name of the same account is asked as its own route says', async (t) => {
  const origin = await startOrigin(t, (request, response) => response.end(`for ${request.headers.host}`));
  const world = await startEdgeWorld(t);
  const { ctx, raw, heard } = world;
  await world.zone('a.test', origin.port);
  const { id } = await createZone(ctx, { name: 'own.test' });
  const add = (name: string, content: string, proxied: boolean) =>
    createRecord(ctx, id, { type: 'CNAME', name, content, proxied });
  await add('direct', 'www.a.test', true);
  await add('second', 'direct.own.test', true);
  await add('plain', 'www.a.test', false);
  await add('chain', 'plain.own.test', true);
  await add('round', 'trip.own.test', true);
  await add('trip', 'round.own.test', true);
  await heard();
  for (const name of ['direct', 'second', 'chain']) {
    // Only www has the port of the origin.
    t.match(await raw(GET(`${name}.own.test`)), new RegExp(`200 OK[\\s\\S]*for ${name}\\.own\\.test`), name);
  }
  for (const name of ['round', 'trip']) t.match(await raw(GET(`${name}.own.test`)), /530 [\s\S]*1016/, name);
});

t.test('what nobody has proven is nobody else’s', async (t) => {
  const world = await startEdgeWorld(t);
  const { ctx, raw, heard } = world;
  const { id: account } = await createAccount(ctx, { name: 'other', members: ['other@example.org'] });
  const actor = { ...ctx.actor, kind: 'token', superAdministrator: false, accountIds: [account] } as const;
  const claim = await createZone({ ...ctx, actor }, { name: 'claimed.test', account });
  await createRecord(ctx, claim.id, { type: 'A', name: 'www', content: '192.0.2.1', proxied: true });
  const { id } = await createZone(ctx, { name: 'a.test' });
  await createRecord(ctx, id, { type: 'CNAME', name: 'www', content: 'www.claimed.test', proxied: true });
  await heard();
  t.match(await raw(GET('www.a.test')), /530 [\s\S]*1016/);
});
