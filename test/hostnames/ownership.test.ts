/** Who gets a hostname and who does not: look-alikes, loops, long chains, tokens of others, and where the token fetch goes. */

import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import t, { type Test } from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { parseIP } from '../../src/base/ip.js';
import { createRecord } from '../../src/control/records/records.js';
import { createZone } from '../../src/control/zones/zones.js';
import type { Egress } from '../../src/egress/egress.js';
import { findOut, HTTP_TOKEN_PATH, txtTokenName, uniqueTarget } from '../../src/hostnames/ownership.js';
import { createTokenFetch } from '../../src/hostnames/token-fetch.js';
import { createResolver, type Resolver } from '../../src/resolver/resolve.js';
import { createUpstream } from '../../src/resolver/upstream.js';
import type { HostnameRow } from '../../src/store/hostnames/hostnames.js';
import { startControl } from '../control/fixture.js';
import { anywhere, egressTo } from '../support/egress.js';
import { freePort } from '../support/free-ports.js';
import { TestClock } from '../support/test-clock.js';

const ID = '7b163417-1d2b-4c84-a38a-2fb7a0cd7752';
const row = (hostname: string, members: Partial<HostnameRow> = {}): HostnameRow =>
  ({ id: ID, hostname, state: 'pending', txt_token: 'txt-token', http_token: 'http-token', ...members }) as HostnameRow;

const SAAS = { name: 'saas.test', account: 1, unique_targets: 0 };
/** One zone here said so. */
const leadsHere = (by: string) => ({ kind: 'here', evidence: { by, zones: [Number] } });

/** Records of our own zones; nobody outside can be asked. */
async function resolverWith(
  t: Test,
  records: readonly (readonly [string, string, string])[],
  pending: readonly string[] = [],
) {
  const { ctx } = await startControl(t);
  for (const name of ['saas.test', 'evilsaas.test', 'evil.test', 'customer.test']) {
    const waiting = pending.includes(name);
    const zoneCtx = waiting ? { ...ctx, settings: { ...ctx.settings, activation: 'delegation' as const } } : ctx;
    const zone = await createZone(zoneCtx, { name });
    for (const [owner, type, content] of records) {
      if (owner !== name && !owner.endsWith(`.${name}`)) continue;
      await createRecord(ctx, zone.id, { name: owner, type, content, ttl: 60 });
    }
  }
  const { store, clock, random, settings } = ctx;
  return createResolver({ store, upstream: createUpstream({ servers: [], clock }), clock, random, serving: settings });
}

const nothing = async () => undefined;
const ask = (resolver: Resolver, hostname: string, addresses: readonly Uint8Array[] = [], fetch = nothing) =>
  findOut(resolver, fetch, { row: row(hostname), zone: SAAS, addresses, fresh: true });

t.test('where a name leads', async (t) => {
  const chain = (length: number) =>
    Array.from({ length }, (_, i) => {
      const target = i === length - 1 ? 'saas.test' : `c${length}-${i + 1}.customer.test`;
      return [`c${length}-${i}.customer.test`, 'CNAME', target] as const;
    });
  const resolver = await resolverWith(t, [
    ['direct.customer.test', 'CNAME', 'saas.test'],
    ['below.customer.test', 'CNAME', 'unique.label.saas.test'],
    ['upper.customer.test', 'CNAME', 'Origin.SAAS.test'],
    ['prefix.customer.test', 'CNAME', 'evilsaas.test'],
    ['suffix.customer.test', 'CNAME', 'saas.test.evil.test'],
    ['loop.customer.test', 'CNAME', 'pool.customer.test'],
    ['pool.customer.test', 'CNAME', 'loop.customer.test'],
    ['address.customer.test', 'A', '192.0.2.7'],
    ['inside.saas.test', 'A', '192.0.2.7'],
    ...chain(10),
    ...chain(11),
    ...chain(12),
  ]);
  const here = leadsHere('cname');
  const elsewhere = { kind: 'elsewhere', own: true };
  const unsure = { kind: 'unsure', why: 'servfail' };
  const rows = [
    ['direct.customer.test', here],
    ['below.customer.test', here],
    ['upper.customer.test', here],
    ['prefix.customer.test', elsewhere],
    ['suffix.customer.test', elsewhere],
    ['address.customer.test', elsewhere],
    ['missing.customer.test', elsewhere],
    ['inside.saas.test', elsewhere],
    ['loop.customer.test', unsure],
    ['c10-0.customer.test', here],
    ['c11-0.customer.test', unsure],
    ['c12-0.customer.test', unsure],
    ['app.outside.test', { kind: 'unsure', why: 'timeout' }],
  ] as const;
  for (const [hostname, pointing] of rows) {
    const found = await ask(resolver, hostname);
    t.match(found, { pointing }, hostname);
    t.notOk('token' in found, hostname);
  }
  const own = [parseIP('192.0.2.7')!];
  t.match(await ask(resolver, 'address.customer.test', own), { pointing: leadsHere('address') });
  t.strictSame(await ask(resolver, 'missing.customer.test', own), { pointing: elsewhere });
});

t.test('where a zone wants unique targets, no other name of it proves anything', async (t) => {
  const mine = uniqueTarget({ id: ID }, 'saas.test');
  t.match(mine, /^[0-9a-f]{16}\.saas\.test$/);
  const resolver = await resolverWith(t, [
    ['own.customer.test', 'CNAME', mine],
    ['chain.customer.test', 'CNAME', 'own.customer.test'],
    ['apex.customer.test', 'CNAME', 'saas.test'],
    ['other.customer.test', 'CNAME', uniqueTarget({ id: ID.replace('7', '8') }, 'saas.test')],
    ['below.customer.test', 'CNAME', `x.${mine}`],
    ['address.customer.test', 'A', '192.0.2.7'],
  ]);
  const addresses = [parseIP('192.0.2.7')!];
  const ask = (hostname: string, members: Partial<HostnameRow> = {}) =>
    findOut(resolver, nothing, {
      row: row(hostname, members),
      zone: { ...SAAS, unique_targets: 1 },
      addresses,
      fresh: true,
    });
  const here = leadsHere('cname');
  const elsewhere = { kind: 'elsewhere', own: true } as const;
  for (const [hostname, pointing] of [
    ['own', here],
    ['chain', here],
    ['apex', elsewhere],
    ['other', elsewhere],
    ['below', elsewhere],
    ['address', elsewhere],
  ] as const) {
    t.match(await ask(`${hostname}.customer.test`), { pointing }, hostname);
  }
  t.match(await ask('apex.customer.test', { state: 'active' }), { pointing: here }, 'what is active stays so');
  t.match(await ask('address.customer.test', { state: 'active' }), { pointing: leadsHere('address') });
});

t.test('a zone that waits for its delegation proves nothing', async (t) => {
  const records = [['app.customer.test', 'CNAME', 'saas.test']] as const;
  const resolver = await resolverWith(t, records, ['customer.test']);
  t.strictSame(await ask(resolver, 'app.customer.test'), { pointing: { kind: 'unsure', why: 'timeout' } });
});

t.test('tokens: in a TXT record, at a URL, and not those of others', async (t) => {
  const resolver = await resolverWith(t, [
    [txtTokenName('app.customer.test'), 'TXT', '"another" "txt-"'],
    [txtTokenName('good.customer.test'), 'TXT', '"txt-token"'],
    [txtTokenName('replay.customer.test'), 'TXT', '"token-of-another-hostname"'],
  ]);
  t.match(await ask(resolver, 'good.customer.test'), { token: { by: 'txt', zones: [Number] } });
  t.match(await ask(resolver, '*.good.customer.test'), { token: { by: 'txt', zones: [Number] } });
  for (const name of ['app', 'replay', 'none']) {
    t.notOk('token' in (await ask(resolver, `${name}.customer.test`)), name);
  }
  const asked: string[] = [];
  const answers = (text: string) => async (host: string, path: string) => {
    asked.push(`${host}${path}`);
    return text as never;
  };
  t.match(await ask(resolver, 'app.customer.test', [], answers('http-token') as never), {
    token: { by: 'http', zones: [Number] },
  });
  t.strictSame(asked, [`app.customer.test${HTTP_TOKEN_PATH}${ID}`]);
  t.notOk('token' in (await ask(resolver, 'app.customer.test', [], answers('txt-token') as never)));
  t.notOk('token' in (await ask(resolver, '*.app.customer.test', [], answers('http-token') as never)), 'no host');
});

t.test('the fetch goes nowhere but to public addresses', async (t) => {
  const addresses = {
    loopback: '127.0.0.1',
    private: '10.0.0.1',
    shared: '100.64.0.1',
    metadata: '169.254.169.254',
    unspecified: '0.0.0.0',
    multicast: '224.0.0.1',
  };
  const hits: string[] = [];
  const { port } = await listen(t, (request, response) => {
    hits.push(request.url!);
    response.end('http-token');
  });
  const addresses6 = {
    loopback6: '::1',
    mapped: '::ffff:127.0.0.1',
    linklocal: 'fe80::1',
    local: 'fd00::1',
    translated: '64:ff9b::7f00:1',
  };
  const resolver = await resolverWith(t, [
    ...Object.entries(addresses).map(([name, address]) => [`${name}.customer.test`, 'A', address] as const),
    ...Object.entries(addresses6).map(([name, address]) => [`${name}.customer.test`, 'AAAA', address] as const),
    ['mixed.customer.test', 'A', '127.0.0.1'],
    ['mixed.customer.test', 'AAAA', '2606:4700::1111'],
    ['alias.customer.test', 'CNAME', 'loopback.customer.test'],
  ]);
  const fetch = createTokenFetch({ resolver, clock: new SystemClock(), port, egress: egressTo(new SystemClock(), []) });
  const names = [...Object.keys(addresses), ...Object.keys(addresses6), 'mixed', 'alias'];
  for (const name of names)
    t.match(await fetch(`${name}.customer.test`, '/x'), { reason: /is refused by policy/ }, name);
  t.equal(await fetch('missing.customer.test', '/x'), undefined);
  t.strictSame(hits, []);
});

t.test('the fetch follows nothing, and reads little in little time', async (t) => {
  const clock = new TestClock();
  const { port } = await listen(t, (request, response) => {
    const { url, headers } = request;
    if (url === '/host') return response.end(headers.host);
    if (url === '/spaces') return response.end(' token \n');
    if (url === '/redirect') return response.writeHead(302, { location: '/host' }).end('token');
    if (url === '/absent') return response.writeHead(404).end('token');
    if (url === '/large') return response.end('x'.repeat(2000));
    if (url === '/endless') return void response.write('x'.repeat(2000));
    const drip = setInterval(() => {
      response.write('to');
      clock.advance(50);
    }, 5);
    request.once('close', () => clearInterval(drip));
  });
  const resolver = await resolverWith(t, [['web.customer.test', 'A', '127.0.0.1']]);
  const allowed: string[] = [];
  const egress: Egress = { refusal: (_, address) => void allowed.push(address) };
  const fetch = createTokenFetch({ resolver, clock: new SystemClock(), port, egress });
  t.equal(await fetch('web.customer.test', '/host'), 'web.customer.test');
  t.strictSame(allowed, ['127.0.0.1']);
  t.equal(await fetch('web.customer.test', '/spaces'), 'token');
  for (const path of ['/redirect', '/absent', '/large', '/endless']) {
    t.equal(await fetch('web.customer.test', path), undefined, path);
  }
  const inTime = createTokenFetch({ resolver, clock, port, egress });
  t.equal(await inTime('web.customer.test', '/drip'), undefined, 'a body that never ends');
  const nobody = createTokenFetch({ resolver, clock: new SystemClock(), port: await freePort(), egress });
  t.match(await nobody('web.customer.test', '/x'), { reason: /^127\.0\.0\.1 does not answer on port \d+\.$/ });
});

t.test('a redirect leads nowhere, whatever it says', async (t) => {
  const hits: string[] = [];
  const inner = await listen(t, (request, response) => {
    hits.push(request.url!);
    response.end('token');
  });
  const targets = [
    `http://127.0.0.1:${inner.port}/inner`,
    'http://169.254.169.254/latest/meta-data/',
    '//localhost/x',
    '/token',
  ];
  const { port } = await listen(t, ({ url }, response) => {
    if (url === '/token') return response.end('token');
    const [, status, target] = /^\/(\d+)\/(\d)$/.exec(url!)!;
    response.writeHead(Number(status), { location: targets[Number(target)]! }).end('token');
  });
  const resolver = await resolverWith(t, [['web.customer.test', 'A', '127.0.0.1']]);
  const fetch = createTokenFetch({ resolver, clock: new SystemClock(), port, egress: anywhere(new SystemClock()) });
  for (const status of [301, 302, 303, 307, 308]) {
    for (const i of targets.keys()) {
      t.equal(await fetch('web.customer.test', `/${status}/${i}`), undefined, `${status} ${targets[i]}`);
    }
  }
  t.strictSame(hits, []);
  t.equal(await fetch('web.customer.test', '/token'), 'token', 'the server itself answers');
});

t.test('a server that says nothing', async (t) => {
  const server = createTcpServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const resolver = await resolverWith(t, [['web.customer.test', 'A', '127.0.0.1']]);
  const fetch = createTokenFetch({ resolver, clock: new SystemClock(), port, egress: anywhere(new SystemClock()) });
  t.match(await fetch('web.customer.test', '/x'), { reason: /does not answer/ });
});

async function listen(t: Test, listener: RequestListener): Promise<{ port: number }> {
  const server = createServer(listener as RequestListener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port };
}
