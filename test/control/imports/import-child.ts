/** A process that imports a zone file (second argument) into a data directory (first) and prints its progress. */
import { writeSync } from 'node:fs';
import { SystemClock } from '../../../src/base/clock.js';
import { silentLogger } from '../../../src/base/log.js';
import { systemRandom } from '../../../src/base/random.js';
import { importZone } from '../../../src/control/imports/zone.js';
import { DEFAULT_LIMITS, OPERATOR } from '../../../src/control/write/context.js';
import { openStore } from '../../../src/store/driver.js';

const [directory, file] = process.argv.slice(2);
const settings = {
  nameServers: ['ns1.dns.test'],
  edgeAddresses: [],
  nameServerAddresses: [],
  ownAddresses: [],
  privateSuffixes: 'refuse' as const,
  activation: 'trust' as const,
  limits: DEFAULT_LIMITS,
};
const store = openStore(directory!);
await importZone(
  {
    store,
    clock: new SystemClock(),
    random: systemRandom,
    log: silentLogger(),
    settings,
    actor: OPERATOR,
    requestId: 'child',
    source: 'cli',
  },
  {
    source: { file: file! },
    replace: true,
    onProgress: ({ records }) => writeSync(1, `${records}\n`),
  },
);
