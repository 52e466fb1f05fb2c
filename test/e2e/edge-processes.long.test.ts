/**
 * Two edge processes of the real program at the same ports: what one client may have, it has of both together; what is purged is purged
 * in both; and the end of one is nobody else's.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { ENVIRONMENT } from '../support/environment.js';
import { freePort } from '../support/free-ports.js';
import { childrenOf, type Program, startProgram, stopProgram } from '../support/program.js';
import { until } from '../support/until.js';

const KEY = 'edge-key-0123456789-0123456789-0123456789';
const HOST = 'www.shop.example';
/** Of one client at origins. */
const PLACES = 3;
const skip = process.platform === 'linux' ? false : 'several edge processes need Linux';

/** An origin that holds requests for `/held` until they are released, and counts them. */
async function startOrigin(t: Test) {
  const held = new Set<ServerResponse>();
  let asked = 0;
  const server = createServer((message, response) => {
    asked++;
    if (message.url === '/where') {
      response.end(message.socket.localAddress);
      return;
    }
    if (message.url !== '/held') {
      response.setHeader('cache-control', 'max-age=600');
      response.end(`answer ${asked}`);
      return;
    }
    held.add(response);
    response.once('close', () => held.delete(response));
  });
  server.listen(0, '0.0.0.0');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const release = (): void => {
    for (const response of held) response.end('released');
  };
  return { port: (server.address() as AddressInfo).port, held, release };
}

async function startTwo(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-edges-'));
  const origin = await startOrigin(t);
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const program = await startProgram({
    ...{ directory, key: KEY },
    environment: {
      ZONEPLANE_EDGE: 'on',
      ZONEPLANE_EDGE_PROCESSES: '2',
      ZONEPLANE_EDGE_HOST: '127.0.0.1',
      ZONEPLANE_EDGE_HTTP_PORT: String(httpPort),
      ZONEPLANE_EDGE_HTTPS_PORT: String(httpsPort),
      ZONEPLANE_EDGE_CLIENT_CONNECTIONS: String(PLACES),
    },
  });
  t.teardown(async () => {
    await stopProgram(program);
    rmSync(directory, { recursive: true, force: true });
  });
  const call = async <Result>(method: string, path: string, body?: unknown): Promise<Result> => {
    const response = await fetch(`${program.api}/client/v4${path}`, {
      method,
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return ((await response.json()) as { result: Result }).result;
  };
  const { id } = await call<{ id: string }>('POST', '/zones', { name: 'shop.example' });
  await call('POST', `/zones/${id}/dns_records`, { type: 'A', name: 'origin', content: '127.0.0.1' });
  const settings = { origin_port: origin.port };
  const proxied = { type: 'CNAME', name: 'www', content: 'origin.shop.example', proxied: true, settings };
  await call('POST', `/zones/${id}/dns_records`, proxied);
  await call('PATCH', `/zones/${id}/settings/ssl`, { value: 'flexible' });
  await until(async () => edges(program).length === 2 && /"msg":"edge listens"/.test(program.printed()));
  const metrics = async (): Promise<string> => (await fetch(`${program.api}/metrics`)).text();
  return { directory, program, origin, httpPort, httpsPort, zone: `/zones/${id}`, call, metrics };
}

/** The edge processes that run. */
function edges({ child }: Program): number[] {
  return childrenOf(child.pid!, 'edge');
}

/** Which of the processes has the other end of a connection. */
function holderOf(socket: Socket, pids: readonly number[]): number | undefined {
  const ends = [socket.remotePort!, socket.localPort!].map((port) => port.toString(16).toUpperCase().padStart(4, '0'));
  const line = readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .map((text) => text.trim().split(/\s+/))
    .find(([, local, remote]) => local?.endsWith(`:${ends[0]}`) && remote?.endsWith(`:${ends[1]}`));
  const name = `socket:[${line?.[9]}]`;
  return pids.find((pid) =>
    readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`) === name;
      } catch {
        return false;
      }
    }),
  );
}

/** A connection to one of the processes: the system deals them out, so it takes some attempts. */
async function connectionTo<Made extends Socket>(pid: number, program: Program, open: () => Made): Promise<Made> {
  for (;;) {
    const socket = open();
    const event = 'getSession' in socket ? 'secureConnect' : 'connect';
    // A process that was killed a moment ago still has a part of them.
    const isOpen = await Promise.race([once(socket, event), once(socket, 'close')]).then(
      () => !socket.destroyed,
      () => false,
    );
    if (isOpen) {
      let holder: number | undefined;
      await until(() => socket.destroyed || (holder = holderOf(socket, edges(program))) !== undefined);
      if (holder === pid) return socket;
    }
    socket.destroy();
  }
}

interface Asked {
  readonly status: number;
  readonly cache: string | undefined;
  readonly body: string;
}

const agents = new WeakMap<Socket, Agent>();

/** Asks over a connection that is there, once more when the answer before has come. */
async function ask(socket: Socket, path: string, headers: Record<string, string> = {}): Promise<Asked> {
  let agent = agents.get(socket);
  if (!agent) {
    agents.set(socket, (agent = new Agent({ keepAlive: true, maxSockets: 1 })));
    agent.createConnection = () => socket;
  }
  const asked = request({ agent, path, headers: { host: HOST, ...headers } }).end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let body = '';
  for await (const piece of response.setEncoding('utf8')) body += piece;
  return { status: response.statusCode!, cache: response.headers['cf-cache-status'] as string | undefined, body };
}

t.test('two processes answer as one', { skip, timeout: 300_000 }, async (t) => {
  const { directory, program, origin, httpPort, httpsPort, zone, call, metrics } = await startTwo(t);
  const [killed, second] = edges(program) as [number, number];
  let first = killed;
  const to = (pid: number): Promise<Socket> =>
    connectionTo(pid, program, () => connect({ port: httpPort, host: '127.0.0.1' }));
  const each = async (path: string): Promise<(string | undefined)[]> =>
    Promise.all([first, second].map(async (pid) => (await ask(await to(pid), path)).cache));

  await until(async () => (await ask(await to(first), '/ready')).status === 200);
  await until(async () => (await ask(await to(second), '/ready')).status === 200);

  await t.test('a purge reaches both', async (t) => {
    t.same(await each('/style.css'), ['MISS', 'MISS'], 'each has a cache of its own');
    t.same(await each('/style.css'), ['HIT', 'HIT'], 'from which it answers');
    await call('POST', `${zone}/purge_cache`, { hosts: [HOST] });
    for (const pid of [first, second]) {
      await until(async () => (await ask(await to(pid), '/style.css')).cache === 'MISS', 'a purged cache');
    }
    t.pass('and which are purged together');
  });

  await t.test('places of a client are those of both together', async (t) => {
    const ofOne = await Promise.all(Array.from({ length: PLACES + 1 }, () => to(first)));
    const [waiter, later] = [await to(second), await to(second)];
    const alone = ofOne.map((socket) => ask(socket, '/held'));
    await until(() => origin.held.size === PLACES);
    t.pass('whoever asks one process only has them all');
    const other = ask(waiter, '/held');
    t.equal((await ask(later, '/style.css')).status, 200, 'what needs no origin is answered after it');
    t.equal(origin.held.size, PLACES, 'it has to wait in the other process');
    const cancel = setInterval(origin.release, 5);
    t.same(
      (await Promise.all([...alone, other])).map(({ status, body }) => `${status} ${body}`),
      Array.from({ length: PLACES + 2 }, () => '200 released'),
    );
    clearInterval(cancel);
  });

  await t.test('clients keep their origins', async (t) => {
    const { account } = await call<{ account: { id: string } }>('GET', zone);
    const origins = ['127.0.0.1', '127.0.0.2'].map((address) => ({ name: address, address, port: origin.port }));
    const pools = `/accounts/${account.id}/load_balancers/pools`;
    const { id } = await call<{ id: string }>('POST', pools, { name: 'both', origins });
    await call('POST', `${zone}/load_balancers`, {
      ...{ name: 'lb.shop.example', default_pools: [id], fallback_pool: id, proxied: true },
      ...{ session_affinity: 'header', session_affinity_attributes: { headers: ['x-user'] } },
    });
    const where = async (socket: Socket, user: string): Promise<string> =>
      (await ask(socket, '/where', { host: 'lb.shop.example', 'x-user': user })).body;
    for (const pid of [first, second])
      await until(async () => (await where(await to(pid), 'first')).startsWith('127.'));
    const [one, other] = [await to(first), await to(second)];
    const users = Array.from({ length: 24 }, (_, i) => `user ${i}`);
    const chosen = [];
    for (const user of users) chosen.push(await where(one, user));
    t.equal(new Set(chosen).size, 2, 'both origins are used');
    await until(async () => {
      const pairs = [];
      for (const user of users) pairs.push([await where(one, user), await where(other, user)] as const);
      return pairs.every(([here, there]) => here === there);
    });
    t.pass('sessions by fields are the same in both');
  });

  await t.test('a TLS session of one is good for the other', async (t) => {
    const secure = (session?: Buffer) => (): TLSSocket =>
      connectTls({
        ...{ port: httpsPort, host: '127.0.0.1', servername: HOST, rejectUnauthorized: false },
        ...{ maxVersion: 'TLSv1.2', ...(session && { session }) },
      });
    await until(async () => {
      const trial = secure()();
      const [event] = await Promise.race([once(trial, 'secureConnect').then(() => ['ok']), once(trial, 'error')]);
      trial.destroy();
      return event === 'ok';
    });
    const begun = await connectionTo(first, program, secure());
    const resumed = await connectionTo(second, program, secure(begun.getSession()!));
    t.not(begun.isSessionReused(), 'a new session');
    t.ok(resumed.isSessionReused(), 'resumed by the other process');
    for (const socket of [begun, resumed]) socket.destroy();
  });

  await t.test('the end of one is not the other’s', async (t) => {
    const [lost, kept] = [await to(first), await to(second)];
    const [failing, staying] = [ask(lost, '/held'), ask(kept, '/held')];
    failing.catch(() => {});
    await until(() => origin.held.size === 2);
    process.kill(first, 'SIGKILL');
    await t.rejects(failing, 'its own connections end');
    t.equal((await ask(await to(second), '/style.css')).status, 200, 'the other one answers');
    await until(() => edges(program).length === 2);
    first = edges(program).find((pid) => pid !== second)!;
    const more = await Promise.all(Array.from({ length: PLACES - 1 }, () => to(second)));
    const asked = more.map((socket) => ask(socket, '/held'));
    await until(() => origin.held.size === PLACES);
    origin.release();
    t.same(
      (await Promise.all([staying, ...asked])).map(({ body }) => body),
      Array.from({ length: PLACES }, () => 'released'),
      'the places of the dead process are free',
    );
    await until(async () => (await ask(await to(first), '/style.css')).status === 200);
    t.pass('it was started again');
  });

  await t.test('metrics add up', async (t) => {
    await until(async () => {
      const said = await metrics();
      const sampleOf = (line: string): number => Number(new RegExp(`^zoneplane_${line} (\\d+)$`, 'm').exec(said)?.[1]);
      const ofEach = [1, 2].map((number) => sampleOf(`edge_process_requests_total\\{process="${number}"\\}`));
      const all = [...said.matchAll(/^zoneplane_edge_requests_total\{.*\} (\d+)$/gm)].map(([, value]) => Number(value));
      const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);
      return sampleOf('edge_processes') === 2 && sum(ofEach) === sum(all) && ofEach.every((value) => value > 0);
    });
    t.pass();
  });

  await t.test('doctor counts them, and they run in the foreground, too', async (t) => {
    const environment = { ...ENVIRONMENT, ZONEPLANE_DATA_DIR: join(directory, 'data') };
    const doctor = async (): Promise<{ what: string }[]> => {
      const run = promisify(execFile)(process.execPath, ['build/src/main.js', 'doctor', '--json'], {
        env: environment,
      });
      // It fails for what else it finds.
      return JSON.parse((await run.catch((error: { stdout: string }) => error)).stdout) as { what: string }[];
    };
    t.match(
      (await doctor()).filter(({ what }) => what === 'edge'),
      [{ verdict: 'ok', text: '2 of 2 processes listen' }],
    );
    const [http, https] = [await freePort(), await freePort()];
    const apart = await startProgram({
      ...{ directory, role: 'edge' },
      environment: {
        ...{ ZONEPLANE_EDGE_PROCESSES: '2', ZONEPLANE_EDGE_HOST: '127.0.0.1' },
        ...{ ZONEPLANE_EDGE_HTTP_PORT: String(http), ZONEPLANE_EDGE_HTTPS_PORT: String(https) },
      },
    });
    const pids = edges(apart);
    t.equal(pids.length, 2);
    for (const pid of pids) {
      const socket = await connectionTo(pid, apart, () => connect({ port: http, host: '127.0.0.1' }));
      t.equal((await ask(socket, '/style.css')).status, 200);
    }
    t.equal(await stopProgram(apart), 0);
  });

  await t.test('both finish what they have begun', async (t) => {
    const asked = [await to(first), await to(second)].map((socket) => ask(socket, '/held'));
    await until(() => origin.held.size === 2);
    const stopped = stopProgram(program);
    await until(() => /"msg":"stopping/.test(program.printed()));
    await until(async () => {
      const socket = connect({ port: httpPort, host: '127.0.0.1' });
      const [event] = await Promise.race([once(socket, 'connect').then(() => ['connected']), once(socket, 'error')]);
      socket.destroy();
      return event !== 'connected';
    });
    origin.release();
    t.same(
      (await Promise.all(asked)).map(({ body }) => body),
      ['released', 'released'],
    );
    t.equal(await stopped, 0);
  });
});
