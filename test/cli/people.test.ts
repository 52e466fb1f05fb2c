/** Users and members at the command line. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { openStore } from '../../src/store/driver.js';
import { type Outcome, runCommand } from '../support/commands.js';
import { latestEvents } from '../support/rows.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-people-'));
const DATA = join(directory, 'data');
t.teardown(() => rmSync(directory, { recursive: true }));

function run(...args: readonly string[]): Promise<Outcome> {
  return runCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' }, ...args);
}

t.test('a team is set up', async (t) => {
  t.match(await run('zone', 'create', 'example.com', '--init'), { code: 0 });
  t.match(await run('account', 'create', 'Team'), { code: 0 });
  t.match(await run('user', 'add', 'ada@example.com'), { code: 0, out: /^added ada@example\.com$/m });
  t.match(await run('user', 'add', 'Ada@example.com'), { code: 1, err: /There is a user/ });
  t.match(await run('member', 'add', 'Team', 'ada@example.com', '--role', 'super-administrator'), { code: 0 });
  const invited = await run('member', 'add', 'Team', 'grace@example.com', '--role', 'dns', '--invite');
  t.match(invited, { code: 0, out: /grace@example\.com is invited.*\(DNS\)/ });
  t.match(await run('member', 'add', 'Team', 'x@example.com'), { code: 1, err: /no role is given/ });
  t.match(await run('member', 'add', 'Team', 'x@example.com', '--role', 'king'), {
    code: 1,
    err: /'king' is not a role/,
  });
  t.match(await run('member', 'list', 'Team'), { out: /^grace@example\.com +DNS +pending/m });
  t.match(await run('member', 'role', 'Team', 'grace@example.com', '--role', 'cache-purge'), { out: /Cache Purge/ });
  t.match(await run('member', 'role', 'Team', 'ada@example.com', '--role', 'dns'), {
    code: 1,
    err: /The account needs a super administrator\./,
  });
  t.match(await run('member', 'remove', 'Team', 'GRACE@example.com'), { code: 0 });
  t.match(await run('user', 'disable', 'ada@example.com'), { code: 0, out: /^disabled ada@example\.com$/m });
  t.match(await run('user', 'list'), { out: /^ada@example\.com +Team +no +never +disabled *$/m });
  t.match(await run('user', 'enable', 'ada@example.com'), { code: 0 });
  t.match(await run('user', 'disable', 'nobody@example.com'), { code: 1, err: /There is no user/ });
  const store = openStore(DATA, { readonly: true });
  t.match(latestEvents(store, 1), [
    { kind: 'user.resume', actor_kind: 'operator', credential_name: userInfo().username, source: 'cli' },
  ]);
  store.close();
});
