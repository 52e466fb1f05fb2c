/** Single sign-on with a real provider, the npm package oidc-provider: its forms, its keys, its answers. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Provider from 'oidc-provider';
import t, { type Test } from 'tap';
import { install } from '../api/installation.js';
import { browser } from '../api/people.js';

const PUBLIC = 'https://dns.example.org';

/** Cookies and redirects as a browser has them, on the pages of the provider. Returns the address at which they leave it. */
async function visit(start: string, origin: string): Promise<string> {
  const jar = new Map<string, string>();
  const go = async (url: string, form?: URLSearchParams): Promise<Response> => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(form && { method: 'POST', body: form }),
    });
    for (const field of answer.headers.getSetCookie()) {
      const [name, value] = field.split(';')[0]!.split('=', 2) as [string, string];
      jar.set(name, value);
    }
    return answer;
  };
  let answer = await go(start);
  for (let step = 0; step < 12; step++) {
    const location = answer.headers.get('location');
    if (location !== null) {
      const next = new URL(location, origin);
      if (next.origin !== origin) return next.href;
      answer = await go(next.href);
      continue;
    }
    const page = await answer.text();
    const [, action] = /<form[^>]*action="([^"]+)"/.exec(page) ?? [];
    const [, prompt] = /name="prompt" value="(\w+)"/.exec(page) ?? [];
    if (action === undefined) throw new Error(page);
    const fields = { prompt: prompt!, ...(prompt === 'login' && { login: 'grace', password: 'any' }) };
    answer = await go(new URL(action, origin).href, new URLSearchParams(fields));
  }
  throw new Error('the provider leads nowhere');
}

t.test('a person of a real provider', async (t: Test) => {
  const world = await install(t, { signIn: { publicUrl: PUBLIC } });
  // Its statements are of now.
  world.clock.advance(Date.now() - world.clock.nowMs());
  let handle: ReturnType<Provider['callback']> | undefined;
  const server = createServer((request, response) => void handle!(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const described = {
    name: 'Real',
    issuer,
    client_id: 'zoneplane',
    client_secret: 'a secret of ours',
    creates: 'always',
  };
  const { result } = (await world.call('POST', '/oidc_providers', described)).json;
  const provider = new Provider(issuer, {
    clients: [{ client_id: 'zoneplane', client_secret: 'a secret of ours', redirect_uris: [result.callback] }],
    pkce: { required: () => true },
    claims: { email: ['email', 'email_verified'] },
    findAccount: async (_, sub) => ({
      accountId: sub,
      claims: async () => ({ sub, email: `${sub}@example.com`, email_verified: true }),
    }),
  });
  handle = provider.callback();
  const person = browser(world);
  const leaving = await person.call('GET', `/user/sign_in/oidc/${result.id}?return=/zones`);
  t.equal(leaving.status, 302);
  const back = new URL(await visit(String(leaving.headers.location), issuer));
  t.equal(back.origin, PUBLIC);
  const arrived = await person.call('GET', `${back.pathname.replace('/client/v4', '')}${back.search}`);
  t.strictSame([arrived.status, arrived.headers.location], [302, '/zones']);
  person.cookie = [arrived.headers['set-cookie']]
    .flat()
    .map(String)
    .find((field) => !field.includes('_sso='))!
    .split(';')[0]!;
  t.equal((await person.call('GET', '/user')).json.result.email, 'grace@example.com');
});
