/**
 * A process that reads two values of a database, `DATA-DIRECTORY`, again and again, which every write makes equal. It prints
 * `saw VALUE` for each new value and, when its input ends, how often it looked and how often the values differed.
 */
import { openStore } from '../../src/store/driver.js';
import { findMeta } from '../../src/store/meta.js';

const store = openStore(process.argv[2]!, { readonly: true });
const seen = { looks: 0, differences: 0 };
let last: unknown;

function look(): void {
  const [one, other] = store.snapshot(() => [findMeta(store, 'last_account'), findMeta(store, 'first_run_done')]);
  seen.looks++;
  if (one !== last) process.stdout.write(`saw ${one}\n`);
  if (one !== other) seen.differences++;
  last = one;
  setImmediate(look);
}

process.stdin.on('end', () => {
  process.stdout.write(`${JSON.stringify(seen)}\n`, () => process.exit());
});
process.stdin.resume();
look();
