/** The DNS process, or the whole server, is replaced while questions are asked: every one of them is answered. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { frame, makeQuery } from '../server/clients.js';
import { ENVIRONMENT } from '../support/environment.js';
import { startProgram } from '../support/program.js';
import { until } from '../support/until.js';

const KEY = 'take-over-key-0123456789-0123456789-0123456789';
/** Sockets of the client: the kernel chooses the receiving socket of the server by the port of the sender. */
const SOCKETS = 16;
/** Milliseconds after which a question counts as lost; no answer takes as long on a loaded machine. */
const LOST_MS = 20_000;

interface Asking {
  readonly asked: () => number;
  /** Ends the questions; resolves with the number of those without an answer. */
  stop(): Promise<number>;
}

/** Asks by UDP, one question after the other on each socket; with `again`, once more each second, as resolvers do. */
function keepAsking(port: number, again: boolean): Asking {
  let asked = 0;
  let lost = 0;
  let stopping = false;
  const client = async (): Promise<void> => {
    const socket = createSocket('udp4');
    socket.connect(port, '127.0.0.1');
    await once(socket, 'connect');
    socket.on('error', () => {});
    for (let id = 1; !stopping; id = (id % 65_000) + 1) {
      const answered = new Promise<boolean>((resolve) => {
        const end = (success: boolean): void => {
          clearTimeout(timer);
          clearInterval(repetition);
          socket.off('message', take);
          resolve(success);
        };
        const timer = setTimeout(() => end(false), LOST_MS);
        const take = (answer: Buffer): void => {
          if (answer.readUInt16BE(0) === id && answer.readUInt16BE(6) === 1) end(true);
        };
        socket.on('message', take);
        const ask = (): void => socket.send(makeQuery(id, 'www.example.com', 1));
        const repetition = again ? setInterval(ask, 1000) : undefined;
        ask();
      });
      asked++;
      if (!(await answered)) lost++;
      await sleep(1);
    }
    socket.close();
  };
  const clients = Promise.all(Array.from({ length: SOCKETS }, client));
  return {
    asked: () => asked,
    async stop() {
      stopping = true;
      await clients;
      return lost;
    },
  };
}

/** One question over a connection of its own. */
async function askStream(port: number): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(frame(makeQuery(9, 'www.example.com', 1)));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return answer.readUInt16BE(8);
}

function dnsProcessesOf(parent: number): number[] {
  const { stdout } = spawnSync('ps', ['--ppid', String(parent), '-o', 'pid=,args='], { encoding: 'utf8' });
  const lines = stdout.split('\n').filter((line) => line.includes('--role dns') && !line.includes('<defunct>'));
  return lines.map((line) => Number(line.trim().split(' ')[0]));
}

function makeDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-take-over-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  mkdirSync(join(directory, 'zones'));
  const zone = ['@ 300 IN SOA ns1 hostmaster 1 3600 600 86400 60', '@ 300 IN NS ns1', 'ns1 300 IN A 192.0.2.1'];
  writeFileSync(join(directory, 'zones', 'example.com.zone'), [...zone, 'www 300 IN A 192.0.2.10', ''].join('\n'));
  return directory;
}

for (const transport of ['auto', 'portable']) {
  t.test(`a reload that concerns DNS replaces its process without a gap (${transport})`, async (t) => {
    const directory = makeDirectory(t);
    const settings = join(directory, 'zoneplane.yaml');
    writeFileSync(settings, 'dns-identity: before\n');
    const environment = { ZONEPLANE_CONFIG: settings, ZONEPLANE_UDP_TRANSPORT: transport, ZONEPLANE_DNS_WORKERS: '2' };
    const program = await startProgram({ directory, key: KEY, environment });
    t.teardown(() => end(program.child));
    // Without batched system calls, what waits in a socket when it is closed is lost.
    const asking = keepAsking(program.dnsPort, transport === 'portable');
    const supervisor = program.child.pid!;
    for (const identity of ['after', 'later']) {
      const [before] = dnsProcessesOf(supervisor);
      const asked = asking.asked();
      await until(() => asking.asked() > asked + 100);
      writeFileSync(settings, `dns-identity: ${identity}\n`);
      program.child.kill('SIGHUP');
      await until(() => {
        const now = dnsProcessesOf(supervisor);
        return now.length === 1 && now[0] !== before;
      });
      t.equal(await askStream(program.dnsPort), 1);
    }
    t.equal(await asking.stop(), 0, 'every question was answered');
    t.match(program.printed(), /"dnsReplacedFor":\["dns-identity"\]/);
    t.equal(await identityOf(program.dnsPort), 'later');

    // Settings with a mistake change nothing.
    const [running] = dnsProcessesOf(supervisor);
    writeFileSync(settings, 'dns-identity: broken\ncookie-policy: nonsense\n');
    program.child.kill('SIGHUP');
    await until(() => program.printed().includes('nothing was reloaded'));
    t.strictSame(dnsProcessesOf(supervisor), [running]);
    t.equal(await identityOf(program.dnsPort), 'later');
  });
}

t.test('a new server takes the place of the running one, and every question is answered', async (t) => {
  const directory = makeDirectory(t);
  const program = await startProgram({ directory, key: KEY });
  t.teardown(() => end(program.child));
  const asking = keepAsking(program.dnsPort, false);
  await until(() => asking.asked() > 100);
  let printed = '';
  const next = spawn(process.execPath, [resolve('build/src/main.js'), 'serve', '--take-over'], {
    env: {
      ...ENVIRONMENT,
      ZONEPLANE_DATA_DIR: join(directory, 'data'),
      ZONEPLANE_ZONES_DIR: join(directory, 'zones'),
      ZONEPLANE_DNS_HOST: '127.0.0.1',
      ZONEPLANE_DNS_PORT: String(program.dnsPort),
      ZONEPLANE_ADMIN_PORT: String(program.adminPort),
      ZONEPLANE_BUCKET_PORT: String(program.bucketPort),
      ZONEPLANE_RESOLVER_UPSTREAMS: '',
      ZONEPLANE_EDGE: 'off',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.teardown(() => end(next));
  for (const stream of [next.stdout, next.stderr]) stream.on('data', (piece: Buffer) => (printed += piece));
  await until(() => printed.includes('"msg":"ready"') || next.exitCode !== null);
  t.equal(next.exitCode, null, printed);
  await until(() => program.child.exitCode !== null);
  t.equal(program.child.exitCode, 0, 'the old server stopped by itself');
  t.equal(await askStream(program.dnsPort), 1);
  t.equal(await asking.stop(), 0, 'every question was answered');
  const zones = await fetch(`${program.api}/client/v4/zones`, { headers: { authorization: `Bearer ${KEY}` } });
  t.equal(zones.status, 200);
});

t.test('SIGUSR2: a successor takes the place of the server, and systemd hears of it', async (t) => {
  const directory = makeDirectory(t);
  const heard = join(directory, 'heard');
  const programs = join(directory, 'programs');
  mkdirSync(programs);
  writeFileSync(join(programs, 'systemd-notify'), `#!/bin/sh\necho "$NOTIFY_SOCKET $*" >>'${heard}'\n`, {
    mode: 0o755,
  });
  const environment = { NOTIFY_SOCKET: '/run/systemd/notify', PATH: `${programs}:${process.env['PATH']}` };
  const program = await startProgram({ directory, key: KEY, environment });
  t.teardown(() => end(program.child));
  const asking = keepAsking(program.dnsPort, false);
  await until(() => asking.asked() > 100);
  program.child.kill('SIGUSR2');
  program.child.kill('SIGUSR2');
  await until(() => program.child.exitCode !== null);
  t.equal(program.child.exitCode, 0, 'the old server stopped by itself');
  const [, pid] = /^\/run\/systemd\/notify MAINPID=(\d+)\n$/.exec(readFileSync(heard, 'utf8')) ?? [];
  t.ok(pid, 'one successor, which is the main process now');
  t.teardown(async () => {
    process.kill(Number(pid), 'SIGTERM');
    // It is nobody's child, and writes to its directory until it has ended.
    await until(() => !isRunning(Number(pid)));
  });
  await until(() => {
    const now = JSON.parse(readFileSync(join(directory, 'data', 'serve.json'), 'utf8')) as { pid: number };
    return now.pid === Number(pid);
  });
  t.equal(await asking.stop(), 0, 'every question was answered');
  const zones = await fetch(`${program.api}/client/v4/zones`, { headers: { authorization: `Bearer ${KEY}` } });
  t.equal(zones.status, 200);
});

/** The text of `id.server` CH TXT. */
async function identityOf(port: number): Promise<string> {
  const socket = createSocket('udp4');
  const query = Buffer.from(makeQuery(5, 'id.server', 16));
  query.writeUInt16BE(3, query.length - 2);
  socket.send(query, port, '127.0.0.1');
  const [answer] = (await once(socket, 'message')) as [Buffer];
  socket.close();
  return answer.subarray(query.length + 13, query.length + 13 + answer[query.length + 12]!).toString('latin1');
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
