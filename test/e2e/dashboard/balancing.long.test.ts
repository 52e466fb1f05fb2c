/** As a new user does it: two nginx and one command; one of them is killed, and comes back; answers and the browser follow. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { noBrowser, startDashboard } from '../../support/browser.js';
import { type Outcome, runCommand } from '../../support/commands.js';
import { freePort } from '../../support/free-ports.js';
import { hasNginx, startNginx } from '../../support/nginx.js';
import { until } from '../../support/until.js';

const NAME = 'www.shop.example';
const skip = noBrowser || (!hasNginx && 'nginx is missing');

t.test('two nginx, one of which dies and comes back', { skip }, async (t: Test) => {
  const dashboard = await startDashboard(t, { ZONEPLANE_LB_MIN_INTERVAL: '1' });
  const { program, directory, enter, call } = dashboard;
  const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const type = (...words: readonly string[]): Promise<Outcome> => runCommand(environment, ...words);
  const port = await freePort();
  const start = async (last: number) => {
    // The first listens at the address at which it is seen to run; the second there at another port, too.
    const seen = last === 1 ? port : await freePort();
    const more = last === 1 ? '' : `listen 127.0.0.1:${seen};`;
    const listen = `listen 127.0.0.${last}:${port}; ${more} location / { return 200 "${last}"; }`;
    const child = await startNginx(join(directory, `n${last}`), seen, listen);
    t.teardown(() => child.kill());
    return child;
  };
  await start(1);
  let second = await start(2);

  t.match(await type('zone', 'create', 'shop.example'), { code: 0 });
  t.match(await type('record', 'add', 'shop.example', 'plain', 'A', '127.0.0.1'), { code: 0 });
  const records = await enter('/zones/shop.example/records');
  await records.getByRole('button', { name: 'plain', exact: true }).click();
  await records.getByRole('link', { name: 'Add a second address with health check' }).click();
  const addresses = records.getByRole('textbox', { name: /^Addresses One/ });
  t.equal(await addresses.inputValue(), '127.0.0.1\n', 'behind the address of the record, another one can be typed');
  await records.context().close();
  const origins = ['--origins', '127.0.0.1,127.0.0.2'];
  const probe = ['--monitor', 'http', '--port', String(port), '--interval', '1'];
  const made = await type('lb', 'create', NAME, ...origins, ...probe);
  t.match(made, { code: 0, out: /is answered from the pool www-shop-example, which is probed by http/ });
  t.notMatch(made.err, /not probed/, 'the settings of the running server say what may be probed');

  const status = async () => JSON.parse((await type('lb', 'status', NAME, '--json')).out);
  const isSo = (state: string) => async () => (await status())[1].state === state;
  const answers = (): string[] =>
    Array.from({ length: 12 }, () => {
      const asked = ['@127.0.0.1', '-p', String(program.dnsPort), '+short', '+tries=1', NAME];
      return spawnSync('dig', asked, { encoding: 'utf8' }).stdout.trim();
    });
  const both = (): boolean => new Set(answers()).size === 2;
  const page = await enter('/pools');
  const row = page.getByRole('row', { name: /^origin-2 127\.0\.0\.2/ });
  const shows = async (text: RegExp): Promise<void> => {
    await page.reload();
    await row.getByText(text).waitFor();
  };

  await until(isSo('healthy'), 'the second to be found healthy');
  await until(both, 'both to be answered');
  await shows(/^Healthy/);

  second.kill('SIGKILL');
  await once(second, 'exit');
  await until(isSo('unhealthy'), 'the second to be found dead');
  await until(() => answers().every((address) => address === '127.0.0.1'), 'the first alone to be answered');
  await shows(/^Unhealthy: TCP connection failed/);
  t.match(
    (await type('lb', 'explain', NAME, '--from', '192.0.2.53')).out,
    /Origin origin-1, 127\.0\.0\.1: the only one\./,
  );
  const events = await call('GET', '/user/load_balancing_analytics/events?origin_name=origin-2&origin_healthy=false');
  t.match(events, [{ origins: [{ name: 'origin-2', failure_reason: 'TCP connection failed' }] }]);
  await page.getByText('TCP connection failed').last().waitFor();

  second = await start(2);
  await until(isSo('healthy'), 'the second to be found healthy again');
  await until(both, 'both to be answered again');
  await shows(/^Healthy/);
  await page.context().close();
});
