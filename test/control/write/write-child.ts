/**
 * A process that creates the given number of records (third argument) in a zone (second) of a data directory (first).
 */
import { SystemClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { createRecord } from '../../../src/control/records/records.js';
import { DEFAULT_LIMITS, OPERATOR } from '../../../src/control/write/context.js';
import { openStore } from '../../../src/store/driver.js';

const [directory, zoneId, count] = process.argv.slice(2);
const settings = {
  nameServers: ['ns1.dns.test'],
  edgeAddresses: [],
  nameServerAddresses: [],
  ownAddresses: [],
  privateSuffixes: 'refuse' as const,
  activation: 'trust' as const,
  limits: DEFAULT_LIMITS,
};
const base = { clock: new SystemClock(), random: systemRandom, log: silentLogger(), settings };
const ctx = { ...base, store: openStore(directory!), actor: OPERATOR, requestId: 'child', source: 'cli' as const };
for (let i = 0; i < Number(count); i++) {
  await createRecord(ctx, zoneId!, { type: 'A', name: `child-${i}`, content: '192.0.2.1' });
}
