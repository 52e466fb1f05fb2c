/** What the short way leaves to the general one. */
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { startEdgeWorld } from '../fixture.js';

t.test('an origin whose name is to be resolved is resolved once, and a fault in that ends one request', async (t) => {
  const lost: unknown[] = [];
  const onLost = (error: unknown): void => void lost.push(error);
  process.on('unhandledRejection', onLost);
  t.teardown(() => void process.off('unhandledRejection', onLost));
  const asked: string[] = [];
  const resolver = {
    resolve(name: string, type: string): Promise<never> {
      asked.push(`${name} ${type}`);
      return Promise.reject(new Error('the store cannot be read'));
    },
  };
  const world = await startEdgeWorld(t, { resolver });
  await world.zone('a.test', 80);
  const text = await world.raw('GET / HTTP/1.1\r\nHost: www.a.test\r\nConnection: close\r\n\r\n');
  t.match(text, /^HTTP\/1\.1 500 /);
  await turn();
  t.strictSame(asked, ['origin.a.test A', 'origin.a.test AAAA']);
  t.strictSame(lost, []);
});
