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

t.test('the fallback origin, and the CNAME record that leads to it', async (t) => {
  t.equal((await run('zone', 'create', 'fallback.test', '--init')).code, 0);
  t.match(await run('hostname', 'fallback', 'fallback.test'), { code: 1, err: /No fallback origin is set/ });
  t.match(await run('hostname', 'fallback', 'fallback.test', 'origin.fallback.test'), {
    code: 0,
    out: /^the fallback origin of fallback\.test is origin\.fallback\.test, initializing\n {2}\S/,
  });
  const record = ['record', 'add', 'fallback.test', 'origin', 'A', '192.0.2.7', '--proxied'];
  t.match(await run(...record, '--origin-port', '70000'), { code: 2 });
  t.match(await run(...record, '--origin-port', '8443'), { code: 0 });
  const kept = JSON.parse((await run('record', 'list', 'fallback.test', '--name', 'origin', '--json')).out);
  t.equal(kept[0].settings.origin_port, 8443);
  t.match(await run('hostname', 'fallback', 'fallback.test'), { code: 0, out: /origin\.fallback\.test, active\n$/ });
  const made = await run('hostname', 'create', 'fallback.test', 'shop.customer.net', '--method', 'none');
  t.equal(made.code, 0, made.out + made.err);
  const [, named] = /CNAME record from shop\.customer\.net to (\S+),/.exec(made.out)!;
  t.match(made.out, `  shop.customer.net CNAME ${named}\n`, 'the same name as in the next step');
  t.notMatch(made.out, /apex/);
  t.match(
    (await run('hostname', 'create', 'fallback.test', 'customer.org', '--method', 'none')).out,
    /customer\.org is an apex, where a CNAME/,
  );
  t.match(await run('hostname', 'fallback', 'fallback.test', 'x.test', '--remove'), { code: 2 });
  t.match(await run('hostname', 'fallback', 'fallback.test', '--remove'), {
    code: 0,
    out: /no fallback origin any more/,
  });
});

t.test('created, shown, refreshed, deleted', async (t) => {
  t.equal((await run('zone', 'create', 'saas.test', '--init')).code, 0);
  t.match(await run('hostname', 'list', 'saas.test'), { code: 0, out: 'No matching custom hostnames.\n' });
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
  t.match(made.out, /^Choose where its requests go: zoneplane hostname fallback saas\.test origin\.saas\.test$/m);
  t.notMatch(made.out, / CNAME \S+$/m, 'there is no name yet to which it could lead');
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
  t.match(await run('hostname', 'allow', account.id), { code: 2, err: /say what to allow/ });
  t.equal((await run('hostname', 'allow', account.id, '--hostnames', '1', '--apex-addresses', 'yes')).code, 0);
  const full = await run('hostname', 'create', 'saas.test', 'one-too-many.test');
  t.match(full, { code: 1, err: /quota of 1 custom hostnames/ });
  t.equal((await run('hostname', 'allow', account.id, '--hostnames', '5', '--certificates', '1')).code, 0);
  // Two were made within this minute.
  const limited = await run('hostname', 'create', 'saas.test', 'limited.test');
  t.match(limited, { code: 1, err: /up to 1 certificates per minute/ });
});
