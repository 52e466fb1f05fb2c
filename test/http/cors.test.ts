/** The one evaluator of CORS rules: what is allowed, what is reflected, and what strangers send. */
import t from 'tap';
import {
  type CorsMethod,
  type CorsRule,
  corsFields,
  headerFault,
  originFault,
  preflightFields,
} from '../../src/http/cors.js';

const rule = (origins: string[], methods: CorsMethod[] = ['GET'], more: Partial<CorsRule> = {}): CorsRule => ({
  ...more,
  allowed: { origins, methods, ...more.allowed },
});
const originOf = (rules: CorsRule[], origin: string, method = 'GET') =>
  corsFields(rules, origin, method)['access-control-allow-origin'];

t.test('which origins a rule allows', async (t) => {
  const rows: [pattern: string, origin: string, allowed: string | undefined][] = [
    ['https://www.example.com', 'https://www.example.com', 'https://www.example.com'],
    ['https://WWW.example.com', 'https://www.example.com', 'https://www.example.com'],
    ['https://www.example.com', 'https://www.example.com:8443', undefined],
    ['https://www.example.com', 'http://www.example.com', undefined],
    ['https://www.example.com', 'https://www.example.com.evil.test', undefined],
    ['https://*.example.com', 'https://a.b.example.com', 'https://a.b.example.com'],
    ['https://*.example.com', 'https://example.com', undefined],
    ['https://*.example.com', 'https://evil.test/.example.com', undefined],
    ['https://*.example.com', 'https://evil.test#.example.com', undefined],
    ['https://*.example.com', 'https://user@x.example.com', undefined],
    ['https://*.example.com', 'https://evil.test, https://x.example.com', undefined],
    ['http://localhost:*', 'http://localhost:3000', 'http://localhost:3000'],
    ['start*end', 'startend', 'startend'],
    ['start*end', 'starend', undefined],
    ['aXa*aXa', 'aXa', undefined],
    ['*', 'https://anybody.test', '*'],
    ['*', 'null', '*'],
    ['null', 'null', 'null'],
    ['n*l', 'null', undefined],
    ['*l', 'null', undefined],
    ['*', 'x'.repeat(1 << 20), undefined],
    ['*', '', undefined],
    ['*', '*', undefined],
    ['*', 'https://a.test\u00e4', undefined],
  ];
  for (const [pattern, origin, allowed] of rows) {
    t.equal(originOf([rule([pattern])], origin), allowed, `${pattern} ${origin.slice(0, 40)}`);
  }
});

t.test('requests that are not preflights', async (t) => {
  const rules = [
    rule(['https://a.test'], ['GET', 'HEAD'], { exposeHeaders: ['ETag', 'x-amz-meta-*'] }),
    rule(['*'], ['PUT']),
  ];
  t.same(corsFields(rules, 'https://a.test', 'GET'), {
    vary: 'Origin',
    'access-control-allow-origin': 'https://a.test',
    'access-control-allow-methods': 'GET, HEAD',
    'access-control-expose-headers': 'ETag, x-amz-meta-*',
  });
  t.equal(originOf(rules, 'https://a.test', 'PUT'), '*', 'another rule');
  t.same(corsFields(rules, 'https://b.test', 'GET'), { vary: 'Origin' });
  t.same(
    corsFields(rules, undefined, 'GET'),
    { vary: 'Origin' },
    'caches must know it of those without an origin, too',
  );
  for (const origin of ['https://a.test', 'https://b.test', 'null']) {
    t.equal(corsFields(rules, origin, 'PUT')['access-control-allow-credentials'], undefined);
  }
});

t.test('preflights', async (t) => {
  const allowed = { origins: ['https://a.test'], methods: ['PUT' as const], headers: ['Content-Type', 'x-amz-*'] };
  const rules = [{ allowed, maxAgeSeconds: 600 }];
  const ask = (headers: string | undefined, method = 'PUT', origin: string | undefined = 'https://a.test') =>
    preflightFields(rules, { origin, method, headers });
  t.same(ask('Content-Type,  X-Amz-Date'), {
    vary: 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers',
    'access-control-allow-origin': 'https://a.test',
    'access-control-allow-methods': 'PUT',
    'access-control-allow-headers': 'content-type, x-amz-date',
    'access-control-max-age': '600',
  });
  t.ok(ask(undefined));
  t.notOk(ask('authorization'), 'all that are asked for must be allowed');
  t.notOk(ask('content-type, authorization'));
  t.notOk(ask('content-type', 'DELETE'));
  t.notOk(ask('content-type', 'PUT', 'https://b.test'));
  t.notOk(ask('content-type', 'PUT', 'null'));
  t.notOk(preflightFields(rules, { origin: undefined, method: 'PUT', headers: undefined }));
  t.notOk(ask('x-amz-\u00e4'), 'no name of a field is reflected that is none');
  t.notOk(ask(Array.from({ length: 101 }, (_, i) => `x-amz-${i}`).join(',')), 'too many');
});

t.test('what a rule cannot say', async (t) => {
  for (const origin of [
    '*',
    'https://a.test',
    'https://*.a.test',
    'http://localhost:*',
    '*suffix',
    'null',
    'https://[::1]:8',
  ]) {
    t.equal(originFault(origin), undefined, origin);
  }
  for (const origin of [
    'https://a.test/',
    'https://a.test/path',
    'a/b',
    '**',
    'https://*.*',
    'a b',
    '',
    'ä',
    'https://u@a.test',
  ]) {
    t.type(originFault(origin), 'string', origin);
  }
  for (const name of ['*', 'x-amz-*', 'ETag']) t.equal(headerFault(name), undefined, name);
  for (const name of ['', 'a b', 'a:b', '**', 'x'.repeat(200), 'a\r\nb']) t.type(headerFault(name), 'string', name);
});
