/** Parts of heads: the octets of all of them, one behind the other. */
import t from 'tap';
import { lengthOf, putAll, putPart } from '../../src/plain/parts.js';

t.test('texts and octets of any length', async (t) => {
  const parts = [
    '',
    'a\xe9',
    Buffer.from('octets'),
    'b'.repeat(100),
    'c'.repeat(101),
    `${'d'.repeat(300)}\xff`,
    Buffer.alloc(0),
  ];
  const expected = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
  t.equal(lengthOf(parts), expected.length);
  const octets = Buffer.alloc(expected.length + 10, '.');
  t.equal(putAll(octets, parts), expected.length);
  t.equal(octets.toString('latin1'), `${expected.toString('latin1')}..........`);
  t.equal(putPart(octets, 'end', 5), 8);
  t.equal(octets.toString('latin1', 5, 8), 'end');
});
