/** The warnings of a running server: its resolvers and held zones, how many there are, and that `doctor` asks the server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { loadSettings } from '../../src/config/load.js';
import { readRunning, writeRunning } from '../../src/roles/process/data-directory.js';
import { createWarningWatch } from '../../src/roles/services/warnings.js';
import { startControl } from '../control/fixture.js';
import { runCommand } from '../support/commands.js';
import { TestClock } from '../support/test-clock.js';
import { openOneCopy } from '../support/two-copies.js';

const load = (flags: Record<string, string>) => loadSettings({ flags, environment: {} }).settings;

t.test('what only processes know is told and counted, and nobody is asked more often than needed', async (t) => {
  const clock = new TestClock(Date.UTC(2026, 0, 1));
  const { ctx } = await startControl(t, {}, openOneCopy);
  const { store } = ctx;
  let examined = 0;
  let isProbing = true;
  const watch = createWarningWatch({
    ...{ settings: load({ 'resolver-upstreams': '' }), clock, log: silentLogger(), store },
    readers: {
      async examine() {
        examined++;
        return [{ what: 'jobs', verdict: 'warn', kind: 'job-failing', text: 'a job failed', remedy: 'See it.' }];
      },
    },
    isProbing: () => isProbing,
    heldZones: () => [{ name: 'held.example', id: '0123456789abcdef0123456789abcdef' }],
  });
  t.match(await watch.processFindings(), [
    { kind: 'zone-not-published', verdict: 'fail', text: /^changes of held\.example/ },
    { what: 'resolvers', verdict: 'ok' },
  ]);
  isProbing = false;
  t.match((await watch.processFindings())[1], { kind: 'probing-stopped', verdict: 'fail' });
  isProbing = true;
  t.equal(watch.warningCounts(), undefined, 'not known at first');
  const values = async () => (await watch.samples()).filter(({ value }) => value > 0);
  t.match(await values(), [
    { name: 'warnings', labels: { kind: 'zone-not-published' }, value: 1 },
    { name: 'warnings', labels: { kind: 'job-failing' }, value: 1 },
  ]);
  await values();
  t.match(watch.warningCounts(), { 'job-failing': 1, 'zone-not-published': 1, 'backup-old': 0 });
  t.equal(examined, 1, 'kept for a while');
  clock.advance(31_000);
  await values();
  t.equal(examined, 2);
});

t.test('doctor looks at the settings of the server that runs, not at those of its terminal', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-doctor-'));
  t.teardown(() => rmSync(directory, { recursive: true }));
  const environment = {
    ZONEPLANE_DATA_DIR: directory,
    // Nobody listens there.
    ZONEPLANE_RESOLVER_UPSTREAMS: '127.0.0.1:1',
    ZONEPLANE_MASTER_KEY: 'ab'.repeat(32),
  };
  await runCommand(environment, 'zone', 'create', 'example.com', '--init');
  const doctor = async (...args: string[]) => (await runCommand(environment, 'doctor', ...args)).out;
  t.match(await doctor(), /^warn {2}resolvers +127\.0\.0\.1:1 does not help/m, 'no server runs');
  const settings = load({ 'data-dir': directory, 'resolver-upstreams': '', nameservers: 'ns1.real.org' });
  writeRunning(directory, { version: '1.0.0', adminUrl: 'http://127.0.0.1:1', dns: [], settings }, silentLogger());
  const told = readRunning(directory)!.settings!;
  for (const secret of ['masterKey', 'adminKey', 'cookieSecret', 'cluster']) t.notOk(secret in told, secret);
  const asked = await doctor();
  t.match(asked, /^ok {4}resolvers +none is configured/m);
  t.notMatch(asked, /do not exist for anybody else/, 'the name servers of the server exist');
  t.match(await doctor('--resolver-upstreams', '127.0.0.1:1'), /does not help/, 'a flag is meant');
});
