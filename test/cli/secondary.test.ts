/** Other name servers at the command line. Transfers to real ones are in test/e2e/secondaries.test.ts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Outcome, runCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-secondary-'));
t.teardown(() => rmSync(directory, { recursive: true }));

function run(...args: readonly string[]): Promise<Outcome> {
  return runCommand({ ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' }, ...args);
}

t.test('zones are given to a server together, or none of them is', async (t) => {
  for (const name of ['a', 'b', 'c', 'd']) await run('zone', 'create', `${name}.test`, '--init');
  t.match(await run('secondary', 'add', 'ns2', '--address', '192.0.2.2', '--zone', 'a.test'), { code: 0 });
  t.match(await run('secondary', 'add', 'bare', '--address', '192.0.2.3', '--no-key', '--zone', 'd.test'), { code: 0 });
  const zonesAt = async (peer: string): Promise<string[]> => {
    const { out } = await run('secondary', 'print', '--kind', 'nsd', '--address', '192.0.2.1', '--peer', peer);
    return [...out.matchAll(/name: "(.\.test)"/g)].map(([, name]) => name!).sort();
  };
  t.match(await run('secondary', 'add', 'ns2', '--zone', 'b.test', '--zone', 'd.test'), {
    code: 1,
    err: /peers of d\.test use different TSIG keys/,
  });
  t.strictSame(await zonesAt('ns2'), ['a.test'], 'nothing was done');
  t.match(await run('secondary', 'add', 'ns2', '--zone', 'b.test', '--zone', 'c.test'), {
    code: 0,
    out: /^ns2 may transfer 2 zones; the key ns2\.transfer\. signs$/m,
  });
  t.strictSame(await zonesAt('ns2'), ['a.test', 'b.test', 'c.test']);
});
