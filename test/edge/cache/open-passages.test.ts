/** Passages that are open: those that an unsafe request makes outdated. */
import t from 'tap';
import type { Row } from '../../../src/base/lists/row.js';
import { type OpenPassage, OpenPassages } from '../../../src/edge/cache/open-passages.js';

class Passing implements OpenPassage {
  isOutdated = false;
  row: Row<OpenPassage> | undefined;
  before: OpenPassage | undefined;
  after: OpenPassage | undefined;
  constructor(readonly key: string) {}
}

t.test('only those of the key that are still open are outdated', async (t) => {
  const passages = new OpenPassages();
  const [a, b, closed, later] = ['1 a', '1 b', '1 a', '1 a'].map((key) => new Passing(key));
  const other = new Passing('65 a');
  for (const one of [a!, b!, closed!]) passages.add(1, one);
  passages.add(65, other);
  passages.delete(closed!);
  passages.delete(closed!);
  passages.outdate(1, '1 a');
  passages.outdate(2, '1 b');
  passages.add(1, later!);
  t.strictSame(
    [a, b, closed, later, other].map((one) => one!.isOutdated),
    [true, false, false, false, false],
  );
});
