/** Alerts of the real program: a receiver is told while the program is killed, and a dead one keeps nobody waiting. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { runCommand } from '../support/commands.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { startToldReceivers } from '../support/told-receivers.js';
import { until } from '../support/until.js';

const KEY = 'k0123456789abcdef0123456789abcdef0123';

async function call(program: Program, method: string, path: string, body?: unknown) {
  const headers = { 'x-auth-email': 'admin@localhost', 'x-auth-key': KEY, 'content-type': 'application/json' };
  const answer = await fetch(`${program.api}/client/v4${path}`, {
    ...{ method, headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const json = (await answer.json()) as { result: never; errors: unknown };
  if (!answer.ok) throw new Error(JSON.stringify(json.errors));
  return json.result as Record<string, never>;
}

t.test('every event is told at least once, in order, although the program is killed', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-alerts-'));
  const { told, urlOf, distinct: toldAt } = await startToldReceivers(t);
  const dead = createServer(() => {});
  await once(dead.listen(0, '127.0.0.1'), 'listening');
  const deadUrl = `http://127.0.0.1:${(dead.address() as AddressInfo).port}/`;
  const start = () =>
    startProgram({
      ...{ directory, key: KEY, detached: true },
      environment: { ZONEPLANE_ALLOW_NETWORKS: '127.0.0.0/8:webhooks' },
    });
  let program = await start();
  t.teardown(async () => {
    await stopProgram(program);
    dead.close().closeAllConnections();
    rmSync(directory, { recursive: true, force: true });
  });
  const account = ((await call(program, 'GET', '/accounts')) as unknown as { id: string }[])[0]!.id;
  const zone = await call(program, 'POST', '/zones', { name: 'told.test' });
  const at = `/accounts/${account}/alerting/v3`;
  const hooks = [deadUrl, urlOf('/')].map((url) =>
    call(program, 'POST', `${at}/destinations/webhooks`, { name: 'hook', url, secret: 's' }),
  );
  const webhooks = (await Promise.all(hooks)).map(({ id }) => ({ id }));
  await call(program, 'POST', `${at}/policies`, {
    ...{ name: 'all', alert_type: 'zoneplane_record', enabled: true, mechanisms: { webhooks } },
  });
  const names: string[] = [];
  const add = async (): Promise<void> => {
    const name = `r${names.length}`;
    await call(program, 'POST', `/zones/${zone['id']}/dns_records`, { type: 'A', name, content: '198.51.100.1' });
    names.push(`${name}.told.test A`);
  };
  for (let i = 0; i < 5; i++) await add();
  await until(
    () => told.length >= 5,
    'the first events',
    () => JSON.stringify(told),
  );
  for (let i = 0; i < 5; i++) await add();
  await stopProgram(program, 'SIGKILL');
  program = await start();
  await add();
  const distinct = () => toldAt('/');
  await until(
    () => distinct().length >= names.length,
    'all events',
    () => JSON.stringify(told),
  );
  t.strictSame(distinct(), names, 'in their order, and repetitions have the same identifier');

  // With another master key, a webhook that is made now, and those from before.
  const rotated = await runCommand({ ZONEPLANE_DATA_DIR: join(directory, 'data') }, 'vault', 'rotate');
  t.equal(rotated.code, 0, rotated.err);
  const later = await call(program, 'POST', `${at}/destinations/webhooks`, {
    ...{ name: 'later', url: urlOf('/later'), secret: 'sealed-anew' },
  });
  await call(program, 'POST', `${at}/policies`, {
    ...{ name: 'later', alert_type: 'zoneplane_record', enabled: true },
    mechanisms: { webhooks: [{ id: later['id'] }] },
  });
  await add();
  await until(
    () => distinct().length === names.length && toldAt('/later').length === 1,
    'the event after the replacement',
    () => JSON.stringify(told) + program.printed(),
  );
  t.notMatch(program.printed(), /an alert could not be made/);
});
