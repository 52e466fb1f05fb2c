/** The real program: started, queried, crashed, started twice, drained. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { connect as connectPlain, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { connect } from 'node:tls';
import t from 'tap';
import { SystemClock, sleep } from '../../src/base/clock.js';
import { createUpstream, type Upstream } from '../../src/resolver/upstream.js';
import { openStore } from '../../src/store/driver.js';
import { frame, makeQuery } from '../server/clients.js';
import { TLS_CERTIFICATE, TLS_KEY } from '../server/tls-credentials.js';
import { ENVIRONMENT } from '../support/environment.js';
import { freePort } from '../support/free-ports.js';
import { until } from '../support/until.js';

const clock = new SystemClock();
const PROGRAM = resolve('build/src/main.js');
const KEY = 'e2e-key-0123456789-0123456789-0123456789';
const ZONE = `$ORIGIN example.com.
$TTL 300
@ IN SOA ns1.example.net. hostmaster.example.com. 7 3600 600 86400 60
@ IN NS ns1.example.net.
www IN A 192.0.2.10
`;

interface Server {
  readonly child: ChildProcess;
  readonly directory: string;
  readonly api: string;
  readonly dns: Upstream;
  readonly environment: NodeJS.ProcessEnv;
  /** Everything printed so far, standard output and standard error. */
  output(): string;
  /** Lines of the log with this message. */
  logged(message: string): Record<string, unknown>[];
}

async function startServer(
  directory: string,
  args: readonly string[] = [],
  extra: NodeJS.ProcessEnv = {},
): Promise<Server> {
  const [dnsPort, adminPort] = [await freePort(), await freePort()];
  const environment = {
    ...ENVIRONMENT,
    ZONEPLANE_DATA_DIR: join(directory, 'data'),
    ZONEPLANE_ZONES_DIR: join(directory, 'zones'),
    ZONEPLANE_DNS_HOST: '127.0.0.1',
    ZONEPLANE_DNS_PORT: String(dnsPort),
    ZONEPLANE_DNS_WORKERS: '1',
    ZONEPLANE_ADMIN_PORT: String(adminPort),
    ZONEPLANE_RESOLVER_UPSTREAMS: '',
    ...extra,
  };
  const child = spawn(process.execPath, [PROGRAM, 'serve', ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (piece: Buffer) => (output += piece));
  return {
    child,
    directory,
    environment,
    api: `http://127.0.0.1:${adminPort}`,
    dns: createUpstream({ servers: [{ host: '127.0.0.1', port: dnsPort }], clock, timeoutMs: 5000 }),
    output: () => output,
    logged: (message) =>
      output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ msg }) => typeof msg === 'string' && msg.includes(message)),
  };
}

/** Waits for the last thing `serve` says when it starts. */
async function untilReady(server: Server): Promise<void> {
  const { child } = server;
  await until(() => server.logged('ready').length > 0 || child.exitCode !== null, 'ready');
  if (child.exitCode !== null) throw new Error(`serve ended: ${server.output()}`);
}

async function status(server: Server, path: string): Promise<number> {
  try {
    const response = await fetch(`${server.api}${path}`);
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

async function exitCode(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** 0 when there is none. */
function childOf(server: Server, role: string): number {
  const { stdout } = spawnSync('ps', ['--ppid', String(server.child.pid), '-o', 'pid=,args='], { encoding: 'utf8' });
  const found = stdout.split('\n').find((line) => line.includes(`--role ${role}`));
  return Number(found?.trim().split(' ')[0] ?? 0);
}

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-process-'));
  mkdirSync(join(directory, 'zones'));
  writeFileSync(join(directory, 'zones', 'example.com.zone'), ZONE);
  return directory;
}

async function run(server: Server, ...args: string[]): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    env: server.environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (text += piece));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, text };
}

t.test('the lifetime of serve', async (t) => {
  const directory = makeDirectory();
  const server = await startServer(directory, [], { ZONEPLANE_ADMIN_KEY: KEY });
  t.teardown(async () => {
    if (server.child.exitCode === null) server.child.kill('SIGKILL');
    await sleep(100);
    rmSync(directory, { recursive: true, force: true });
  });
  const authorised = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' };

  await t.test('ready means that queries are answered', async (t) => {
    await untilReady(server);
    t.equal(await status(server, '/readyz'), 200);
    t.equal(await status(server, '/livez'), 200);
    const answer = await server.dns.query('www.example.com', 'A');
    t.match(answer, { status: 'ok', records: [{ content: '192.0.2.10', ttl: 300 }] });
    t.equal((await server.dns.query('none.example.com', 'A')).status, 'nxdomain');
    t.match(server.logged('zones served')[0], { zones: 1 });
    t.equal(statSync(join(directory, 'data')).mode & 0o777, 0o700);
    t.notOk(existsSync(join(directory, 'data', 'initial-key')), 'the key came from the settings');
    t.notMatch(server.output(), KEY);
    const environment = `/proc/${childOf(server, 'dns')}/environ`;
    if (existsSync(environment)) t.notMatch(readFileSync(environment, 'utf8'), KEY, 'DNS is given no secrets');
  });

  await t.test('a record made by the API is in the DNS', async (t) => {
    const zones = await fetch(`${server.api}/client/v4/zones?name=example.com`, { headers: authorised });
    const { result } = (await zones.json()) as { result: { id: string }[] };
    const created = await fetch(`${server.api}/client/v4/zones/${result[0]!.id}/dns_records`, {
      method: 'POST',
      headers: authorised,
      body: JSON.stringify({ type: 'A', name: 'fresh', content: '192.0.2.77', ttl: 120 }),
    });
    t.equal(created.status, 200);
    await until(async () => {
      const { records } = await server.dns.query('fresh.example.com', 'A');
      return records[0]?.content === '192.0.2.77';
    }, 'the record in the DNS');
    const metrics = await (await fetch(`${server.api}/metrics`)).text();
    t.match(metrics, /^zoneplane_dns_queries_total\{transport="udp"\} \d+$/m);
    const counted = [...metrics.matchAll(/^zoneplane_turns_held\{kind="([\w-]+)"\}/gm)].map(([, kind]) => kind);
    const kinds = [
      'writes',
      'reads',
      'bodies',
      'passwords',
      'template-texts',
      'notify',
      'alerts',
      'alert-tests',
      'probes',
    ];
    t.strictSame(
      kinds.filter((kind) => !counted.includes(kind)),
      [],
      'turns that nobody has taken are counted, too',
    );
    t.match(metrics, /^zoneplane_turns_waited_seconds_total\{kind="writes"\} [\d.e-]*[1-9]/m);
  });

  await t.test('a change by command is served like one by API', async (t) => {
    const added = await run(server, 'record', 'add', 'example.com', 'typed', 'A', '192.0.2.78');
    t.equal(added.code, 0, added.text);
    await until(async () => {
      const { records } = await server.dns.query('typed.example.com', 'A');
      return records[0]?.content === '192.0.2.78';
    }, 'the record in the DNS');
    const health = await run(server, 'healthcheck');
    t.match(health, { code: 0, text: /ok {2}http .*\nok {2}dns .*example\.com SOA answered/ });
    const elsewhere = await run(server, 'healthcheck', '--admin-port', '1');
    t.match(elsewhere, { code: 1, text: /FAIL {2}http {2}http:\/\/127\.0\.0\.1:1\// }, 'a flag counts');
  });

  await t.test('a killed DNS process is started again and answers', async (t) => {
    const before = childOf(server, 'dns');
    process.kill(before, 'SIGKILL');
    await until(async () => (await status(server, '/readyz')) === 503, 'not ready');
    await until(async () => (await status(server, '/readyz')) === 200, 'ready again');
    t.equal((await server.dns.query('fresh.example.com', 'A')).status, 'ok');
    t.not(childOf(server, 'dns'), before);
    t.equal(server.logged('the dns process was ended by SIGKILL; starting it again').length, 1);
  });

  await t.test('three kills in a row are made up for without a pause', async (t) => {
    for (let i = 0; i < 2; i++) {
      const before = childOf(server, 'dns');
      process.kill(before, 'SIGKILL');
      await until(() => ![0, before].includes(childOf(server, 'dns')), 'another DNS process');
      await until(async () => (await status(server, '/readyz')) === 200, 'ready again');
    }
    t.strictSame(
      server.logged('the dns process was ended by SIGKILL').map(({ delayMs }) => delayMs),
      [0, 0, 0],
    );
  });

  await t.test('a killed admin process is started again, and DNS answers meanwhile', async (t) => {
    process.kill(childOf(server, 'admin'), 'SIGKILL');
    t.equal((await server.dns.query('fresh.example.com', 'A')).status, 'ok');
    await until(async () => (await status(server, '/readyz')) === 200, 'the API again');
    t.equal((await fetch(`${server.api}/client/v4/zones`, { headers: authorised })).status, 200);
  });

  await t.test('a second serve refuses', async (t) => {
    const second = await run(server, 'serve');
    t.equal(second.code, 1);
    t.match(
      second.text,
      new RegExp(`another zoneplane serve \\(process ${server.child.pid}\\) is using the data directory`),
    );
    t.notMatch(second.text, / {4}at /, 'no stack');
  });

  await t.test('SIGTERM drains', async (t) => {
    const children = [childOf(server, 'dns'), childOf(server, 'admin')];
    // A shell sends it to the whole group of a job, in any order.
    for (const pid of children) process.kill(pid, 'SIGTERM');
    server.child.kill('SIGTERM');
    t.equal(await exitCode(server.child), 0, server.output());
    t.notMatch(server.output(), /ended with exit code 0/);
    t.equal(server.logged('stopped').length, 1);
    for (const pid of children) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    t.match(await run(server, 'healthcheck', '--timeout', '300'), { code: 1, text: /FAIL {2}http .*\nFAIL {2}dns/ });
  });

  await t.test('a restart serves what was there, and imports nothing again', async (t) => {
    rmSync(join(directory, 'zones'), { recursive: true });
    mkdirSync(join(directory, 'zones'));
    const again = await startServer(directory);
    await untilReady(again);
    t.equal((await again.dns.query('fresh.example.com', 'A')).status, 'ok');
    const response = await fetch(`${again.api}/client/v4/zones`, { headers: authorised });
    t.equal(response.status, 200, 'the key of the first start is still good');
    again.child.kill('SIGTERM');
    t.equal(await exitCode(again.child), 0);
  });
});

t.test('without a key and a terminal, the key is in a file that only its owner can read', async (t) => {
  const directory = makeDirectory();
  const server = await startServer(directory);
  t.teardown(async () => {
    server.child.kill('SIGTERM');
    await exitCode(server.child);
    rmSync(directory, { recursive: true, force: true });
  });
  await untilReady(server);
  const file = join(directory, 'data', 'initial-key');
  t.equal(statSync(file).mode & 0o777, 0o600);
  const key = readFileSync(file, 'utf8').trim();
  t.match(key, /^[0-9a-zA-Z_-]{37,}$/);
  t.notMatch(server.output(), key);
  const byKey = { 'x-auth-email': 'admin@localhost', 'x-auth-key': key };
  t.equal((await fetch(`${server.api}/client/v4/zones`, { headers: byKey })).status, 200);

  // kill -9 of the supervisor while an upload is under way: the next start waits for the children to leave.
  const upload = connectPlain(Number(new URL(server.api).port), '127.0.0.1').on('error', () => {});
  upload.write('POST /client/v4/zones HTTP/1.1\r\nhost: a\r\nx-auth-email: admin@localhost\r\n');
  upload.write(`x-auth-key: ${key}\r\ncontent-length: 1000\r\n\r\n{`);
  await once(upload, 'connect');
  server.child.kill('SIGKILL');
  await exitCode(server.child);
  const again = await startServer(directory);
  await untilReady(again);
  again.child.kill('SIGTERM');
  t.equal(await exitCode(again.child), 0);
});

t.test('a slow reader neither delays shutdown for long nor stops DNS', async (t) => {
  const directory = makeDirectory();
  const bucketPort = await freePort();
  const server = await startServer(directory, [], {
    ZONEPLANE_BUCKET_PORT: String(bucketPort),
    ZONEPLANE_BUCKET_ALLOW_LIST: 'large.bin',
    AUTH_KEY_SECRET: KEY,
  });
  t.teardown(async () => {
    if (server.child.exitCode === null) server.child.kill('SIGKILL');
    await exitCode(server.child);
    rmSync(directory, { recursive: true, force: true });
  });
  await untilReady(server);
  const stored = await fetch(`http://127.0.0.1:${bucketPort}/large.bin`, {
    method: 'PUT',
    headers: { 'x-custom-auth-key': KEY },
    body: Buffer.alloc(64 << 20),
  });
  t.equal(stored.status, 200);
  const reader = connectPlain(bucketPort, '127.0.0.1').on('error', () => {});
  reader.write('GET /large.bin HTTP/1.1\r\nhost: a\r\n\r\n');
  await once(reader, 'readable');
  const [admin, dns] = [childOf(server, 'admin'), childOf(server, 'dns')];
  process.kill(admin, 'SIGSTOP');
  server.child.kill('SIGTERM');
  await until(() => server.logged('stopping').length > 0, 'the order to stop');
  t.equal((await server.dns.query('www.example.com', 'A')).status, 'ok', 'DNS waits for the admin process');
  process.kill(dns, 0);
  process.kill(admin, 'SIGCONT');
  t.equal(await exitCode(server.child), 0, 'nothing had to be cut off by the limit of the drain');
  t.equal(server.logged('stopping took longer').length, 0);
  reader.destroy();
});

t.test('a restart answers DNS without waiting for the admin process', async (t) => {
  const directory = makeDirectory();
  const first = await startServer(directory);
  await untilReady(first);
  first.child.kill('SIGTERM');
  t.equal(await exitCode(first.child), 0);
  const again = await startServer(directory);
  t.teardown(async () => {
    again.child.kill('SIGKILL');
    await exitCode(again.child);
    rmSync(directory, { recursive: true, force: true });
  });
  let admin = 0;
  await until(() => (admin = childOf(again, 'admin')) !== 0, 'an admin process');
  process.kill(admin, 'SIGSTOP');
  await until(async () => (await again.dns.query('www.example.com', 'A')).status === 'ok', 'an answer');
  t.equal(again.logged('admin API listens').length, 0, 'the admin process was stopped before it was ready');
  process.kill(admin, 'SIGCONT');
  await untilReady(again);
  t.equal(await status(again, '/readyz'), 200);
});

t.test('changes that were lost with the write-ahead log are reported', async (t) => {
  const directory = makeDirectory();
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const first = await startServer(directory);
  t.teardown(() => first.child.kill('SIGKILL'));
  await untilReady(first);
  first.child.kill('SIGTERM');
  t.equal(await exitCode(first.child), 0);
  const server = await startServer(directory);
  t.teardown(() => server.child.kill('SIGKILL'));
  await untilReady(server);
  const added = await run(server, 'record', 'add', 'example.com', 'new', 'A', '192.0.2.9');
  t.equal(added.code, 0, added.text);
  const children = ['admin', 'dns'].map((role) => childOf(server, role));
  for (const pid of [server.child.pid!, ...children]) process.kill(pid, 'SIGKILL');
  await exitCode(server.child);
  rmSync(join(directory, 'data', 'zoneplane.db-wal'));
  const before = await run(server, 'doctor');
  t.match(before.text, /fail +changes +.*acknowledged and lost/);
  const again = await startServer(directory);
  t.teardown(() => again.child.kill('SIGKILL'));
  await untilReady(again);
  t.equal(again.logged('were acknowledged and are lost').length, 1);
  const after = await run(again, 'doctor');
  t.match(after.text, /warn +changes +.*acknowledged and lost.*; noticed 2/);
  again.child.kill('SIGTERM');
  t.equal(await exitCode(again.child), 0);
});

t.test('DNS over TLS with certificate and key from files', async (t) => {
  const directory = makeDirectory();
  const port = await freePort();
  writeFileSync(join(directory, 'cert.pem'), TLS_CERTIFICATE);
  writeFileSync(join(directory, 'key.pem'), TLS_KEY);
  const tls = {
    ZONEPLANE_DOT_PORT: String(port),
    ZONEPLANE_TLS_CERT: join(directory, 'cert.pem'),
    ZONEPLANE_TLS_KEY: join(directory, 'key.pem'),
  };
  const missing = await startServer(directory, [], { ...tls, ZONEPLANE_TLS_KEY: join(directory, 'none.pem') });
  t.same(await once(missing.child, 'close'), [1, null]);
  t.match(missing.output(), /the TLS file .*none\.pem cannot be read/);
  const server = await startServer(directory, [], tls);
  t.teardown(async () => {
    server.child.kill('SIGTERM');
    await exitCode(server.child);
    rmSync(directory, { recursive: true, force: true });
  });
  await untilReady(server);
  const socket = connect({ port, host: '127.0.0.1', ca: TLS_CERTIFICATE, servername: 'ns1.zoneplane.test' });
  await once(socket, 'secureConnect');
  socket.write(frame(makeQuery(77, 'www.example.com', 1)));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  t.equal(answer.readUInt16BE(2), 77);
  t.equal(answer.readUInt16BE(8), 1, 'one answer');
});

/** Starts a server with a limit of the shell; it is ended when it does not refuse. */
function startLimited(directory: string, limit: string): { readonly status: number | null; readonly stderr: string } {
  const command = `ulimit ${limit}; exec "$0" "$@"`;
  return spawnSync('sh', ['-c', command, process.execPath, PROGRAM, 'serve'], {
    encoding: 'utf8',
    cwd: directory,
    timeout: 60_000,
  });
}

t.test('low limits of open files and address space are refused in a sentence', async (t) => {
  const directory = makeDirectory();
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  for (const [limit, sentence] of [
    ['-n 100', /^zoneplane: this process may have 100 open files, and zoneplane needs at least 128\n/],
    [
      '-v 2500000',
      /^zoneplane: this process may have 2441 MiB of address space, .* needs at least \d{4,6} MiB\n.*ulimit -v/,
    ],
  ] as const) {
    const { status, stderr } = startLimited(directory, limit);
    t.equal(status, 1, limit);
    t.match(stderr, sentence);
    t.notMatch(stderr, / {4}at /, 'no stack');
  }
});

t.test('a process that cannot start says why in a sentence', async (t) => {
  const directory = makeDirectory();
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const blocker = createServer().listen(0, '127.0.0.1');
  await once(blocker, 'listening');
  const port = String((blocker.address() as { port: number }).port);

  async function refusal(extra: NodeJS.ProcessEnv): Promise<[number | null, string]> {
    const server = await startServer(directory, [], extra);
    const [code] = (await once(server.child, 'close')) as [number | null];
    t.notMatch(server.output(), / {4}at /, 'no stack');
    return [code, server.output()];
  }
  t.match(await refusal({ ZONEPLANE_ADMIN_PORT: port }), [
    1,
    /cannot listen for the admin API .* taken by another program/,
  ]);
  t.match(await refusal({ ZONEPLANE_DNS_PORT: port }), [1, /cannot listen on TCP 127\.0\.0\.1 port \d+: .*taken/]);
  t.match(await refusal({ ZONEPLANE_DNS_HOST: '192.0.2.1' }), [1, /does not belong to this machine/]);
  t.match(await refusal({ ZONEPLANE_DNS_PORT: 'x' }), [2, /ZONEPLANE_DNS_PORT=x: expected a port/]);
  t.match(await refusal({ ZONEPLANE_ZONES_DIR: join(directory, 'none'), ZONEPLANE_DATA_DIR: join(directory, 'new') }), [
    1,
    /cannot be listed/,
  ]);
  writeFileSync(join(directory, 'file'), '');
  t.match(await refusal({ ZONEPLANE_DATA_DIR: join(directory, 'file') }), [1, /is not a directory/]);
  mkdirSync(join(directory, 'broken'));
  writeFileSync(join(directory, 'broken', 'zoneplane.db'), 'this is not a database '.repeat(100));
  t.match(await refusal({ ZONEPLANE_DATA_DIR: join(directory, 'broken') }), [
    1,
    /zoneplane\.db is not a usable database/,
  ]);
  for (const [version, sentence] of [
    [9999, /was written by a newer zoneplane/],
    [196, /was written by a preview of zoneplane whose tables are older/],
  ] as const) {
    const other = join(directory, String(version));
    const store = openStore(other);
    store.alter((run) => run(`PRAGMA user_version = ${version}`));
    store.close();
    const before = readFileSync(join(other, 'zoneplane.db'));
    t.match(await refusal({ ZONEPLANE_DATA_DIR: other }), [1, sentence]);
    t.strictSame(readFileSync(join(other, 'zoneplane.db')), before, 'nothing was written');
    t.strictSame(
      readdirSync(other).filter((name) => !/^zoneplane\.db|\.lock$/.test(name)),
      [],
    );
  }
  blocker.close();
});
