/** What the stage of the cache gives to its clients, beside an origin that the test plays. */
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { createEdgeCache } from '../../../src/edge/cache/cache.js';
import { createCacheStage } from '../../../src/edge/cache/stage.js';
import { createCompression } from '../../../src/edge/compress/compression.js';
import type { EdgeRequest, ResponseSink, Stage } from '../../../src/edge/exchange/exchange.js';
import { createPurgedItems } from '../../../src/edge/purge/purged.js';
import { TestClock } from '../../support/test-clock.js';

const SIZE = 1 << 20;

function setUp() {
  const body = Buffer.alloc(SIZE, 'x');
  const flow = { showsItsEnd: true, pause() {}, resume() {}, abort() {} };
  const origin: Stage = (_request, _route, sink) => {
    sink.onHead(200, ['content-length', String(SIZE), 'cache-control', 'max-age=600'], flow);
    for (let at = 0; at < SIZE; at += 1 << 16) sink.onData(body.subarray(at, at + (1 << 16)));
    sink.onEnd([]);
    return () => {};
  };
  const clock = new TestClock();
  const compression = createCompression(clock);
  const cache = createEdgeCache({
    ...{ clock, purged: createPurgedItems(), compression },
    ...{ maxOctets: 1 << 26, maxObjectOctets: 1 << 24 },
  });
  const stage = createCacheStage({
    cache,
    origin,
    compression,
    onResult() {},
    onFault: (error) => t.fail(String(error)),
  });
  /** Octets that were written, by account. */
  const written = new Map<number, number>();
  const ask = (account: number): Promise<void> =>
    new Promise((resolve) => {
      const request = {
        method: 'GET',
        scheme: 'http',
        host: 'a.test',
        authority: 'a.test',
        target: '/a.js',
        headers: [],
        body: undefined,
      };
      const settings = { cache_level: 'aggressive', browser_cache_ttl: 0, development_mode: 'off' };
      const sink: ResponseSink = {
        onInformation() {},
        onHead() {},
        onData: ({ length }) => void written.set(account, (written.get(account) ?? 0) + length),
        onEnd: () => resolve(),
        onFailure: ({ title }) => t.fail(title),
      };
      const route = { zone: { seq: account, account }, settings };
      stage(request as unknown as EdgeRequest, route as never, sink);
    });
  return { ask, written };
}

t.test('bodies are written in pieces, in turns by account', async (t) => {
  const { ask, written } = setUp();
  await Promise.all([ask(1), ask(2)]);
  written.clear();
  const greedy = Array.from({ length: 200 }, () => ask(2));
  const other = ask(1);
  let most = 0;
  for (let last = 0; (written.get(1) ?? 0) < SIZE; ) {
    await turn();
    const all = [...written.values()].reduce((sum, octets) => sum + octets, 0);
    most = Math.max(most, all - last);
    last = all;
  }
  t.ok(most <= 3 << 20, `${most} octets at most in one turn of the loop`);
  await other;
  t.ok(written.get(2)! < 20 * SIZE, 'beside 200 bodies of the other account, this one is early');
  await Promise.all(greedy);
  t.equal(written.get(2), 200 * SIZE);
});
