/** Alerts of the real program: a receiver is told while the program is killed, and a dead one keeps nobody waiting. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Program, startProgram, stopProgram } from '../support/program.js';
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
  const told: { readonly id: string; readonly name: string }[] = [];
  const receiver = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { data } = JSON.parse(Buffer.concat(pieces).toString());
    told.push({ id: String(request.headers['webhook-id']), name: data.subject.name });
    response.end();
  });
  const dead = createServer(() => {});
  for (const server of [receiver, dead]) await once(server.listen(0, '127.0.0.1'), 'listening');
  const urlOf = (server: typeof dead): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const start = () =>
    startProgram({
      ...{ directory, key: KEY, detached: true },
      environment: { ZONEPLANE_ALLOW_NETWORKS: '127.0.0.0/8:webhooks' },
    });
  let program = await start();
  t.teardown(async () => {
    await stopProgram(program);
    for (const server of [receiver, dead]) server.close().closeAllConnections();
    rmSync(directory, { recursive: true, force: true });
  });
  const account = ((await call(program, 'GET', '/accounts')) as unknown as { id: string }[])[0]!.id;
  const zone = await call(program, 'POST', '/zones', { name: 'told.test' });
  const at = `/accounts/${account}/alerting/v3`;
  const hooks = [dead, receiver].map((server) =>
    call(program, 'POST', `${at}/destinations/webhooks`, { name: 'hook', url: urlOf(server), secret: 's' }),
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
  const distinct = (): string[] => [...new Map(told.map(({ id, name }) => [id, name])).values()];
  await until(
    () => distinct().length >= names.length,
    'all events',
    () => JSON.stringify(told),
  );
  t.strictSame(distinct(), names, 'in their order, and repetitions have the same identifier');
});
