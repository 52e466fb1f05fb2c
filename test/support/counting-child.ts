/** A process that opens the copy of a node and increases the counter once: `URL DATA-DIRECTORY NODE`. */
import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { openCopy } from '../../src/cluster/open-copy.js';
import { increase } from './counter.js';

const [url, dataDir, node] = process.argv.slice(2) as [string, string, string];
const { store } = await openCopy({
  ...{ url, dataDir, node, clock: new SystemClock(), random: systemRandom, logger: silentLogger() },
  ...{ patienceMs: 60_000, appends: true, replaces: true },
});
process.stdout.write(`${await increase(store)}\n`);
