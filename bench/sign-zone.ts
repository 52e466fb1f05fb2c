/**
 * Signs a zone as the job of the admin process does, for the bench part `signing`.
 *
 * Arguments: zone file, apex, number of signer threads, directory. Prints processor time and time in milliseconds, and memory
 * in MB.
 */

import { SystemClock } from '../src/base/clock.js';
import { silentLogger } from '../src/base/log.js';
import { systemRandom } from '../src/base/random.js';
import { ensureFirstAdministrator } from '../src/control/access/keys.js';
import { editDnssec } from '../src/control/dnssec/delegation.js';
import { signingJob } from '../src/control/dnssec/job.js';
import { createZoneKeys } from '../src/control/dnssec/zone-keys.js';
import { OPERATOR } from '../src/control/guard/actor.js';
import { importZone } from '../src/control/imports/zone.js';
import { type Context, DEFAULT_LIMITS } from '../src/control/kernel/context.js';
import { PARTICIPANTS } from '../src/control/participants.js';
import { createEgress } from '../src/egress/egress.js';
import { openStore } from '../src/store/driver.js';
import { migrate } from '../src/store/migrate.js';
import { testVault } from '../test/support/zone-keys.js';

const [file, apex, threads, directory] = process.argv.slice(2) as [string, string, string, string];
const clock = new SystemClock();
const store = openStore(directory);
migrate(store, clock, systemRandom);
const vault = await testVault(store, systemRandom);
const base = {
  store,
  clock,
  random: systemRandom,
  log: silentLogger(),
  participants: PARTICIPANTS,
  egress: createEgress({ allowed: [], own: { has: () => false } }),
  zoneKeys: createZoneKeys(() => vault, Number(threads)),
  settings: {
    nameServers: ['ns1.bench.test', 'ns2.bench.test'],
    edgeAddresses: [],
    nameServerAddresses: [],
    ownAddresses: [],
    activation: 'trust' as const,
    privateSuffixes: 'allow' as const,
    limits: DEFAULT_LIMITS,
  },
};
await ensureFirstAdministrator(base, { email: 'bench@example.org', key: 'bench-key-0123456789-0123456789-0123456789' });
const ctx: Context = { ...base, actor: OPERATOR, requestId: 'bench', source: 'cli' };
const { zoneId } = await importZone(ctx, { source: { file }, origin: apex });
const before = process.cpuUsage();
const began = performance.now();
await editDnssec(ctx, zoneId!, { status: 'active' });
const job = signingJob(base);
const { log } = base;
const run = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease: (): void => {} };
for (;;) {
  const outcome = await job.handler(run, zoneId!);
  // It asks to be called at once as long as something is left.
  if ('done' in outcome || outcome.againAtMs > clock.nowMs() + 100) break;
}
const ms = performance.now() - began;
const { user, system } = process.cpuUsage(before);
const megabytes = process.resourceUsage().maxRSS / 1000;
process.stdout.write(`${JSON.stringify({ cpuMs: (user + system) / 1000, ms, megabytes })}\n`);
process.exit(0);
