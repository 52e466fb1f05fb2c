/** Responses that are passed on as they come: the same as in the general way, and what becomes of those that may be stored. */
import fc from 'fast-check';
import t from 'tap';
import { answerPassed, passedHeaders } from '../../../src/edge/cache/answer.js';
import { createEdgeCache } from '../../../src/edge/cache/cache.js';
import type { CacheRequest, Lookup } from '../../../src/edge/cache/cache-state.js';
import { directivesOf } from '../../../src/edge/cache/directives.js';
import { createCacheStage } from '../../../src/edge/cache/stage.js';
import { allowsSharedCaches, judgeStoring } from '../../../src/edge/cache/storing.js';
import { createCompression } from '../../../src/edge/compress/compression.js';
import { failureOf } from '../../../src/edge/error-pages/failures.js';
import { type EdgeRequest, headerFields, headerList, type ResponseSink } from '../../../src/edge/exchange/exchange.js';
import { createPurgedItems } from '../../../src/edge/purge/purged.js';
import { TestClock } from '../../support/test-clock.js';

const NAMES = [
  'date',
  'expires',
  'etag',
  'set-cookie',
  'vary',
  'age',
  'x-a',
  'cache-status',
  'proxy-authentication-info',
];
const DIRECTIVES = [
  'public',
  'private',
  'no-store',
  'max-age=60',
  's-maxage=5',
  'no-cache',
  'must-revalidate',
  '',
  'x',
];
const head = fc.array(
  fc.oneof(
    fc.tuple(fc.constantFrom(...NAMES), fc.constantFrom('Sun, 22 Nov 2026 12:00:00 GMT', 'a', '5')),
    fc.tuple(
      fc.constantFrom('cache-control', 'cdn-cache-control', 'cloudflare-cdn-cache-control'),
      fc.array(fc.constantFrom(...DIRECTIVES), { maxLength: 3 }).map((list) => list.join(', ')),
    ),
  ),
  { maxLength: 6 },
);

t.test('what allows no shared cache is not stored, and is passed with the same fields', async (t) => {
  const exchange = { sentMs: 0, receivedMs: 0, receivedAtMs: Date.UTC(2026, 10, 22, 12) };
  let passed = 0;
  fc.assert(
    fc.property(head, fc.constantFrom(200, 204, 206, 304, 404, 503), (pairs, status) => {
      const headers = pairs.flat();
      const fields = headerFields(headers);
      if (allowsSharedCaches(directivesOf(fields))) return;
      const response = { status, fields, body: undefined, showsItsEnd: true };
      t.notOk(judgeStoring({}, response, 'opt-in', exchange).isStored, JSON.stringify(headers));
      const notes = { result: 'DYNAMIC', forwardedStatus: status } as const;
      const list = passedHeaders(headers, notes);
      if (!list) return;
      passed++;
      const general = headerList(answerPassed(response, { result: 'DYNAMIC' }).fields);
      t.strictSame(headerFields(list), headerFields(general));
    }),
    { numRuns: 400, seed: 38 },
  );
  t.ok(passed > 50, `${passed} were passed`);
});

interface Asked {
  readonly sink: ResponseSink;
  isAborted: boolean;
}

function setUp() {
  const clock = new TestClock();
  const purged = createPurgedItems();
  const compression = createCompression(clock);
  const cache = createEdgeCache({ clock, purged, compression, maxOctets: 1 << 26, maxObjectOctets: 1 << 24 });
  const asked: Asked[] = [];
  const results: string[] = [];
  const stage = createCacheStage({
    compression,
    cache,
    origin: (_request, _route, sink) => {
      const one: Asked = { sink, isAborted: false };
      asked.push(one);
      return () => (one.isAborted = true);
    },
    onResult: (result) => results.push(result),
    onFault: (error) => t.fail(String(error)),
  });
  const ask = (method = 'GET') => {
    const heard = { events: [] as string[], headers: [] as readonly string[], body: '', leave() {} };
    const sink: ResponseSink = {
      onInformation: (status) => heard.events.push(String(status)),
      onHead: (status, headers) => {
        heard.headers = headers;
        heard.events.push(String(status));
      },
      onData: (chunk) => (heard.body += chunk.toString()),
      onEnd: () => heard.events.push('end'),
      onFailure: ({ code, name }) => heard.events.push(`${code ?? name}`),
    };
    const settings = { cache_level: 'aggressive', browser_cache_ttl: 0, development_mode: 'off' };
    const request = {
      method,
      scheme: 'http',
      host: 'a.test',
      authority: 'a.test',
      target: '/page',
      headers: [],
      body: undefined,
    };
    const route = { zone: { seq: 1, account: 1 }, settings };
    heard.leave = stage(request as unknown as EdgeRequest, route as never, sink);
    return heard;
  };
  const flow = { showsItsEnd: true, pause() {}, resume() {}, abort: () => (asked.at(-1)!.isAborted = true) };
  const answer = ({ sink }: Asked, ...headers: string[]): void => {
    sink.onHead(200, [...headers, 'content-length', '5'], flow);
    sink.onData(Buffer.from('hello'));
    sink.onEnd([]);
  };
  return { ask, asked, results, answer, flow, cache };
}

const until = async (isSo: () => boolean): Promise<void> => {
  for (let turn = 0; turn < 1000 && !isSo(); turn++) await new Promise(setImmediate);
};

t.test('a page that says nothing is passed on at once', async (t) => {
  const { ask, asked, answer, results, cache } = setUp();
  const heard = ask();
  answer(asked[0]!, 'cache-control', 'private, max-age=5', 'x-a', 'b');
  t.strictSame(heard.events, ['200', 'end']);
  t.equal(heard.body, 'hello');
  t.match(headerFields(heard.headers), { 'x-a': 'b', 'cf-cache-status': 'DYNAMIC' });
  t.strictSame(results, ['DYNAMIC']);
  heard.leave();
  t.notOk(asked[0]!.isAborted, 'nothing is left to end');
  t.equal(cache.count(), 0);
});

t.test('one that allows shared caches is stored, unless what it says was changed meanwhile', async (t) => {
  const { ask, asked, answer, results, cache } = setUp();
  const [first, second] = [ask(), ask()];
  answer(asked[0]!, 'cache-control', 'public, max-age=60');
  await until(() => first.events.includes('end'));
  t.match(first, { events: ['200', 'end'], body: 'hello' });
  await until(() => cache.count() === 1);
  t.equal(cache.count(), 1);
  t.match(ask(), { events: ['200', 'end'], body: 'hello' });
  t.strictSame(results, ['MISS', 'HIT']);
  const changing = ask('POST');
  answer(asked[2]!);
  await until(() => changing.events.includes('end'));
  t.equal(cache.count(), 0, 'another request has changed the page');
  answer(asked[1]!, 'cache-control', 'public, max-age=60');
  await until(() => second.events.includes('end'));
  await until(() => false);
  t.equal(cache.count(), 0, 'what was asked for before that is not stored');
});

t.test('clients that leave, and origins that fail', async (t) => {
  const { ask, asked, answer, flow } = setUp();
  const early = ask();
  early.leave();
  t.ok(asked[0]!.isAborted, 'before the head');
  const late = ask();
  asked[1]!.sink.onInformation(103, []);
  asked[1]!.sink.onHead(200, ['content-length', '5'], flow);
  late.leave();
  t.strictSame(late.events, ['103', '200']);
  t.ok(asked[1]!.isAborted, 'after it');
  const refused = ask();
  asked[2]!.sink.onFailure(failureOf('refused'));
  t.equal(refused.events.length, 1);
  const cut = ask();
  asked[3]!.sink.onHead(200, ['content-length', '5'], flow);
  asked[3]!.sink.onFailure(failureOf('unreadable'));
  t.equal(cut.events.length, 2);
  const next = ask();
  answer(asked[4]!);
  t.match(next.events, ['200', 'end']);
});

t.test('what is passed waits for no other request, and no other for it', async (t) => {
  const { cache } = setUp();
  const policy = { level: 'aggressive', browserTtlS: 0, developmentMode: false, compresses: false } as const;
  const request: CacheRequest = {
    ...{
      zone: 1,
      account: 1,
      scheme: 'http',
      host: 'a.test',
      authority: 'a.test',
      method: 'GET',
      fields: {},
      hasBody: false,
      coding: undefined,
    },
    ...{ target: '/page', policy },
  };
  const pass = (more: Partial<CacheRequest>) => {
    const found = cache.look({ ...request, ...more });
    return found && 'key' in found ? cache.pass(found as Lookup) !== undefined : false;
  };
  t.ok(pass({}));
  t.notOk(pass({ target: '/a.css' }), 'a static file');
  t.notOk(pass({ method: 'HEAD' }), 'HEAD');
  t.notOk(pass({ fields: { range: 'bytes=0-' } }), 'a range that covers everything is asked for as a whole');
  t.ok(pass({ fields: { range: 'bytes=1-2' } }));
  const answer = await cache.serve(request, () => ({
    response: Promise.resolve({
      ...{ status: 200, fields: { 'cache-control': 'public, max-age=60' }, body: undefined, showsItsEnd: true },
    }),
    stop() {},
  }));
  t.equal(answer.result, 'MISS');
  t.notOk(pass({ fields: { 'x-host': 'b' } }), 'another response for this URL is stored');
});
