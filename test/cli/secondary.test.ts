/** Other name servers at the command line. Transfers to real ones are in test/e2e/secondaries.long.test.ts. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
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
  t.match(await run('secondary', 'add', 'bare', '--address', 'foo'), {
    code: 2,
    err: /--address foo: expected an address/,
  });
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

t.test('a peer without an address is not watched, and nothing is wrong with that', async (t) => {
  const own = mkdtempSync(join(tmpdir(), 'zoneplane-lister-'));
  t.teardown(() => rmSync(own, { recursive: true }));
  const environment = { ZONEPLANE_DATA_DIR: join(own, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  await runCommand(environment, 'zone', 'create', 'a.test', '--init');
  await runCommand(environment, 'secondary', 'add', 'lister', '--address', '192.0.2.2', '--zone', 'a.test');
  t.match(await runCommand(environment, 'secondary', 'status'), { code: 1, out: /lister +a\.test +behind/ });
  // As the API makes it for clients that only transfer.
  const database = new Database(join(own, 'data', 'zoneplane.db'));
  database.exec('UPDATE transfer_peers SET ip = NULL');
  database.close();
  t.match(await runCommand(environment, 'secondary', 'status'), { code: 0, out: /lister +a\.test +not watched/ });
});
