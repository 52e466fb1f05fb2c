/** `zoneplane lb` in this process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { loadSettings } from '../../src/config/load.js';
import { removeRunning, writeRunning } from '../../src/roles/process/data-directory.js';
import { type Outcome, runCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cli-lb-'));
const ENVIRONMENT = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
t.teardown(() => rmSync(directory, { recursive: true }));

const run = (...args: readonly string[]): Promise<Outcome> => runCommand(ENVIRONMENT, ...args);

t.test('a load balancer is made, listed, looked at, drained and deleted', async (t) => {
  t.equal((await run('zone', 'create', 'example.org', '--init')).code, 0);
  const origins = ['--origins', '198.51.100.1, 198.51.100.2'];
  const made = await run('lb', 'create', 'www.example.org', ...origins, '--monitor', 'https', '--path', '/up');
  t.match(made, {
    code: 0,
    out: 'www.example.org is answered from the pool www-example-org, which is probed by https\nSee its health with `zoneplane lb status www.example.org`.\n',
    err: /no data/,
  });
  const again = await run('lb', 'create', 'www.example.org', ...origins, '--monitor', 'https');
  t.match(again, { code: 1, err: /name www\.example\.org has a load balancer already/ });
  t.match(await run('lb', 'create', 'www.example.net', ...origins), { code: 1, err: /there is no zone for/ });
  t.match(await run('lb', 'create', 'a.example.org', ...origins, '--path', '/x'), { code: 2, err: /about a monitor/ });
  t.match(await run('lb', 'create', 'a.example.org', '--origins', 'x y'), {
    code: 1,
    err: /is neither an address nor a host/,
  });
  const often = ['lb', 'create', 'often.example.org', ...origins, '--monitor', 'http', '--interval', '10', '--json'];
  t.match(JSON.parse((await run(...often)).out), { monitor: { interval: 10, timeout: 5, retries: 1 } });
  t.equal((await run('lb', 'delete', 'often.example.org')).code, 0);
  const second = JSON.parse((await run('lb', 'create', '*.example.org', ...origins, '--json')).out);
  t.match(second, { load_balancer: { name: '*.example.org' }, pool: { name: 'wildcard-example-org' } });
  const listed = JSON.parse((await run('lb', 'list', '--json')).out);
  t.match(
    listed,
    [{ name: 'www.example.org' }, { name: '*.example.org' }].sort((a, b) => (a.name < b.name ? -1 : 1)),
  );
  t.match((await run('lb', 'list')).out, /www\.example\.org +example\.org +default +1 +DNS +yes/);

  const status = async () => JSON.parse((await run('lb', 'status', 'www.example.org', '--json')).out);
  t.match(await status(), [
    { pool: 'www-example-org', origin: 'origin-1', address: '198.51.100.1', state: 'unknown' },
    { origin: 'origin-2', state: 'unknown' },
  ]);
  t.match(await run('lb', 'drain', 'www-example-org', '198.51.100.1'), {
    ...{ code: 0, out: 'origin-1 of www-example-org is disabled\n' },
  });
  t.match(await status(), [{ state: 'disabled' }, { state: 'unknown' }]);
  t.equal((await run('lb', 'drain', 'www-example-org', 'origin-1', '--undo')).code, 0);
  t.match(await status(), [{ state: 'unknown' }, { state: 'unknown' }]);
  const terminal = { ...ENVIRONMENT, ZONEPLANE_LB_MAX_ORIGINS: '1' };
  const drain = ['lb', 'drain', 'www-example-org', 'origin-1', '--undo'];
  t.match(await runCommand(terminal, ...drain), { code: 1, err: /in range \[1, 1\]/ }, 'no server runs');
  const flags = { 'data-dir': ENVIRONMENT.ZONEPLANE_DATA_DIR };
  const { settings } = loadSettings({ flags, environment: {} });
  const running = { version: '1.0.0', adminUrl: 'http://127.0.0.1:1', dns: [], settings };
  writeRunning(ENVIRONMENT.ZONEPLANE_DATA_DIR, running, silentLogger());
  t.match(await runCommand(terminal, ...drain), { code: 0 }, 'the server that runs decides');
  removeRunning(ENVIRONMENT.ZONEPLANE_DATA_DIR);
  t.match(await run('lb', 'drain', 'www-example-org', 'origin-9'), { code: 1, err: /It has origin-1, origin-2/ });
  t.match(await run('lb', 'status', 'ww.example.org'), { code: 1, err: /did you mean www\.example\.org\?/ });
  const explained = await run('lb', 'explain', 'www.example.org', '--from', '192.0.2.53', '--ecs', '203.0.113.0/24');
  t.match(explained, { code: 0, out: /No pool is left: the fallback pool www-example-org.*one of 2, although not/s });
  t.match(explained.out, /Client subnet 203\.0\.113\.0\/24.*origin {2}origin-2 {2}198\.51\.100\.2/s);
  const json = JSON.parse((await run('lb', 'explain', 'www.example.org', '--type', 'AAAA', '--json')).out);
  t.match(json, {
    type: 'AAAA',
    client_subnet: null,
    answer: [],
    steps: [/in order/, /critical/, /fallback/, /no data/],
  });
  t.match(await run('lb', 'explain', 'www.example.org', '--at', '2020-01-01T00:00:00Z'), {
    code: 1,
    err: /known only since/,
  });
  t.match(await run('lb', 'explain', 'www.example.org', '--at', 'noon'), { code: 2, err: /noon is not a time/ });
  t.equal((await run('lb', 'delete', 'www.example.org')).code, 0);
  t.match(await run('lb', 'status', 'www.example.org'), { code: 1 });
});
