/** Hashes of passwords. */
import { randomBytes, scryptSync } from 'node:crypto';
import t from 'tap';
import { systemRandom } from '../../src/base/random.js';
import { createPasswordHashes } from '../../src/sign-in/hash.js';
import { TestClock } from '../support/test-clock.js';

t.test('a password fits its own hash and no other', async (t) => {
  const hashes = createPasswordHashes(new TestClock(0), systemRandom);
  const hash = await hashes.make('correct horse', 'here');
  t.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  t.not(await hashes.make('correct horse', 'here'), hash, 'each has its own salt');
  t.equal(await hashes.check('correct horse', hash, 'here'), true);
  t.equal(await hashes.check('correct horsf', hash, 'here'), false);
  t.equal(await hashes.check('correct horse', undefined, 'here'), false);
  t.equal(await hashes.check('correct horse', 'damaged', 'here'), false);
});

t.test('a hash of a Node.js without argon2 goes on to count', async (t) => {
  const salt = randomBytes(16);
  const tag = scryptSync('correct horse', salt, 32, { N: 2 ** 10, r: 8, p: 1 });
  const plain = (octets: Buffer): string => octets.toString('base64').replaceAll('=', '');
  const hash = `$scrypt$ln=10,r=8,p=1$${plain(salt)}$${plain(tag)}`;
  const hashes = createPasswordHashes(new TestClock(0), systemRandom);
  t.equal(await hashes.check('correct horse', hash, 'here'), true);
  t.equal(await hashes.check('correct horsf', hash, 'here'), false);
});

t.test('few are made at once; a flood from one network leaves room for others', async (t) => {
  const hashes = createPasswordHashes(new TestClock(0), systemRandom);
  const flood = Array.from({ length: 40 }, () =>
    hashes.check('x', undefined, 'there').then(String, ({ status }) => status),
  );
  const own = Array.from({ length: 3 }, () =>
    hashes.check('x', undefined, 'here').then(String, ({ status }) => status),
  );
  t.strictSame(await Promise.all(own), ['false', 'false', 'false']);
  const told = await Promise.all(flood);
  t.equal(told.filter((answer) => answer === 'false').length, 10, 'two at once, and eight that wait');
  t.equal(told.filter((answer) => answer === 503).length, 30);
});
