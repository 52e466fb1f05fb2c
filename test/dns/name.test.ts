/** Domain names: text and wire form, order, ancestry, owner keys; also serial numbers and TTL texts. */
import fc from 'fast-check';
import t from 'tap';
import {
  descendantsEnd,
  isAtOrBelow,
  isWildcard,
  labelCount,
  labelsOf,
  lowerName,
  NameError,
  nameEquals,
  nameOfLabels,
  nameOfOwnerKey,
  ownerKeyOf,
  parentName,
  parseName,
  printName,
  ROOT,
  toFqdn,
} from '../../src/dns/name.js';
import { nextSerial, serialIsAfter } from '../../src/dns/serial.js';
import { parseTtl } from '../../src/dns/ttl.js';

const label = fc.uint8Array({ minLength: 1, maxLength: 12 });
const anyName = fc.array(label, { maxLength: 6 }).map(nameOfLabels);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

t.test('text and wire', async (t) => {
  t.equal(hex(parseName('www.Example.')), '03777777074578616d706c6500');
  t.equal(hex(parseName('.')), '00');
  t.equal(hex(parseName('a\\.b.')), '03612e6200', 'an escaped dot is part of the label');
  t.equal(hex(parseName('\\000\\255.')), '0200ff00');
  t.equal(hex(parseName('@', parseName('x.'))), '017800');
  t.equal(hex(parseName('y', parseName('x.'))), '0179017800');
  t.equal(printName(parseName('a\\.b\\032\\".x.')), 'a\\.b\\032\\".x.');
  t.equal(printName(ROOT), '.');
  t.equal(toFqdn(parseName('WWW.Example.')), 'www.example');
});

t.test('invalid names', async (t) => {
  const faults: [string, string][] = [
    ['', 'empty'],
    ['a..b.', 'empty-label'],
    ['.a.', 'empty-label'],
    [`${'x'.repeat(64)}.`, 'label-too-long'],
    [`${'x.'.repeat(128)}`, 'name-too-long'],
    [`${'x.'.repeat(126)}xx.`, 'name-too-long'],
    ['a\\', 'bad-escape'],
    ['a\\256.', 'bad-escape'],
    ['a\\1.', 'bad-escape'],
    ['relative', 'relative'],
  ];
  for (const [text, fault] of faults) {
    t.throws(() => parseName(text), new NameError(fault as NameError['fault']), `${text.slice(0, 12)}: ${fault}`);
  }
  t.equal(parseName(`${'x.'.repeat(127)}`).length, 255, 'the longest name there is');
  t.equal(parseName(`${'x'.repeat(63)}.`).length, 65, 'the longest label there is');
  t.throws(() => parseName('x.x', parseName('x.'.repeat(126))), new NameError('name-too-long'));
});

t.test('printing and parsing are inverse for all octets', async (t) => {
  const inverse = fc.property(anyName, (name) => hex(parseName(printName(name))) === hex(name));
  t.doesNotThrow(() => fc.assert(inverse, { seed: 7 }));
});

t.test("only ASCII case is folded, and never in the caller's memory", async (t) => {
  const mixed = Buffer.from(parseName('A[\\192{z.'));
  t.equal(printName(lowerName(mixed)), 'a[\\192{z.');
  t.equal(printName(mixed), 'A[\\192{z.', 'a Buffer is left as it was');
  t.ok(nameEquals(parseName('AbC.'), parseName('aBc.')));
  t.notOk(nameEquals(parseName('[.'), parseName('{.')));
  t.notOk(nameEquals(parseName('\\192.'), parseName('\\224.')));
});

t.test('ancestry', async (t) => {
  const name = parseName('a.b.example.');
  t.ok(isAtOrBelow(name, parseName('EXAMPLE.')));
  t.ok(isAtOrBelow(name, name));
  t.notOk(isAtOrBelow(parseName('xexample.'), parseName('example.')));
  t.notOk(
    isAtOrBelow(parseName('a\\007example.'), parseName('example.')),
    'a length octet inside a label is not a boundary',
  );
  t.equal(printName(parentName(name)), 'b.example.');
  t.equal(labelCount(name), 3);
  t.equal(labelsOf(name).length, 3);
  t.ok(isWildcard(parseName('*.x.')));
  t.notOk(isWildcard(parseName('*a.x.')));
});

/** By owner keys from the root. */
const compareNames = (a: Uint8Array, b: Uint8Array): number => Buffer.compare(ownerKeyOf(a, ROOT), ownerKeyOf(b, ROOT));

t.test('canonical order (RFC 4034 §6.1)', async (t) => {
  const ordered = ['example.', 'a.example.', 'yljkjljk.a.example.', 'Z.a.example.', 'zABC.a.EXAMPLE.', 'z.example.'];
  const more = ['\\001.z.example.', '*.z.example.', '\\200.z.example.'];
  const names = [...ordered, ...more].map((text) => parseName(text));
  for (let i = 1; i < names.length; i++) t.ok(compareNames(names[i - 1]!, names[i]!) < 0, printName(names[i]!));
  t.equal(compareNames(parseName('A.'), parseName('a.')), 0);
});

t.test('owner keys convert back to names, sort canonically, and keep descendants in one range', async (t) => {
  const apex = parseName('zone.example.');
  const owner = fc.array(label, { maxLength: 4 }).map((labels) => nameOfLabels([...labels, ...labelsOf(apex)]));
  const property = fc.property(owner, owner, (a, b) => {
    const keyA = Buffer.from(ownerKeyOf(a, apex));
    const keyB = ownerKeyOf(b, apex);
    const kept = hex(keyA);
    const end = descendantsEnd(keyA);
    const inRange = Buffer.compare(keyB, keyA) > 0 && (end === undefined || Buffer.compare(keyB, end) < 0);
    return (
      hex(nameOfOwnerKey(keyA, apex)) === hex(lowerName(a)) &&
      inRange === (b.length > a.length && isAtOrBelow(b, a)) &&
      Math.sign(Buffer.compare(keyA, keyB)) === Math.sign(compareNames(a, b)) &&
      hex(keyA) === kept
    );
  });
  t.doesNotThrow(() => fc.assert(property, { seed: 7 }));
});

t.test('serial numbers wrap (RFC 1982)', async (t) => {
  t.ok(serialIsAfter(1, 0));
  t.ok(serialIsAfter(0, 0xffffffff));
  t.notOk(serialIsAfter(0, 0));
  t.notOk(serialIsAfter(0x80000000, 0), 'half-way is undefined');
  t.equal(nextSerial(0xffffffff), 1);
  t.equal(nextSerial(41), 42);
});

t.test('TTL texts', async (t) => {
  const good: [string, number][] = [
    ['0', 0],
    ['3600', 3600],
    ['1h30m', 5400],
    ['1W2D3H4M5S', 788645],
    ['2147483647', 2147483647],
  ];
  for (const [text, seconds] of good) t.equal(parseTtl(text), seconds, text);
  for (const text of ['', 'h', '1h30', '1y', '-1', '2147483648', '99999999999', '1 h'])
    t.equal(parseTtl(text), undefined, text);
});
