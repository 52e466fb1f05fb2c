/** The operator's context for child processes of tests that write to a data directory. */

import { SystemClock } from '../../src/base/clock.js';
import { silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { type Context, DEFAULT_LIMITS } from '../../src/control/kernel/context.js';
import { PARTICIPANTS } from '../../src/control/participants.js';
import { openStore } from '../../src/store/driver.js';
import { anywhere } from '../support/egress.js';

/** A context on the database of the data directory. */
export function openChildContext(directory: string): Context {
  return {
    store: openStore(directory),
    clock: new SystemClock(),
    random: systemRandom,
    log: silentLogger(),
    egress: anywhere(new SystemClock()),
    settings: {
      nameServers: ['ns1.dns.test'],
      edgeAddresses: [],
      nameServerAddresses: [],
      ownAddresses: [],
      privateSuffixes: 'refuse',
      activation: 'trust',
      limits: DEFAULT_LIMITS,
    },
    participants: PARTICIPANTS,
    actor: OPERATOR,
    requestId: 'child',
    source: 'cli',
  };
}
