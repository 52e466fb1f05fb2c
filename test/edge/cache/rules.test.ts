/** The rules of RFC 9111 as tables: directives, age, freshness, what is stored, Vary, policies, status fields. */
import t from 'tap';
import { addCacheStatus, type CacheNotes, printCacheStatus } from '../../../src/edge/cache/cache-status.js';
import { directivesOf, readCacheControl } from '../../../src/edge/cache/directives.js';
import { explicitLifetime, heuristicLifetime, initialAge } from '../../../src/edge/cache/freshness.js';
import { bypasses, type CachePolicy, eligibilityOf, keyTarget } from '../../../src/edge/cache/policy.js';
import { judgeStoring } from '../../../src/edge/cache/storing.js';
import { alwaysSelecting, selectingFields, selects } from '../../../src/edge/cache/vary.js';
import { printHttpDate } from '../../../src/http/date.js';
import type { HeaderFields } from '../../../src/http/fields.js';

const NOW_MS = Date.UTC(2026, 10, 22, 12);
const exchange = { sentMs: 0, receivedMs: 0, receivedAtMs: NOW_MS };
/** A date some seconds from now. */
const date = (seconds: number): string => printHttpDate((NOW_MS + seconds * 1000) * 1000);

t.test('Cache-Control: names in any case, quoted arguments, the first of several, garbage is stale', async (t) => {
  t.match(readCacheControl('MaX-aGe=60, PUBLIC, foo="no-store, max-age=1"'), {
    maxAgeS: 60,
    public: true,
    noStore: false,
  });
  const rows: [string, number | undefined][] = [
    ['max-age=60', 60],
    ['max-age="60"', 60],
    ['max-age=0060', 60],
    ['max-age=1, max-age=60', 1],
    ['max-age=99999999999', 2 ** 31],
    ['max-age=-1', 0],
    ["max-age='60'", 0],
    ['max-age=60.5', 0],
    ['max-age=60s', 0],
    ['max-age= 60', 0],
    ['max-age', 0],
    ['no-transform', undefined],
  ];
  for (const [value, seconds] of rows) t.equal(readCacheControl(value).maxAgeS, seconds, value);
  t.match(readCacheControl('private="Set-Cookie, A", no-cache="b"'), {
    private: false,
    noCache: false,
    withheld: ['set-cookie', 'a', 'b'],
  });
  t.match(readCacheControl('private=x, no-cache=""'), { private: true, noCache: true });
});

t.test('fields for this cache alone count instead of Cache-Control (RFC 9213 §2.2)', async (t) => {
  const of = (cdn: string) => directivesOf({ 'cdn-cache-control': cdn, 'cache-control': 'no-store, max-age=5' });
  t.match(of('max-age=600'), { isTargeted: true, maxAgeS: 600, noStore: false });
  t.match(of('no-store=?0, private'), { isTargeted: true, noStore: false, private: true });
  for (const invalid of ['', 'max-age="600"', 'max-age=-1', 'max-age=1.5', 'max-age=600, &&&', 'MAX-AGE=600']) {
    t.match(of(invalid), { isTargeted: false, maxAgeS: 5, noStore: true }, invalid);
  }
  const both = { 'cloudflare-cdn-cache-control': 'max-age=1', 'cdn-cache-control': 'max-age=2' };
  t.equal(directivesOf(both).maxAgeS, 1);
});

t.test('age at reception (RFC 9111 §4.2.3)', async (t) => {
  const rows: [HeaderFields, number, number][] = [
    [{}, 0, 0],
    [{ age: '30' }, 0, 30],
    [{ age: '30' }, 2, 32],
    [{ age: '30, 0' }, 0, 30],
    [{ age: ['0', '30'] }, 0, 0],
    [{ age: '30;x' }, 0, 0],
    [{ age: '-30' }, 0, 0],
    [{ age: '30.0' }, 0, 0],
    [{ age: '99999999999' }, 0, 2 ** 31],
    [{ date: date(-100) }, 0, 100],
    [{ date: date(-100), age: '200' }, 0, 200],
    [{ date: date(100) }, 0, 0],
    [{ date: 'never' }, 0, 0],
  ];
  for (const [fields, delayS, age] of rows) {
    const times = { ...exchange, receivedMs: delayS * 1000 };
    t.equal(initialAge(fields, times), age, JSON.stringify(fields));
  }
});

t.test('lifetime (RFC 9111 §4.2.1 and §4.2.2)', async (t) => {
  const rows: [HeaderFields, number | undefined][] = [
    [{ 'cache-control': 'max-age=60' }, 60],
    [{ 'cache-control': 'max-age=60, s-maxage=5', expires: date(900) }, 5],
    [{ expires: date(900) }, 900],
    [{ expires: date(900), date: date(400) }, 500],
    [{ expires: date(300), date: date(400) }, 0],
    [{ expires: '0' }, 0],
    [{ expires: [date(900), date(901)] }, 0],
    [{ 'cdn-cache-control': 'no-cache', 'cache-control': 'max-age=60', expires: date(900) }, undefined],
    [{}, undefined],
  ];
  for (const [fields, lifetime] of rows) {
    t.equal(explicitLifetime(fields, directivesOf(fields), exchange), lifetime, JSON.stringify(fields));
  }
  t.equal(heuristicLifetime({ 'last-modified': date(-1000) }, exchange), 100);
  t.equal(heuristicLifetime({ 'last-modified': date(-1e9) }, exchange), 86_400, 'a day at most');
  t.equal(heuristicLifetime({ 'last-modified': date(1000) }, exchange), 0);
  t.equal(heuristicLifetime({ 'last-modified': 'once' }, exchange), undefined);
});

t.test('what is stored (RFC 9111 §3), with every file eligible', async (t) => {
  const fresh = 'max-age=60';
  const rows: [
    verdict: number | 'forbidden' | 'silent',
    fields: HeaderFields,
    status?: number,
    request?: HeaderFields,
  ][] = [
    [60, { 'cache-control': fresh }],
    [60, { 'cache-control': fresh }, 500],
    [60, { 'cache-control': fresh }, 599],
    ['silent', {}],
    ['silent', { 'cache-control': 'public' }],
    [8640, { 'last-modified': date(-86_400) }],
    ['silent', { 'last-modified': date(-86_400) }, 503],
    [8640, { 'last-modified': date(-86_400), 'cache-control': 'public' }, 599],
    [0, { 'cache-control': 'max-age=0', etag: '"a"' }],
    ['silent', { 'cache-control': 'max-age=0' }],
    [0, { 'cache-control': 'no-cache', etag: '"a"' }],
    [0, { 'cache-control': 'max-age=0, stale-while-revalidate=5' }],
    ['forbidden', { 'cache-control': 'no-store, max-age=60' }],
    ['forbidden', { 'cache-control': 'private, max-age=60' }],
    ['forbidden', { 'cache-control': fresh, vary: 'A, *' }],
    ['forbidden', { 'cache-control': fresh }, 206],
    ['forbidden', { 'cache-control': fresh }, 304],
    ['forbidden', { 'cache-control': fresh }, 416],
    ['forbidden', { 'cache-control': fresh }, 200, { 'cache-control': 'no-cache, No-Store' }],
    [60, { 'cache-control': fresh }, 200, { 'cache-control': 'no-storex, max-age=0' }],
    [60, { 'cache-control': 'max-age=60, no-store, must-understand' }],
    ['forbidden', { 'cache-control': 'max-age=60, no-store, must-understand' }, 599],
    ['forbidden', { 'cache-control': fresh, 'set-cookie': 'a=b' }],
    ['forbidden', { 'cache-control': 'public, s-maxage=60', 'set-cookie': ['a=b', 'c=d'] }],
    [60, { 'cache-control': 'max-age=60, private="set-cookie"', 'set-cookie': 'a=b' }],
    ['forbidden', { 'cache-control': fresh }, 200, { authorization: 'Basic x' }],
    [60, { 'cache-control': 'max-age=60, public' }, 200, { authorization: 'Basic x' }],
    [60, { 'cache-control': 's-maxage=60' }, 200, { authorization: 'Basic x' }],
    [60, { 'cache-control': 'max-age=60, must-revalidate' }, 200, { authorization: 'Basic x' }],
    ['forbidden', { 'cdn-cache-control': 'private', 'cache-control': fresh }],
    [60, { 'cdn-cache-control': 'max-age=60', 'cache-control': 'no-store' }],
  ];
  for (const [verdict, fields, status = 200, request = {}] of rows) {
    const decision = judgeStoring(request, { status, fields }, 'any', exchange);
    const got = decision.isStored ? decision.lifetimeS : decision.refusal;
    t.equal(got, verdict, JSON.stringify([status, fields, request]));
  }
});

t.test('what is stored by the eligibility of the request', async (t) => {
  const lifetime = (eligibility: 'static' | 'opt-in', fields: HeaderFields, status = 200): number | undefined => {
    const decision = judgeStoring({}, { status, fields }, eligibility, exchange);
    return decision.isStored ? decision.lifetimeS : undefined;
  };
  t.equal(lifetime('static', {}), 7200, 'static files have a lifetime of their own');
  t.equal(lifetime('static', { 'cache-control': 'max-age=5' }), 5);
  t.equal(lifetime('static', {}, 404), 180);
  t.equal(lifetime('static', {}, 500), undefined);
  const page = { 'content-type': 'Text/HTML; charset=utf-8' };
  t.equal(lifetime('static', page), undefined, 'a page under the name of a file');
  t.equal(lifetime('static', { ...page, 'cache-control': 'max-age=5' }), undefined);
  t.equal(lifetime('static', { ...page, 'cache-control': 'public, max-age=5' }), 5);
  t.equal(lifetime('static', page, 404), 180);
  t.equal(lifetime('opt-in', { 'cache-control': 'max-age=5' }), undefined);
  t.equal(lifetime('opt-in', { 'cache-control': 'public' }), undefined);
  t.equal(lifetime('opt-in', { 'last-modified': date(-86_400) }), undefined);
  for (const given of [
    { 'cache-control': 'public, max-age=5' },
    { 'cache-control': 's-maxage=5' },
    { 'cdn-cache-control': 'max-age=5' },
  ]) {
    t.equal(lifetime('opt-in', given), 5, JSON.stringify(given));
  }
});

t.test('which requests the cache has part in', async (t) => {
  const of = (
    target: string,
    more: Partial<CachePolicy> = {},
    method = 'GET',
    fields: HeaderFields = {},
    hasBody = false,
  ) => {
    const policy = { level: 'aggressive', browserTtlS: 0, developmentMode: false, compresses: false, ...more } as const;
    const asked = { method, target, fields, hasBody, policy };
    return bypasses(asked) ? 'bypass' : eligibilityOf(asked);
  };
  const rows: [string, ReturnType<typeof of>][] = [
    ['static', of('/a/b.css')],
    ['static', of('/b.JPG?x=.php')],
    ['static', of('/robots.txt')],
    ['opt-in', of('/')],
    ['opt-in', of('/a.html')],
    ['opt-in', of('/a.css/b')],
    ['opt-in', of('/a?b.css')],
    ['any', of('/', { level: 'cache_everything' })],
    ['bypass', of('/a.css', { level: 'bypass' })],
    ['bypass', of('/a.css', { developmentMode: true })],
    ['bypass', of('/a.css?v=1', { level: 'basic' })],
    ['static', of('/a.css', { level: 'basic' })],
    ['bypass', of('/a.css', {}, 'POST')],
    ['static', of('/a.css', {}, 'HEAD')],
    ['bypass', of('/a.css', {}, 'GET', {}, true)],
    ['bypass', of('/a.css', {}, 'GET', { 'if-match': '"a"' })],
    ['bypass', of('/a.css', {}, 'GET', { 'if-unmodified-since': date(0) })],
  ];
  for (const [expected, eligibility] of rows) t.equal(eligibility, expected);
  const target = { target: '/a.css?v=1' };
  const policy = { browserTtlS: 0, developmentMode: false, compresses: false };
  t.equal(keyTarget({ ...target, policy: { ...policy, level: 'simplified' } }), '/a.css');
  t.equal(keyTarget({ ...target, policy: { ...policy, level: 'aggressive' } }), '/a.css?v=1');
});

t.test('Vary (RFC 9111 §4.1)', async (t) => {
  const chosen = (vary: string | string[], first: HeaderFields, second: HeaderFields): boolean | undefined => {
    const selecting = selectingFields({ vary }, first);
    return selecting && selects(selecting, second);
  };
  t.equal(chosen('*', {}, {}), undefined);
  t.equal(chosen(['', '*'], {}, {}), undefined);
  t.equal(chosen('Foo', { foo: '1' }, { foo: '1', bar: '2' }), true);
  t.equal(chosen('Foo', { foo: '1' }, { foo: '2' }), false);
  t.equal(chosen('Foo', { foo: '1' }, {}), false);
  t.equal(chosen('Foo', {}, { foo: '1' }), false);
  t.equal(chosen('Foo, BAR', { foo: '1' }, { foo: '1' }), true);
  t.equal(chosen('Foo', { foo: '1,2' }, { foo: [' 1', '2 '] }), true, 'lines and whitespace make no difference');
  t.equal(chosen('Foo', { foo: '1, 2' }, { foo: '2, 1' }), false, 'order does');
  t.equal(
    chosen('Accept-Language', { 'accept-language': 'en, de;q=0.5' }, { 'accept-language': 'De; q=0.5,EN' }),
    true,
  );
  t.equal(
    chosen('Accept-Language', { 'accept-language': 'en, de;q=0.5' }, { 'accept-language': 'de, en;q=0.5' }),
    false,
  );
  const always = (fields: HeaderFields, authority = 'a.test') => alwaysSelecting({ host: 'a.test', authority, fields });
  t.equal(always({ accept: 'x', cookie: 'y' }), '');
  t.not(always({ 'x-forwarded-host': 'evil.test' }), always({ 'x-forwarded-host': 'other.test' }));
  t.not(always({ 'x-original-url': '/a' }), always({ 'x-rewrite-url': '/a' }));
  t.equal(always({}, 'A.TEST'), '');
  t.not(always({}, 'a.test:1234'), always({}), 'the port, which origins repeat');
});

t.test('Cache-Status (RFC 9211)', async (t) => {
  const rows: [CacheNotes, string][] = [
    [{ result: 'HIT', ttlS: 59.9 }, 'Zoneplane; hit; ttl=59'],
    [{ result: 'UPDATING', ttlS: -1.5 }, 'Zoneplane; hit; ttl=-2'],
    [{ result: 'MISS', forwardedStatus: 200, isStored: true }, 'Zoneplane; fwd=uri-miss; fwd-status=200; stored'],
    [{ result: 'MISS', isCollapsed: true }, 'Zoneplane; fwd=uri-miss; collapsed'],
    [{ result: 'REVALIDATED', forwardedStatus: 304, ttlS: 60 }, 'Zoneplane; fwd=stale; fwd-status=304; ttl=60'],
    [{ result: 'BYPASS' }, 'Zoneplane; fwd=bypass'],
  ];
  for (const [notes, text] of rows) t.equal(printCacheStatus(notes), text);
  const fields: Record<string, string> = { 'cache-status': 'Origin; hit' };
  addCacheStatus(fields, { result: 'HIT' });
  t.strictSame(fields, { 'cache-status': 'Origin; hit, Zoneplane; hit', 'cf-cache-status': 'HIT' });
});

t.test('long values select as they are, and are put in order once for a request', async (t) => {
  const long = 'b, a,'.repeat(200);
  const request = { accept: 'b, a', 'x-long': long };
  const fields = selectingFields({ vary: 'x-long, accept' }, request)!;
  t.strictSame(fields, [
    ['accept', 'a,b'],
    ['x-long', long],
  ]);
  t.ok(selects(fields, request));
  t.ok(selects(fields, { accept: 'a,  b', 'x-long': long }));
  t.notOk(selects(fields, { accept: 'a', 'x-long': long }));
  t.notOk(selects(fields, { accept: 'a,b' }));
  let reads = 0;
  const counted = new Proxy(request, {
    get(target, name) {
      reads++;
      return Reflect.get(target, name) as unknown;
    },
  });
  for (let variants = 0; variants < 64; variants++) selects([['accept', 'other'], ...fields], counted);
  t.equal(reads, 1);
});
