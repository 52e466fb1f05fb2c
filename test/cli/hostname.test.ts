/** `zoneplane hostname` on a data directory without a server. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Outcome, runCommand } from '../support/commands.js';

const DATA = mkdtempSync(join(tmpdir(), 'zoneplane-cli-hostname-'));
t.teardown(() => rmSync(DATA, { recursive: true, force: true }));

const run = (...args: readonly string[]): Promise<Outcome> =>
  runCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' }, ...args);

t.test('created, shown, refreshed, deleted', async (t) => {
  t.equal((await run('zone', 'create', 'saas.test', '--init')).code, 0);
  t.match(await run('hostname', 'list', 'saas.test'), { code: 0, out: 'There are no such custom hostnames.\n' });
  const made = await run(
    'hostname',
    'create',
    'saas.test',
    'App.Customer.test',
    '--authority',
    'ssl_com',
    '--wildcard',
  );
  t.match(made, { code: 0, out: /^app\.customer\.test is pending, certificate initializing \([0-9a-f-]{36}\)$/m });
  t.match(made.out, /^Your customer must add a CNAME record from app\.customer\.test to /m);
  t.match(made.out, /^ {2}app\.customer\.test CNAME saas\.test$/m);
  t.match(made.out, /^ {2}_cf-custom-hostname\.app\.customer\.test TXT [0-9a-f-]{36}$/m);
  t.match(await run('hostname', 'create', 'saas.test', 'app.customer.test'), { code: 1, err: /Duplicate/ });
  t.match(await run('hostname', 'create', 'saas.test', 'b.test', '--method', 'none', '--origin', 'x.saas.test'), {
    code: 1,
    err: /not an A, AAAA or CNAME record of this zone/,
  });
  t.match(await run('hostname', 'create', 'saas.test', 'plain.test', '--method', 'none'), { code: 0 });
  t.match((await run('hostname', 'list', 'saas.test')).out, /plain\.test +pending +none/);
  t.match(JSON.parse((await run('hostname', 'list', 'saas.test', '--json', '--status', 'pending')).out), [
    { hostname: 'app.customer.test', certificate: { hosts: ['app.customer.test', '*.app.customer.test'] } },
    { hostname: 'plain.test', certificate: null },
  ]);
  t.match(JSON.parse((await run('hostname', 'show', 'saas.test', 'plain.test', '--json')).out), { status: 'pending' });
  t.match(await run('hostname', 'refresh', 'saas.test', 'app.customer.test'), { code: 0, out: /a running server/ });
  t.match((await run('job', 'list')).out, /hostname/);
  t.match(await run('hostname', 'delete', 'saas.test', 'app.customer.test'), { code: 0, out: /^deleted/ });
  t.match(await run('hostname', 'show', 'saas.test', 'app.customer.test'), { code: 1, err: /has no custom hostname/ });
});

t.test('an account is allowed more', async (t) => {
  const [account] = JSON.parse((await run('account', 'list', '--json')).out);
  t.match(await run('hostname', 'allow', account.id), { code: 2, err: /nothing is to be allowed/ });
  t.equal((await run('hostname', 'allow', account.id, '--hostnames', '1', '--apex-addresses', 'yes')).code, 0);
  const full = await run('hostname', 'create', 'saas.test', 'one-too-many.test');
  t.match(full, { code: 1, err: /quota of 1 custom hostnames/ });
  t.equal((await run('hostname', 'allow', account.id, '--hostnames', '5', '--certificates', '1')).code, 0);
  // Two were made within this minute.
  const limited = await run('hostname', 'create', 'saas.test', 'limited.test');
  t.match(limited, { code: 1, err: /up to 1 certificates per minute/ });
});
