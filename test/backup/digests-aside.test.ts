import { createHash } from 'node:crypto';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { digest } from '../../src/backup/digest.js';
import { takeDigestsAside } from '../../src/backup/digests-aside.js';

const FILES = 300;

t.test('both threads together take the sum of each file once', async (t) => {
  const directory = t.testdir();
  const paths = Array.from({ length: FILES }, (_, index) => join(directory, String(index)));
  for (const [index, path] of paths.entries()) writeFileSync(path, `contents of ${index}`);
  const link = join(directory, 'link');
  symlinkSync(paths[0]!, link);
  t.equal(takeDigestsAside(200, ['sha256']), undefined, 'not for few files');
  const aside = takeDigestsAside(FILES + 2, ['sha256', 'md5'])!;
  t.teardown(() => aside.end());
  for (const path of [link, join(directory, 'missing'), ...paths]) aside.add(path);
  let here = 0;
  const sums: unknown[] = [];
  for (const path of paths.toReversed()) {
    const known = await aside.digestOf(path);
    if (!known) here++;
    sums.push(known ?? digest(path, ['sha256', 'md5']));
  }
  const hash = (name: string, text: string): string => createHash(name).update(text).digest('hex');
  const expected = paths.map((_, index) => {
    const text = `contents of ${index}`;
    return { octets: text.length, sums: { sha256: hash('sha256', text), md5: hash('md5', text) } };
  });
  t.strictSame(sums, expected.toReversed());
  t.ok(here > 0, 'at least what no message had told the thread of is taken here');
  for (const path of [link, join(directory, 'missing')]) {
    t.equal(await aside.digestOf(path), undefined, 'whoever asks finds out what is wrong with it');
  }
  t.equal(await aside.digestOf(join(directory, 'else')), undefined);
});

t.test('what is waited for is left to its caller when the thread ends', async (t) => {
  const directory = t.testdir();
  const paths = Array.from({ length: FILES }, (_, index) => join(directory, String(index)));
  for (const path of paths) writeFileSync(path, 'x');
  const aside = takeDigestsAside(FILES, ['sha256'])!;
  for (const path of paths) aside.add(path);
  const asked = paths.map((path) => aside.digestOf(path));
  aside.end();
  for (const digest of await Promise.all(asked)) if (digest) t.equal(digest.octets, 1);
  t.equal(await aside.digestOf(paths[0]!), undefined);
});
