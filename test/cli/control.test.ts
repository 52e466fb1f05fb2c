/** Commands stand back for the server of their data directory, and for nobody where there is none. */
import { mkdtempSync, rmSync } from 'node:fs';
import { getPriority, platform, tmpdir } from 'node:os';
import { join } from 'node:path';

import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { Steps } from '../../src/base/process/scheduling.js';
import { Command } from '../../src/cli/command.js';
import { withControl } from '../../src/cli/control.js';
import { writeRunning } from '../../src/roles/process/data-directory.js';

t.test('a command has less of a busy processor only beside a server', { skip: platform() !== 'linux' }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-control-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const environment = { ZONEPLANE_DATA_DIR: directory, ZONEPLANE_ADMIN_KEY: '0123456789abcdefghijklmnopqrstuvwxyzA' };
  const run = () =>
    withControl(
      new Command(),
      environment,
      async ({ isAlone }) => ({ niceness: getPriority(), isAlone: isAlone?.() }),
      'initialise',
    );
  const before = getPriority();
  t.strictSame(await run(), { niceness: before, isAlone: true });
  writeRunning(directory, { version: '1', adminUrl: 'http://127.0.0.1:1', dns: [] }, silentLogger());
  t.strictSame(await run(), { niceness: Math.min(19, before + Steps.edit), isAlone: false });
});
