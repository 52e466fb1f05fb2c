/** The hash of names: nobody who may add names can choose many that have the same one, whatever its seed is. */
import t from 'tap';
import { hashName } from '../../src/image/layout.js';

const LABEL = 'abcdefgh'.repeat(6);

/**
 * Names that differ in pairs of words: the highest bit of the first, and in the second what one multiplication and the shift behind it
 * make of that bit. As many as there are subsets of the pairs.
 */
function* craftedNames(): Generator<Uint8Array> {
  const pairs = LABEL.length / 8;
  for (let subset = 0; subset < 1 << pairs; subset++) {
    const octets = Buffer.from(LABEL);
    for (let pair = 0; pair < pairs; pair++) {
      if ((subset & (1 << pair)) === 0) continue;
      octets[pair * 8 + 3]! ^= 0x80;
      octets[pair * 8 + 6]! ^= 0x01;
      octets[pair * 8 + 7]! ^= 0x80;
    }
    yield Uint8Array.of(octets.length, ...octets, 4, ...Buffer.from('test'), 0);
  }
}

t.test('names that are crafted for one multiplication differ', async (t) => {
  const names = [...craftedNames()];
  for (const seed of [7, 0x1234567, -1]) {
    const hashes = new Set(names.map((name) => hashName(seed, name)));
    t.equal(hashes.size, names.length, `seed ${seed}`);
  }
});
