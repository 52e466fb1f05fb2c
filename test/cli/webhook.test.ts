/** `zoneplane webhook` and `zoneplane events`. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Outcome, runCommand } from '../support/commands.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-webhook-'));
const environment = {
  ZONEPLANE_DATA_DIR: join(directory, 'data'),
  ZONEPLANE_RESOLVER_UPSTREAMS: '',
  ZONEPLANE_ALLOW_NETWORKS: '127.0.0.0/8:webhooks',
};
t.teardown(() => rmSync(directory, { recursive: true }));

const run = (...args: readonly string[]): Promise<Outcome> => runCommand(environment, ...args);

t.test('a webhook is added, tried and deleted', async (t) => {
  let got = '';
  const receiver = createServer((request, response) => {
    got = String(request.headers['cf-webhook-auth']);
    response.writeHead(got === 'undefined' ? 401 : 200).end('thanks');
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => receiver.close());
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  t.match(await run('zone', 'create', 'example.com', '--init'), { code: 0 });
  t.match(await run('webhook', 'add', 'chat', 'http://10.0.0.1/'), { code: 1, err: /not a public address/ });
  t.match(await run('webhook', 'add', 'chat', url, '--type', 'nothing'), { code: 1, err: /is not supported/ });
  t.match(await run('webhook', 'list'), { code: 0, out: /There are no webhooks/ }, 'nothing of it was kept');
  t.match(await run('webhook', 'add', 'open', url), { code: 0 });
  t.match(await run('webhook', 'test', 'open'), { code: 1, err: /not delivered: the receiver answered 401/ });
  t.match(await run('webhook', 'add', 'chat', url, '--secret', 'sesame'), { code: 0, out: /zoneplane webhook test/ });
  t.match(await run('webhook', 'test', 'chat', '--json'), { code: 0, out: /"delivered": ?true/ });
  t.equal(got, 'sesame');
  t.match(await run('webhook', 'deliveries', 'chat'), { code: 0, out: /zoneplane_test +1 +200 +delivered/ });
  t.match(await run('webhook', 'list', '--json'), { code: 0, out: /"name": ?"chat"/ });
  t.match(await run('webhook', 'delete', 'chat'), { code: 0, out: /deleted webhook chat/ });
  t.match(await run('webhook', 'test', 'chat'), { code: 1, err: /there is no webhook chat/ });
});

t.test('events', async (t) => {
  t.match(await run('events', '--kind', 'zone.create'), {
    code: 0,
    out: /^\d+ {2}\S+ {2}zone\.create {2}example\.com/m,
  });
  const { out } = await run('events', '--kind', 'webhook.*', '--json');
  t.strictSame(
    out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).kind),
    ['webhook.create', 'webhook.delete', 'webhook.create', 'webhook.create', 'webhook.delete'],
  );
  t.match(await run('events', '--kind', 'pigeons'), { code: 1, err: /'pigeons' is not a kind of events/ });
});
