/** Requests to identity providers that do not behave: slow, large, or leading elsewhere. */
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t, { type Test } from 'tap';
import { createEgress } from '../../src/egress/egress.js';
import type { Resolution, Resolver } from '../../src/resolver/resolve.js';
import { createProviderFetch } from '../../src/sign-in/oidc/fetch.js';
import { anywhere } from '../support/egress.js';
import { TestClock } from '../support/test-clock.js';

async function serve(t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve()).closeAllConnections()));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Knows where idp.test is, as far as the outside says it. */
function resolverTo(...addresses: readonly string[]): Resolver {
  return {
    async resolve(name, type): Promise<Resolution> {
      const isAsked = name === 'idp.test' && type === 'A';
      const records = isAsked ? addresses.map((content) => ({ content, ttl: 60 })) : [];
      return { status: 'ok', chain: [], end: name, records, ttl: 60, source: 'upstream' };
    },
  };
}

const get = createProviderFetch(anywhere(new TestClock(0)), resolverTo(), 300);

t.test('a body that never ends', async (t) => {
  const timers: NodeJS.Timeout[] = [];
  t.teardown(() => timers.forEach(clearInterval));
  const url = await serve(t, (_, response) => {
    response.writeHead(200);
    timers.push(setInterval(() => response.write(' '), 20));
  });
  await t.rejects(get(url, {}));
});

t.test('a head that never comes', async (t) => {
  const url = await serve(t, () => {});
  await t.rejects(get(url, {}));
});

t.test('more than a megabyte', async (t) => {
  const url = await serve(t, (_, response) => response.end('x'.repeat(1_000_001)));
  await t.rejects(createProviderFetch(anywhere(new TestClock(0)), resolverTo())(url, {}));
});

t.test('a redirection is no way to another place', async (t) => {
  let asked = 0;
  const url = await serve(t, (request, response) => {
    asked++;
    response.writeHead(302, { location: request.url === '/b' ? '/a' : '/b' }).end();
  });
  t.equal((await get(`${url}/a`, {})).status, 302);
  t.equal(asked, 1, 'and is not followed');
});

t.test('a network that is not allowed', async (t) => {
  const url = await serve(t, (_, response) => response.end('{}'));
  const strict = createProviderFetch(createEgress({ allowed: [], own: { has: () => false } }), resolverTo('127.0.0.1'));
  await t.rejects(strict(url, {}));
  await t.rejects(strict(url.replace('127.0.0.1', 'idp.test'), {}));
});

t.test('names are looked up without the threads that read files', async (t) => {
  const url = (await serve(t, (_, response) => response.end('{}'))).replace('127.0.0.1', 'idp.test');
  const known = createProviderFetch(anywhere(new TestClock(0)), resolverTo('127.0.0.1'));
  t.equal((await known(url, {})).status, 200);
  await t.rejects(createProviderFetch(anywhere(new TestClock(0)), resolverTo())(url, {}), 'a name without an address');
});
