/** Probing in the real program: an origin dies, DNS follows; the process that probes is killed; a restart takes no origin away. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { until } from '../support/until.js';

const KEY = 'k0123456789abcdef0123456789abcdef0123';
const NAME = 'www.balanced.test';

async function startOrigin(address: string, port = 0): Promise<Server> {
  const server = createServer((_request, response) => response.end());
  await once(server.listen(port, address), 'listening');
  return server;
}

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

function dig({ dnsPort }: Program): string {
  const asked = ['@127.0.0.1', '-p', String(dnsPort), '+short', '+tries=1', NAME, 'A'];
  return spawnSync('dig', asked, { encoding: 'utf8' }).stdout.trim();
}

/** The process that probes. */
function prober(): number | undefined {
  const { stdout } = spawnSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' });
  const lines = stdout.split('\n').map((line) => line.trim().split(/\s+/));
  const parents = new Map(lines.map(([pid, ppid]) => [pid, ppid]));
  const isOurs = (pid: string | undefined): boolean =>
    pid !== undefined && pid !== '0' && (pid === String(process.pid) || isOurs(parents.get(pid)));
  const found = lines.find(([pid, , ...args]) => args.join(' ').includes('probing/process.js') && isOurs(pid));
  return found ? Number(found[0]) : undefined;
}

t.test('origins, answers, and the process that probes', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-probing-'));
  const environment = { ZONEPLANE_LB_MIN_INTERVAL: '1' };
  const first = await startOrigin('127.0.0.21');
  const { port } = first.address() as AddressInfo;
  const second = await startOrigin('127.0.0.22', port);
  let program = await startProgram({ directory, key: KEY, environment });
  t.teardown(async () => {
    await stopProgram(program);
    for (const server of [first, second]) server.close().closeAllConnections();
    rmSync(directory, { recursive: true, force: true });
  });
  t.equal(prober(), undefined, 'nothing probes while there is nothing to probe');
  const zone = await call(program, 'POST', '/zones', { name: 'balanced.test' });
  const account = ((await call(program, 'GET', '/accounts')) as unknown as { id: string }[])[0]!.id;
  const at = `/accounts/${account}/load_balancers`;
  const monitor = await call(program, 'POST', `${at}/monitors`, { ...{ port, interval: 1, timeout: 1 }, retries: 0 });
  const origins = [21, 22].map((last) => ({ name: `o${last}`, address: `127.0.0.${last}` }));
  const pool = await call(program, 'POST', `${at}/pools`, { name: 'web', monitor: monitor['id'], origins });
  const pools = { default_pools: [pool['id']], fallback_pool: pool['id'] };
  await call(program, 'POST', `/zones/${zone['id']}/load_balancers`, { name: NAME, ...pools, ttl: 10 });
  const state = async (): Promise<string> => {
    const { pop_health: pops } = await call(program, 'GET', `${at}/pools/${pool['id']}/health`);
    return Object.values(pops as unknown as Record<string, { origins: Record<string, { healthy: boolean }>[] }>)
      .flatMap(({ origins: list }) => list.flatMap((one) => Object.entries(one)))
      .map(([address, { healthy }]) => `${address.slice(-2)}${healthy ? '+' : '-'}`)
      .join(' ');
  };
  await until(async () => (await state()) === '21+ 22+', 'both origins to be healthy');
  const answers = new Set<string>();
  await until(() => answers.add(dig(program)).size === 2, 'both to be answered');

  const killed = prober()!;
  process.kill(killed, 'SIGKILL');
  t.equal(await state(), '21+ 22+', 'what is stored counts');
  second.close().closeAllConnections();
  await until(async () => (await state()) === '21+ 22-', 'another process to find the second one dead');
  t.not(prober(), killed);
  await until(
    () => Array.from({ length: 8 }, () => dig(program)).every((text) => text === '127.0.0.21'),
    'DNS to follow',
  );

  await stopProgram(program);
  t.equal(prober(), undefined, 'it ends with the program');
  program = await startProgram({ directory, key: KEY, environment });
  t.equal(dig(program), '127.0.0.21', 'the first answer after a restart');
  const metrics = await (await fetch(`${program.api}/metrics`)).text();
  t.match(metrics, /zoneplane_probing_restarts_total 0/);
  t.notMatch(program.printed(), /"level":50/);
});
