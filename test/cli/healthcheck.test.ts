/** `healthcheck` of servers that are not there; of running ones in process.long.test.ts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openStore } from '../../src/store/driver.js';
import { runCommand } from '../support/commands.js';

/** Seen failing on 2026-11-26: a stack, because there was no table yet. */
t.test('a server that has not made its tables yet is not healthy', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-healthcheck-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const store = openStore(directory);
  t.teardown(() => store.close());
  store.write(() => {});
  const where = ['--data-dir', directory, '--admin-port', '1', '--dns-host', '127.0.0.1', '--dns-port', '1'];
  const { code, out, err } = await runCommand({}, 'healthcheck', ...where, '--timeout', '2000');
  t.match({ code, out, err }, { code: 1, out: /FAIL {2}http .*\nFAIL {2}dns .*healthcheck\.invalid/, err: '' });
});
