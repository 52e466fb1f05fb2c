/** The cache in front of an origin that the test plays: what is asked of it, what clients get, and what stays stored. */
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import type { Answer } from '../../../src/edge/cache/answer.js';
import { createEdgeCache } from '../../../src/edge/cache/cache.js';
import type { CacheRequest, Forward } from '../../../src/edge/cache/cache-state.js';
import { type OriginResponse, OriginSilent } from '../../../src/edge/cache/origin-response.js';
import { createCompression } from '../../../src/edge/compress/compression.js';
import { createPurgedItems } from '../../../src/edge/purge/purged.js';
import type { HeaderFields } from '../../../src/http/fields.js';
import { TestClock } from '../../support/test-clock.js';

interface Got {
  readonly status: number;
  readonly text: string;
  readonly result: string;
  readonly fields: Answer['fields'];
}

/** What the origin answers; the body may be a stream of the test's own. */
type Origin = (fields: HeaderFields) => OriginAnswer | Promise<OriginAnswer>;

interface OriginAnswer {
  readonly status: number;
  readonly fields: HeaderFields;
  readonly body?: Readable | string;
}

const fresh = { 'cache-control': 'max-age=60' };

function setUp(limits: { maxOctets?: number; maxObjectOctets?: number } = {}) {
  const clock = new TestClock();
  const purged = createPurgedItems();
  const cache = createEdgeCache({
    clock,
    purged,
    compression: createCompression(clock),
    maxOctets: 1 << 20,
    maxObjectOctets: 1 << 18,
    ...limits,
  });
  /** Request fields the origin has seen. */
  const asked: HeaderFields[] = [];
  let origin: Origin = () => ({ status: 200, fields: fresh, body: 'hello' });
  const ask = async (fields: HeaderFields): Promise<OriginResponse> => {
    asked.push(fields);
    const { status, fields: answered, body: given } = await origin(fields);
    const length = typeof given === 'string' ? { 'content-length': `${given.length}` } : {};
    const whole: HeaderFields = { ...length, ...answered };
    const showsItsEnd = whole['content-length'] !== undefined || whole['transfer-encoding'] !== undefined;
    const body = typeof given === 'string' ? Readable.from([Buffer.from(given)]) : given;
    const opened = body && { open: () => body, discard: () => void body.on('error', () => {}).destroy() };
    return { status, fields: whole, body: opened, showsItsEnd };
  };
  let stopped = 0;
  const forward: Forward = (fields) => {
    const { promise, resolve, reject } = Promise.withResolvers<OriginResponse>();
    ask(fields).then(resolve, reject);
    const stop = (): void => {
      stopped++;
      reject(new Error('stopped'));
    };
    return { response: promise, stop };
  };
  const serve = async (target = '/a', more: Partial<CacheRequest> = {}): Promise<Answer> =>
    cache.serve(
      {
        ...{ zone: 1, account: 1 },
        scheme: 'https',
        host: 'www.example.com',
        authority: 'www.example.com',
        target,
        method: 'GET',
        fields: {},
        hasBody: false,
        coding: undefined,
        policy: { level: 'cache_everything', browserTtlS: 0, developmentMode: false, compresses: false },
        ...more,
      },
      forward,
    );
  /** A request of its own client, which may leave. */
  const begin = (target: string) => {
    const own: Forward = (fields) => forward(fields);
    const policy = { level: 'cache_everything', browserTtlS: 0, developmentMode: false, compresses: false } as const;
    const request = {
      zone: 1,
      account: 1,
      scheme: 'https',
      host: 'www.example.com',
      authority: 'www.example.com',
      target,
      method: 'GET',
      fields: {},
    } as const;
    const answer = Promise.resolve(cache.serve({ ...request, hasBody: false, coding: undefined, policy }, own));
    answer.catch(() => {});
    return { forward: own, answer };
  };
  const get = async (target?: string, more?: Partial<CacheRequest>): Promise<Got> => read(await serve(target, more));
  return {
    clock,
    purged,
    cache,
    asked,
    serve,
    begin,
    get stopped() {
      return stopped;
    },
    get,
    /** Result of each of some requests in turn. */
    results: async (...targets: string[]) => {
      const list: string[] = [];
      for (const target of targets) list.push((await get(target)).result);
      return list;
    },
    set origin(next: Origin) {
      origin = next;
    },
  };
}

async function read({ status, fields, body, result }: Answer): Promise<Got> {
  const opened = body && 'open' in body ? body.open() : body;
  const content = opened instanceof Readable ? await text(opened) : Buffer.from(opened ?? []).toString();
  // What is stored is stored when the body has ended.
  await turn();
  return { status, text: content, result, fields };
}

t.test('the second request is answered from the cache, with its age', async (t) => {
  const room = setUp();
  t.match(await room.get(), { status: 200, text: 'hello', result: 'MISS' });
  room.clock.advance(5500);
  const hit = await room.get();
  t.match(hit, { status: 200, text: 'hello', result: 'HIT' });
  t.match(hit.fields, {
    age: '5',
    'content-length': '5',
    'cf-cache-status': 'HIT',
    'cache-status': 'Zoneplane; hit; ttl=54',
    date: 'Thu, 01 Jan 2026 00:00:00 GMT',
  });
  t.equal(room.asked.length, 1);
  t.match(await room.get('/a', { method: 'HEAD' }), {
    status: 200,
    text: '',
    result: 'HIT',
    fields: { 'content-length': '5' },
  });
  t.same(
    await room.results('/b', '/a?', '/a?x', '/a?x'),
    ['MISS', 'MISS', 'MISS', 'HIT'],
    'the query tells them apart',
  );
  for (const other of [{ zone: 2 }, { scheme: 'http' as const }, { host: 'example.com' }]) {
    t.match(await room.get('/a', other), { result: 'MISS' });
  }
});

t.test('nothing that is for one user reaches another', async (t) => {
  const room = setUp();
  const answers: [HeaderFields, HeaderFields?][] = [
    [{ 'cache-control': 'private, max-age=60' }],
    [{ ...fresh, 'set-cookie': 'session=1' }],
    [fresh, { authorization: 'Bearer x' }],
    [{ 'cache-control': 'no-store' }],
    [{ ...fresh, vary: '*' }],
  ];
  for (const [i, [fields, request = {}]] of answers.entries()) {
    let count = 0;
    room.origin = () => ({ status: 200, fields, body: `secret ${++count}` });
    t.match(await room.get(`/${i}`, { fields: request }), { text: 'secret 1', result: 'BYPASS' });
    t.match(await room.get(`/${i}`), { text: 'secret 2' }, JSON.stringify(fields));
  }
  room.origin = () => ({
    status: 200,
    fields: { 'cache-control': 'max-age=60, private="Set-Cookie"', 'set-cookie': 'a=1' },
    body: 'all',
  });
  t.match(await room.get('/part'), { fields: { 'set-cookie': 'a=1' }, result: 'MISS' }, 'who asked gets the cookie');
  t.match(
    await room.get('/part'),
    { fields: { 'set-cookie': undefined }, text: 'all', result: 'HIT' },
    'others do not',
  );
});

t.test('a request cannot put its own response into the cache for others', async (t) => {
  const room = setUp();
  for (const name of [
    'x-forwarded-host',
    'x-forwarded-port',
    'x-forwarded-prefix',
    'x-host',
    'x-original-url',
    'x-http-method-override',
    'origin',
    'forwarded',
  ]) {
    room.origin = (fields) => ({ status: 200, fields: fresh, body: `for ${String(fields[name])}` });
    t.match(await room.get(`/${name}`, { fields: { [name]: 'evil' } }), { text: 'for evil', result: 'MISS' });
    t.match(await room.get(`/${name}`), { text: 'for undefined', result: 'MISS' }, name);
    t.match(await room.get(`/${name}`, { fields: { [name]: 'evil' } }), { result: 'HIT' });
  }
  for (const authority of ['www.example.com:1234', 'www.example.com.']) {
    room.origin = () => ({ status: 301, fields: { ...fresh, location: `http://${authority}/dir/` }, body: '' });
    t.match(await room.get(authority, { authority }), { status: 301, result: 'MISS' });
    t.match(await room.get(authority, { authority }), { status: 301, result: 'HIT' });
    room.origin = () => ({ status: 200, fields: fresh, body: 'page' });
    t.match(await room.get(authority), { status: 200, result: 'MISS' }, authority);
  }
  t.match(await room.get('/fat', { hasBody: true }), { result: 'BYPASS' });
  t.match(await room.get('/fat'), { result: 'MISS' });
});

t.test('variants by Vary', async (t) => {
  const room = setUp();
  room.origin = (fields) => ({
    status: 200,
    fields: { ...fresh, vary: 'Accept-Encoding' },
    body: String(fields['accept-encoding']),
  });
  const as = (encoding: string) => room.get('/a', { fields: { 'accept-encoding': encoding } });
  t.match(await as('br'), { text: 'br', result: 'MISS' });
  t.match(await as('gzip'), { text: 'gzip', result: 'MISS' });
  t.match(await as('br'), { text: 'br', result: 'HIT' });
  t.match(await as('gzip'), { text: 'gzip', result: 'HIT' });
});

t.test('many that ask at once ask the origin once', async (t) => {
  const room = setUp();
  const body = new Readable({ read() {} });
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  room.origin = async () => {
    await held;
    return { status: 200, fields: { ...fresh, 'content-length': '6' }, body };
  };
  const waiting = Array.from({ length: 10 }, () => room.serve());
  release();
  const answers = await Promise.all(waiting);
  t.equal(room.asked.length, 1);
  const late = await room.serve();
  body.push('abc');
  const texts = [...answers, late].map((answer) => read(answer));
  await turn();
  body.push('def');
  body.push(null);
  for (const one of await Promise.all(texts)) t.equal(one.text, 'abcdef');
  t.match(late.fields['cache-status'], /fwd=uri-miss; collapsed/);
  t.equal(room.asked.length, 1);
  t.match(await room.get(), { result: 'HIT', text: 'abcdef' });
});

t.test('when a response is not for others, each asks itself; and nobody waits the next time', async (t) => {
  const room = setUp();
  let count = 0;
  room.origin = () => ({ status: 200, fields: { 'cache-control': 'private' }, body: `user ${++count}` });
  const texts = await Promise.all([room.get(), room.get(), room.get()]);
  t.same(texts.map((one) => one.text).sort(), ['user 1', 'user 2', 'user 3']);
  const first = room.serve();
  const second = room.serve();
  t.equal(room.asked.length, 5, 'both are on their way');
  await Promise.all([first.then(read), second.then(read)]);
});

t.test('a waiter with other selecting fields asks itself', async (t) => {
  const room = setUp();
  room.origin = (fields) => ({ status: 200, fields: { ...fresh, vary: 'a' }, body: String(fields['a']) });
  const [one, two] = await Promise.all([
    room.get('/a', { fields: { a: '1' } }),
    room.get('/a', { fields: { a: '2' } }),
  ]);
  t.same([one!.text, two!.text], ['1', '2']);
});

t.test('a body that does not come whole is not stored, and its readers see it fail', async (t) => {
  const room = setUp();
  const cut = (fields: HeaderFields, end: (body: Readable) => void) => {
    const body = new Readable({ read() {} });
    room.origin = () => ({ status: 200, fields: { ...fresh, ...fields }, body });
    body.push('abc');
    return () => end(body);
  };
  const short = cut({ 'content-length': '6' }, (body) => body.push(null));
  const first = await room.serve('/short');
  const waiter = await room.serve('/short');
  const failing = [t.rejects(read(first), /3 octets came instead of 6/), t.rejects(read(waiter))];
  short();
  await Promise.all(failing);
  const long = cut({ 'content-length': '2' }, (body) => body.push(null));
  const reading = t.rejects(room.get('/long'));
  long();
  await reading;
  const broken = cut({ 'transfer-encoding': 'chunked' }, (body) => body.destroy(new Error('reset')));
  const third = t.rejects(room.get('/broken'), /reset/);
  await turn();
  broken();
  await third;
  room.origin = () => ({
    status: 200,
    fields: fresh,
    body: Readable.from([Buffer.from('until the end of the connection')]),
  });
  t.match(await room.get('/unknown'), { status: 200, text: 'until the end of the connection' });
  room.origin = () => ({ status: 200, fields: fresh, body: 'whole' });
  t.same(await room.results('/short', '/long', '/broken', '/unknown'), ['MISS', 'MISS', 'MISS', 'MISS']);
  t.equal(room.cache.count(), 4);
});

t.test('a fill goes on as long as anybody reads it', async (t) => {
  const room = setUp();
  const body = new Readable({ read() {} });
  room.origin = () => ({ status: 200, fields: { ...fresh, 'content-length': '6' }, body });
  const [first, second] = [await room.serve(), await room.serve()];
  body.push('abc');
  (first.body as Readable).destroy();
  await turn();
  t.notOk(body.destroyed);
  (second.body as Readable).on('error', () => {}).destroy();
  await turn();
  t.ok(body.destroyed, 'nobody is left');
  t.equal(room.cache.count(), 0);
});

t.test('the origin is asked as long as any client waits for its response', async (t) => {
  const room = setUp();
  const { promise, resolve } = Promise.withResolvers<OriginAnswer>();
  room.origin = () => promise;
  const [first, second, third] = [room.begin('/slow'), room.begin('/slow'), room.begin('/slow')];
  await turn();
  t.equal(room.asked.length, 1, 'one request for all');
  t.ok(room.cache.leave(first.forward));
  t.ok(room.cache.leave(third.forward));
  t.equal(room.stopped, 0);
  t.notOk(room.cache.leave(first.forward), 'a client leaves once');
  resolve({ status: 200, fields: fresh, body: 'late' });
  t.match(await read(await second.answer), { status: 200, text: 'late' }, 'for the client that stayed');
  t.notOk(room.cache.leave(second.forward), 'it has its answer');
  t.match(await room.results('/slow'), ['HIT']);

  room.origin = () => new Promise(() => {});
  const [only, other] = [room.begin('/never'), room.begin('/never')];
  await turn();
  for (const { forward } of [only, other]) t.ok(room.cache.leave(forward));
  t.equal(room.stopped, 1, 'the last one ends the request');
  await t.rejects(only.answer, /stopped/);
  room.origin = () => ({ status: 200, fields: fresh, body: 'again' });
  t.match(await room.get('/never'), { text: 'again' }, 'nothing is left of it');
});

t.test('a body that is too large is passed on at the pace of its reader', async (t) => {
  const room = setUp({ maxObjectOctets: 100_000, maxOctets: 1 << 20 });
  let sent = 0;
  const chunk = Buffer.alloc(50_000, 'x');
  const body = new Readable({
    read() {
      sent += chunk.length;
      this.push(sent > 20_000_000 ? null : chunk);
    },
  });
  room.origin = () => ({ status: 200, fields: { ...fresh, 'transfer-encoding': 'chunked' }, body });
  const answer = await room.serve('/large');
  for (let i = 0; i < 200; i++) await turn();
  t.ok(sent < 3_000_000, `${sent} octets were read before the client took any`);
  t.equal((await read(answer)).text.length, 20_000_000);
  t.equal(room.cache.count(), 0);
  const inParts = (): Readable => Readable.from([Buffer.alloc(60_000), Buffer.alloc(60_000)]);
  room.origin = () => ({ status: 200, fields: { ...fresh, 'transfer-encoding': 'chunked' }, body: inParts() });
  t.same(await room.results('/parts', '/parts'), ['MISS', 'MISS'], 'large without saying so');
  room.origin = () => ({ status: 200, fields: fresh, body: 'y'.repeat(100_001) });
  t.same(await room.results('/said', '/said'), ['MISS', 'MISS']);
});

t.test('bodies on their way take no more memory together than what is stored', async (t) => {
  const room = setUp({ maxObjectOctets: 100_000, maxOctets: 150_000 });
  const bodies = [new Readable({ read() {} }), new Readable({ read() {} })];
  const running: Promise<Got>[] = [];
  for (const [i, body] of bodies.entries()) {
    room.origin = () => ({ status: 200, fields: { ...fresh, 'transfer-encoding': 'chunked' }, body });
    running.push(read(await room.serve(`/${i}`)));
    body.push(Buffer.alloc(90_000));
    await turn();
  }
  for (const body of bodies) body.push(null);
  for (const { text: content } of await Promise.all(running)) t.equal(content.length, 90_000);
  room.origin = () => ({ status: 200, fields: fresh, body: 'x' });
  t.same(await room.results('/0', '/1'), ['HIT', 'MISS']);
});

t.test('what is least recently used goes first', async (t) => {
  const room = setUp({ maxOctets: 300_000, maxObjectOctets: 200_000 });
  room.origin = () => ({ status: 200, fields: fresh, body: 'x'.repeat(90_000) });
  await room.results('/a', '/b', '/c');
  t.same(await room.results('/a', '/d'), ['HIT', 'MISS']);
  t.ok(room.cache.octets() <= 300_000);
  t.same(await room.results('/a', '/c', '/b'), ['HIT', 'HIT', 'MISS']);
});

t.test('an account keeps its share, however much others store', async (t) => {
  const room = setUp({ maxOctets: 1_000_000, maxObjectOctets: 200_000 });
  room.origin = () => ({ status: 200, fields: fresh, body: 'x'.repeat(40_000) });
  const a = { account: 1, zone: 1 };
  const b = { account: 2, zone: 2 };
  const paths = (count: number): string[] => Array.from({ length: count }, (_, i) => `/${i}`);
  for (const path of paths(8)) await room.get(path, a);
  for (const path of paths(120)) await room.get(path, b);
  for (const path of paths(8)) t.equal((await room.get(path, a)).result, 'HIT', `${path} of the other account`);
  for (const path of paths(60)) await room.get(path, a);
  t.equal((await room.get('/119', b)).result, 'HIT', 'nor does the second one lose more than its share');
  const kept = await Promise.all(
    paths(120).map(async (path) => (await room.get(path, { ...b, method: 'HEAD' })).result),
  );
  t.ok(kept.filter((result) => result === 'HIT').length >= 11, 'which is about half');
  t.ok(room.cache.octets() <= 1_000_000);
});

t.test('a clock that is set makes stored responses neither older nor younger', async (t) => {
  const room = setUp();
  await room.get('/a');
  room.clock.putBack(86_400_000);
  t.match(await room.get('/a'), { result: 'HIT', fields: { age: '0' } }, 'it is put back by a day');
  room.clock.advance(61_000);
  t.match(await room.get('/a'), { result: 'EXPIRED' }, 'a minute has passed');
  room.clock.putBack(-86_400_000);
  t.match(await room.get('/a'), { result: 'HIT', fields: { age: '0' } }, 'it is put forward again');
});

t.test('bodies on their way of one account leave room for those of others', async (t) => {
  const room = setUp({ maxOctets: 300_000, maxObjectOctets: 200_000 });
  const bodies: Readable[] = [];
  room.origin = () => {
    const body = new Readable({ read() {} });
    bodies.push(body);
    return { status: 200, fields: { ...fresh, 'content-length': '100000' }, body };
  };
  const open = async (path: string, account: number): Promise<void> => {
    void read(await room.serve(path, { account, zone: account })).catch(() => {});
  };
  for (let i = 0; i < 4; i++) {
    await open(`/b${i}`, 2);
    bodies[i]!.push(Buffer.alloc(90_000));
    await turn();
  }
  await open('/a', 1);
  bodies[4]!.push(Buffer.alloc(100_000));
  for (const body of bodies) body.push(null);
  await turn();
  await turn();
  t.equal((await room.get('/a', { account: 1, zone: 1 })).result, 'HIT');
});

t.test('who waits for what another has asked for does not wait for long', async (t) => {
  const room = setUp();
  const answers: ((answer: OriginAnswer) => void)[] = [];
  room.origin = () => new Promise((resolve) => answers.push(resolve));
  const first = room.begin('/slow');
  const second = room.get('/slow');
  await turn();
  t.equal(room.asked.length, 1);
  room.clock.advance(4999);
  await turn();
  t.equal(room.asked.length, 1);
  room.clock.advance(1);
  await turn();
  t.equal(room.asked.length, 2, 'it asks for itself');
  answers[1]!({ status: 200, fields: fresh, body: 'second' });
  t.match(await second, { text: 'second', result: 'MISS' });
  room.clock.advance(120_000);
  const [third, fourth] = [room.get('/slow'), room.get('/slow')];
  await turn();
  t.equal(room.asked.length, 3, 'a request that comes later does not wait for it at all, but others wait for that one');
  answers[2]!({ status: 200, fields: fresh, body: 'third' });
  t.match([(await third).text, (await fourth).text], ['third', 'third']);
  answers[0]!({ status: 200, fields: fresh, body: 'first' });
  t.match(await read(await first.answer), { text: 'first' }, 'who asked first still gets its answer');
  t.equal(room.stopped, 0);
});

t.test('nobody joins a body that stands still', async (t) => {
  const room = setUp();
  const body = new Readable({ read() {} });
  room.origin = () => ({ status: 200, fields: { ...fresh, 'content-length': '10' }, body });
  const first = await room.serve('/still');
  body.push('12345');
  for (let i = 0; i < 5; i++) await turn();
  room.clock.advance(5001);
  room.origin = () => ({ status: 200, fields: fresh, body: 'whole' });
  t.match(await room.get('/still'), { text: 'whole', result: 'MISS' });
  body.push('67890');
  body.push(null);
  t.match(await read(first), { text: '1234567890' });
});

t.test('validation: a 304 refreshes what is stored, anything else replaces it', async (t) => {
  const room = setUp();
  const stored = { ...fresh, etag: '"1"', 'last-modified': 'Mon, 01 Dec 2025 00:00:00 GMT', a: '1', b: '1' };
  room.origin = () => ({ status: 200, fields: stored, body: 'one' });
  await room.get();
  room.clock.advance(61_000);
  room.origin = () => ({ status: 304, fields: { 'cache-control': 'max-age=100', b: '2', 'content-length': '99' } });
  const again = await room.get('/a', { fields: { 'if-none-match': '"other"', accept: 'x' } });
  t.match(again, {
    status: 200,
    text: 'one',
    result: 'REVALIDATED',
    fields: { a: '1', b: '2', 'content-length': '3' },
  });
  t.same(room.asked[1], {
    accept: 'x',
    'if-none-match': '"1"',
    'if-modified-since': 'Mon, 01 Dec 2025 00:00:00 GMT',
  });
  room.clock.advance(99_000);
  t.match(await room.get(), { result: 'HIT', fields: { age: '99', b: '2' } });
  room.clock.advance(2000);
  room.origin = () => ({ status: 200, fields: fresh, body: 'two' });
  t.match(await room.get(), { text: 'two', result: 'EXPIRED' });
  t.match(await room.get(), { text: 'two', result: 'HIT' });
  room.clock.advance(61_000);
  room.origin = () => ({ status: 200, fields: { 'cache-control': 'private' }, body: 'mine' });
  await room.get();
  t.equal(room.cache.count(), 0, 'what the origin no longer answers with is gone');
});

t.test('stale-while-revalidate answers at once and validates once behind', async (t) => {
  const room = setUp();
  room.origin = () => ({
    status: 200,
    fields: { 'cache-control': 'max-age=60, stale-while-revalidate=30', etag: '"1"' },
    body: 'old',
  });
  await room.get();
  room.clock.advance(70_000);
  room.origin = () => ({ status: 200, fields: fresh, body: 'new' });
  const all = await Promise.all([room.get(), room.get(), room.get()]);
  for (const one of all) t.match(one, { text: 'old', result: 'UPDATING', fields: { age: '70' } });
  await turn();
  t.equal(room.asked.length, 2);
  t.match(await room.get(), { text: 'new', result: 'HIT' });
});

t.test('an origin that fails', async (t) => {
  const room = setUp();
  const answers = {
    '/sie': 'max-age=60, stale-if-error=30',
    '/plain': 'max-age=60',
    '/must': 'max-age=60, must-revalidate',
  };
  for (const [target, value] of Object.entries(answers)) {
    room.origin = () => ({ status: 200, fields: { 'cache-control': value }, body: 'old' });
    await room.get(target);
  }
  room.clock.advance(70_000);
  room.origin = () => ({ status: 503, fields: {}, body: 'busy' });
  t.match(await room.get('/sie'), { status: 200, text: 'old', result: 'STALE' });
  t.match(await room.get('/plain'), { status: 503, text: 'busy' });
  room.origin = () => Promise.reject(new OriginSilent('refused'));
  t.match(await room.get('/sie'), { text: 'old', result: 'STALE' });
  t.match(await room.get('/plain'), { text: 'old', result: 'STALE' }, 'the origin cannot be reached at all');
  await t.rejects(room.get('/must'), /refused/);
  await t.rejects(room.get('/unknown'), /refused/);
  room.origin = () => Promise.reject(new Error('no such host'));
  await t.rejects(room.get('/plain'), /no such host/, 'an error that is not silence');
  room.origin = () => Promise.reject(new OriginSilent('refused'));
  room.clock.advance(3_600_000);
  await t.rejects(room.get('/plain'), /refused/, 'an hour at most');
  room.origin = () => ({ status: 200, fields: fresh, body: 'back' });
  t.match(await room.get('/plain'), { text: 'back' });
});

t.test('conditions and ranges', async (t) => {
  const room = setUp();
  room.origin = () => ({ status: 200, fields: { ...fresh, etag: 'W/"1"' }, body: '0123456789' });
  const asking = (fields: HeaderFields, target = '/a') => room.get(target, { fields });
  t.match(await asking({ range: 'bytes=0-' }), {
    status: 206,
    text: '0123456789',
    fields: { 'content-range': 'bytes 0-9/10' },
  });
  t.equal(room.asked[0]!['range'], undefined, 'the whole is fetched for the whole');
  t.match(await asking({ range: 'bytes=2-4' }), {
    status: 206,
    text: '234',
    result: 'HIT',
    fields: { 'content-range': 'bytes 2-4/10', 'content-length': '3' },
  });
  t.match(await asking({ range: 'bytes=20-' }), { status: 416, text: '', fields: { 'content-range': 'bytes */10' } });
  t.match(await asking({ range: 'bytes=0-1,4-5' }), { status: 200, text: '0123456789' });
  t.match(await asking({ range: 'bytes=0-1', 'if-range': 'W/"1"' }), { status: 200 }, 'a weak tag does not do');
  t.match(await asking({ 'if-none-match': '"0", W/"1"' }), {
    status: 304,
    text: '',
    fields: { etag: 'W/"1"', age: '0' },
  });
  t.match(await asking({ 'if-none-match': '"2"', 'if-modified-since': 'Fri, 01 Jan 2027 00:00:00 GMT' }), {
    status: 200,
  });
  t.equal(room.asked.length, 1);
  room.origin = () => ({ status: 206, fields: { ...fresh, 'content-range': 'bytes 5-6/10' }, body: '56' });
  t.match(await asking({ range: 'bytes=5-6' }, '/b'), { status: 206, text: '56', result: 'MISS' });
  t.equal(room.asked[1]!['range'], 'bytes=5-6', 'a part of what is not here is asked for as it is');
  room.origin = () => ({ status: 304, fields: {} });
  t.match(await asking({ 'if-none-match': '"x"' }, '/c'), { status: 304 }, 'and so are conditions');
  t.equal(room.cache.count(), 1);
  room.origin = () => ({ status: 200, fields: { ...fresh, 'content-length': '0' }, body: '' });
  for (const result of ['MISS', 'HIT']) {
    const fields = { 'content-range': 'bytes */0' };
    t.match(await asking({ range: 'bytes=0-' }, '/empty'), { status: 416, result, fields }, 'nothing has no part');
  }
});

t.test('unsafe methods take away what is stored, also what is on its way', async (t) => {
  const room = setUp();
  await room.results('/a', '/b', '/c');
  room.origin = () => ({ status: 500, fields: {}, body: 'no' });
  await room.get('/a', { method: 'POST' });
  t.same(await room.results('/a'), ['HIT'], 'one that failed changes nothing');
  room.origin = () => ({
    status: 201,
    fields: { location: 'https://www.example.com/b', 'content-location': 'https://other.test/c' },
    body: 'yes',
  });
  t.match(await room.get('/a', { method: 'POST' }), { result: 'DYNAMIC' });
  room.origin = () => ({ status: 200, fields: fresh, body: 'x' });
  t.same(await room.results('/a', '/b', '/c'), ['MISS', 'MISS', 'HIT']);
  const body = new Readable({ read() {} });
  room.origin = () => ({ status: 200, fields: { ...fresh, 'content-length': '3' }, body });
  const running = await room.serve('/d');
  room.origin = () => ({ status: 204, fields: {} });
  await room.get('/d', { method: 'DELETE' });
  body.push('old');
  body.push(null);
  t.match(await read(running), { text: 'old' });
  room.origin = () => ({ status: 200, fields: fresh, body: 'new' });
  t.match(await room.get('/d'), { text: 'new', result: 'MISS' });
});

t.test('HEAD freshens what is stored, or shows that it is no longer true', async (t) => {
  const room = setUp();
  const stored = { ...fresh, etag: '"1"' };
  room.origin = () => ({ status: 200, fields: stored, body: 'hello' });
  await room.get();
  room.clock.advance(61_000);
  room.origin = () => ({ status: 200, fields: { ...stored, 'content-length': '5' } });
  t.match(await room.get('/a', { method: 'HEAD' }), { result: 'EXPIRED', fields: { 'content-length': '5' } });
  t.match(await room.get(), { result: 'HIT', text: 'hello' });
  room.clock.advance(61_000);
  room.origin = () => ({ status: 200, fields: { ...stored, etag: '"2"' } });
  await room.get('/a', { method: 'HEAD' });
  t.equal(room.cache.count(), 0);
});

t.test('purges', async (t) => {
  const room = setUp();
  room.origin = () => ({ status: 200, fields: { ...fresh, 'cache-tag': 'Red, blue' }, body: 'old' });
  let seq = 0;
  const purge = (kind: 'hosts' | 'tags' | 'purge_everything', ...items: string[]) =>
    room.purged.apply({ seq: ++seq, zone: 1, kind, items });
  t.match(await room.get(), { fields: { 'cache-tag': undefined } });
  purge('hosts', 'other.example.com');
  t.same(await room.results('/a'), ['HIT']);
  purge('tags', 'red');
  t.same(await room.results('/a', '/a'), ['MISS', 'HIT']);
  purge('hosts', 'www.example.com');
  t.same(await room.results('/a', '/a'), ['MISS', 'HIT']);
  purge('purge_everything');
  await room.cache.sweepPurged(undefined);
  t.equal(room.cache.count(), 0);
});

t.test('a purge is right against a fill in flight', async (t) => {
  const room = setUp();
  const slow = (content: string) => {
    const body = new Readable({ read() {} });
    room.origin = () => ({ status: 200, fields: { ...fresh, 'cache-tag': 'red', 'content-length': '3' }, body });
    return () => {
      body.push(content);
      body.push(null);
    };
  };
  const finishOld = slow('old');
  const before = await room.serve();
  room.purged.apply({ seq: 1, zone: 1, kind: 'tags', items: ['red'] });
  const finishNew = slow('new');
  const after = await room.serve();
  t.equal(room.asked.length, 2, 'who asks after the purge does not wait for the response of before');
  finishNew();
  t.match(await read(after), { text: 'new' });
  finishOld();
  t.match(await read(before), { text: 'old' });
  t.match(await room.get(), { text: 'new', result: 'HIT' });
  let answerOld = (): void => {};
  room.origin = () =>
    new Promise<OriginAnswer>((resolve) => {
      answerOld = () => resolve({ status: 200, fields: fresh });
    });
  const silent = room.serve('/c');
  room.purged.apply({ seq: 2, zone: 1, kind: 'hosts', items: ['www.example.com'] });
  room.origin = () => ({ status: 200, fields: fresh, body: 'new' });
  t.match(await room.get('/c'), { text: 'new' }, 'nor for one that has not begun');
  answerOld();
  await silent;
  const other = slow('old');
  const running = await room.serve('/b');
  room.purged.apply({ seq: 3, zone: 1, kind: 'hosts', items: ['www.example.com'] });
  other();
  await read(running);
  slow('new')();
  t.match(await room.get('/b'), { text: 'new', result: 'MISS' });
});

t.test('settings of the zone', async (t) => {
  const room = setUp();
  const policy = { level: 'aggressive', browserTtlS: 0, developmentMode: false, compresses: false } as const;
  const as = (target: string, more: object = {}) => room.get(target, { policy: { ...policy, ...more } });
  t.match([await as('/p'), await as('/p')], [{ result: 'DYNAMIC' }, { result: 'DYNAMIC' }]);
  t.match([await as('/p.css'), await as('/p.css')], [{ result: 'MISS' }, { result: 'HIT' }]);
  t.match(await as('/p.css', { developmentMode: true }), { result: 'BYPASS' });
  t.match(await as('/p.css', { level: 'bypass' }), { result: 'BYPASS' });
  t.match(
    [await as('/q.css?1', { level: 'simplified' }), await as('/q.css?2', { level: 'simplified' })],
    [{ result: 'MISS' }, { result: 'HIT' }],
  );
  const browser = await as('/p.css', { browserTtlS: 14_400 });
  t.match(browser, { result: 'HIT', fields: { 'cache-control': 'max-age=14400' } });
  t.match(await as('/p.css', { browserTtlS: 30 }), { fields: { 'cache-control': 'max-age=60' } }, 'never shorter');
  room.origin = () => ({
    status: 200,
    fields: { 'cache-control': 'public, max-age=5, s-maxage=60', expires: 'Thu, 01 Jan 2026 00:00:05 GMT' },
    body: 'x',
  });
  t.match(await as('/p', { browserTtlS: 30 }), {
    result: 'MISS',
    fields: { 'cache-control': 'public, s-maxage=60, max-age=30', expires: 'Thu, 01 Jan 2026 00:00:30 GMT' },
  });
});

t.test('each zone, scheme, host and target has responses of its own, asked for in turn', async (t) => {
  const { get, asked } = setUp();
  const others: Partial<CacheRequest>[] = [
    { host: 'other.example.com', authority: 'other.example.com' },
    { scheme: 'http' },
    { zone: 2 },
    { target: '/b' },
  ];
  for (const other of others) {
    t.equal((await get()).result, other === others[0] ? 'MISS' : 'HIT');
    t.equal((await get('/a', other)).result, 'MISS', JSON.stringify(other));
  }
  t.equal(asked.length, 1 + others.length);
});
