/**
 * A process that reads two values of a database, `DATA-DIRECTORY`, again and again, which every write makes equal. Ends with
 * its input, and prints how often it looked, how often it found something new, and how often the values differed.
 */
import { openStore } from '../../src/store/driver.js';
import { findMeta } from '../../src/store/meta.js';

const store = openStore(process.argv[2]!, { readonly: true });
const seen = { looks: 0, news: 0, differences: 0 };
let last: unknown;

function look(): void {
  const [one, other] = store.snapshot(() => [findMeta(store, 'last_account'), findMeta(store, 'first_run_done')]);
  seen.looks++;
  if (one !== last) seen.news++;
  if (one !== other) seen.differences++;
  last = one;
  setImmediate(look);
}

process.stdin.on('end', () => {
  process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit());
});
process.stdin.resume();
look();
process.stdout.write('looking\n');
