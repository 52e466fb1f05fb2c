/** Field values, lists, dictionaries of structured fields, and dates as caches read them. */
import t from 'tap';
import { parseCacheDate, parseHttpDate } from '../../src/http/date.js';
import { fieldValue, listMembers, storableFields } from '../../src/http/fields.js';
import { parseDictionary } from '../../src/http/structured-dictionary.js';

t.test('the lines of a field form one value, and lists handle quoted strings', async (t) => {
  t.equal(fieldValue({ a: ['1', '2'] }, 'a'), '1, 2');
  t.equal(fieldValue({}, 'a'), undefined);
  const rows: [string, string[]][] = [
    ['', []],
    [' , ,', []],
    ['a', ['a']],
    ['a,b , c', ['a', 'b', 'c']],
    ['x="a, b", c', ['x="a, b"', 'c']],
    ['x="a\\", b", c', ['x="a\\", b"', 'c']],
    ['"open, c', ['"open, c']],
  ];
  for (const [value, members] of rows) t.strictSame(listMembers(value), members, value);
});

t.test('fields of the connection are not stored', async (t) => {
  const fields = storableFields({
    connection: 'close, X-Private',
    'x-private': '1',
    'keep-alive': 'timeout=5',
    'proxy-authenticate': 'Basic',
    te: 'trailers',
    'transfer-encoding': 'chunked',
    upgrade: 'h2c',
    'set-cookie': ['a=1', 'b=2'],
    missing: undefined,
    ['__proto__']: ['1', '2'],
    a: '1',
  });
  t.equal(Object.getPrototypeOf(fields), Object.prototype);
  t.strictSame(fields, { 'set-cookie': ['a=1', 'b=2'], a: '1' });
});

t.test('dictionaries (RFC 9651 §3.2)', async (t) => {
  const items = parseDictionary('max-age=600, no-store, public=?0;x=1, a="b,c", d=tok;q, e=1.5, f=:aGk=:, max-age=-7');
  t.strictSame(
    [...items!],
    [
      ['no-store', { type: 'boolean', value: true }],
      ['public', { type: 'boolean', value: false }],
      ['a', { type: 'other' }],
      ['d', { type: 'other' }],
      ['e', { type: 'decimal', value: 1.5 }],
      ['f', { type: 'other' }],
      ['max-age', { type: 'integer', value: -7 }],
    ],
  );
  for (const bad of ['Max-Age=1', 'a=', 'a, ', 'a b', 'a=&', 'a="', 'a, &&&', '=1', 'a;=1', 'a=1234567890123456']) {
    t.equal(parseDictionary(bad), undefined, bad);
  }
  t.equal(parseDictionary('')?.size, 0);
});

t.test('dates as caches read them (RFC 9111 §4.2)', async (t) => {
  const now = Date.UTC(2026, 10, 22);
  const at = (year: number, month: number, day: number) => Date.UTC(year, month, day, 8, 49, 37) / 1000;
  const rows: [string, number | undefined][] = [
    ['Sun, 06 Nov 1994 08:49:37 GMT', at(1994, 10, 6)],
    ['SUN, 06 NOV 1994 08:49:37 gMT', at(1994, 10, 6)],
    ['sunday, 06-nov-94 08:49:37 gmt', at(1994, 10, 6)],
    ['Sunday, 06-Nov-76 08:49:37 GMT', at(2076, 10, 6)],
    ['Sunday, 06-Nov-77 08:49:37 GMT', at(1977, 10, 6)],
    ['Sun Nov  6 08:49:37 1994', at(1994, 10, 6)],
    ['Sun, 06 Nov 1994 08:49:37 UTC', undefined],
    ['Sun, 06 Nov 1994 08:49:37 AEST', undefined],
    ['Sun, 06 Nov 94 08:49:37 GMT', undefined],
    ['Sun, 06-Nov-1994 08:49:37 GMT', undefined],
    ['Sun, 06 Nov 1994 8:49:37 GMT', undefined],
    ['0', undefined],
    ['', undefined],
  ];
  for (const [text, seconds] of rows) t.equal(parseCacheDate(text, now), seconds, text);
  t.equal(parseHttpDate('SUN, 06 NOV 1994 08:49:37 GMT'), undefined, 'elsewhere the case matters');
});
