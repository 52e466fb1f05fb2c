/** Downloads that are on their way when their reader may not read any more. */
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { streamText } from '../../src/api/dns-records/transfer.js';
import { requireStillPermitted } from '../../src/api/permission.js';
import { silentLogger } from '../../src/base/log.js';
import { actorNow, authenticateToken } from '../../src/control/access/authentication.js';
import { install } from './installation.js';

t.test('a download ends with the right to read it', async (t) => {
  let isClosed = false;
  let mayRead = true;
  async function* pieces(): AsyncGenerator<string> {
    try {
      for (let n = 0; n < 1000; n++) yield `piece ${n}\n`;
    } finally {
      isClosed = true;
    }
  }
  const requireStill = (): void => {
    if (!mayRead) throw new Error('removed');
  };
  const stream = await streamText(pieces(), { log: silentLogger(), requireStill });
  let read = 0;
  const reading = async (): Promise<void> => {
    for await (const _ of stream) {
      read += 1;
      if (read === 10) mayRead = false;
    }
  };
  await t.rejects(reading(), /removed/);
  t.ok(read < 100, 'what was under way, and no more');
  t.equal(isClosed, true, 'its source is closed');
});

t.test('a secret that was replaced permits nothing more, also to requests under way', async (t) => {
  const world = await install(t);
  const headers = await world.token({ name: 'rolled' });
  const [, secret] = headers.authorization.split(' ');
  const [account] = (await world.call('GET', '/accounts')).json.result;
  const found = await authenticateToken(world.base, secret!, '127.0.0.1');
  if (!found.ok) return t.fail('it is a token');
  const request = {
    caller: { actor: found.actor, key: found.key, keyHash: found.hash, scheme: 'token' },
    ...{ clientAddress: '127.0.0.1', method: 'GET', params: { account_id: account.id } },
    routeOptions: { config: { area: 'zone' }, url: '' },
  } as unknown as FastifyRequest;
  requireStillPermitted(world.base, request);
  const rolled = await world.call('PUT', `/user/tokens/${found.key.id}/value`, {});
  t.equal(rolled.status, 200);
  t.throws(() => requireStillPermitted(world.base, request));
});

t.test('what is kept of a token while nobody commits is for its own secret', async (t) => {
  const world = await install(t);
  const headers = await world.token({ name: 'reads' });
  const [, secret] = headers.authorization.split(' ');
  const found = await authenticateToken(world.base, secret!, '127.0.0.1');
  if (!found.ok) return t.fail('it is a token');
  const ask = (hash: Uint8Array) => actorNow(world.base, found.actor, '127.0.0.1', undefined, hash);
  for (let i = 0; i < 2; i++) {
    t.equal(ask(found.hash)?.keyId, found.key.id);
    t.equal(ask(Buffer.alloc(32)), undefined);
  }
});
