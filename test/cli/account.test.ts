/** Accounts, and what `doctor` says of zones, at the command line. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Outcome, runCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-account-'));
const DATA = join(directory, 'data');
t.teardown(() => rmSync(directory, { recursive: true }));

function run(...args: readonly string[]): Promise<Outcome> {
  return runCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' }, ...args);
}

t.test('account delete', async (t) => {
  t.match(await run('zone', 'create', 'example.com', '--init'), { code: 0 });
  const [first] = JSON.parse((await run('account', 'list', '--json')).out);
  t.match(await run('account', 'delete', first.id), { code: 1, err: /still has 1 zone\./ });
  t.match(await run('zone', 'delete', 'example.com'), { code: 0 });
  t.match(await run('account', 'delete', first.name), { code: 1, err: /is the only one\./ });
  const create = async (): Promise<string> =>
    JSON.parse((await run('account', 'create', 'Example Ltd', '--member', 'joe@example.com', '--json')).out).id;
  const id = await create();
  t.match(await run('bucket', 'create', 'pictures', '--account', id), { code: 0 });
  t.match(await run('zone', 'create', 'example.net', '--account', id), { code: 0 });
  t.match(await run('account', 'delete', 'Example Ltd'), { code: 1, err: /still has 1 zone and 1 bucket\./ });
  await run('zone', 'delete', 'example.net');
  t.match(await run('bucket', 'delete', 'pictures', '--account', id), { code: 0 });
  t.match(await run('account', 'delete', 'example ltd'), { code: 0, out: `deleted account 'Example Ltd' (${id})\n` });
  t.match(await run('account', 'delete', 'Example Ltd'), { code: 1, err: /there is no account 'Example Ltd'/ });
  t.match(await run('account', 'delete', id), { code: 1, err: /No account has the identifier/ });
  const again = await create();
  t.not(again, id);
  await create();
  t.match(await run('account', 'delete', 'Example Ltd'), { code: 1, err: /several accounts have the name/ });
});

t.test('account quota: what it has and may have, changed by the operator; doctor says who has most', async (t) => {
  const { id } = JSON.parse((await run('account', 'create', 'Large Ltd', '--json')).out);
  t.match(await run('account', 'quota', 'Large Ltd'), { code: 0, out: /^zones +0 +100000 *$/m });
  t.match(await run('zone', 'create', 'large.example', '--account', id), { code: 0 });
  const set = await run('account', 'quota', 'Large Ltd', '--zones', '1', '--records-per-file', '5');
  t.match(set, { code: 0, out: /^zones +1 +1 +own quota$/m });
  const more = await run('zone', 'create', 'more.example', '--account', id);
  t.match(more, { code: 1, err: /may have 1 zones, and has 1\. An administrator can raise this quota/ });
  t.match((await run('doctor')).out, /^warn {2}shares +Large Ltd has most zones: 1 of 1$/m);
  t.match(await run('account', 'quota', 'Large Ltd', '--zones', 'usual'), { code: 0, out: /^zones +1 +100000 *$/m });
  t.match(await run('account', 'quota', 'Large Ltd', '--zones', 'many'), { code: 2 });
  t.match(await run('zone', 'delete', 'large.example'), { code: 0 });
});

t.test('doctor names what is often not meant', async (t) => {
  const say = async (): Promise<{ what: string; verdict: string; text: string }[]> =>
    JSON.parse((await run('doctor', '--json')).out).filter(({ what }: { what: string }) => what === 'zones');
  t.match(await say(), [{ verdict: 'ok', text: /^0 with 0 records/ }]);
  await run('zone', 'create', 'example.org');
  await run('zone', 'create', 'lab.example.org');
  t.match(await say(), [
    { verdict: 'warn', text: /^the name servers of 2 zones are ns1\.zoneplane\.test/ },
    { verdict: 'warn', text: /^lab\.example\.org takes its names out of example\.org/ },
  ]);
});
