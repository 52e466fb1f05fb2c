/** dnstap, the query log and activity of the running program, read by the tools of others. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import { makeQuery } from '../support/message.js';
import { type Program, startProgram, stopProgram } from '../support/program.js';
import { askAll, askAllByTcp, endChild } from '../support/reference-servers.js';
import { until } from '../support/until.js';

const KEY = 'observation-key-0123456789-0123456789-0123';
const directory = mkdtempSync(join(tmpdir(), 'zoneplane-observation-'));
const unless = (...programs: readonly string[]) => {
  const missing = programs.filter((program) => !existsSync(program));
  return process.env['CI'] !== 'true' && missing.length > 0 && `${missing.join(' and ')} is not installed`;
};
const children: ChildProcess[] = [];
t.teardown(async () => {
  await Promise.all(children.map(endChild));
  rmSync(directory, { recursive: true, force: true });
});

async function start(name: string, environment: NodeJS.ProcessEnv): Promise<Program> {
  const own = join(directory, name);
  mkdirSync(join(own, 'zones'), { recursive: true });
  const zone =
    '$ORIGIN example.com.\n$TTL 300\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n';
  writeFileSync(join(own, 'zones', 'example.com.zone'), zone);
  return startProgram({ directory: own, key: KEY, environment });
}

const query = (name: string, type = 1, id = 1): Buffer => makeQuery(parseName(name), type, { id, edns: 1232 });

async function ask({ dnsPort }: Program): Promise<void> {
  // Once: on a slow machine, what is asked again is reported twice.
  const once = (name: string) => askAll(dnsPort, [query(name)], 60_000, 1);
  const answers = [
    ...(await once('www.example.com.')),
    ...(await askAllByTcp(dnsPort, [query('none.example.com.', 16)])),
    ...(await once('www.example.org.')),
  ];
  if (answers.some((answer) => !answer)) throw new Error('a question was not answered');
}

function readTap(file: string): string[] {
  return execFileSync('/usr/bin/dnstap-read', [file], { encoding: 'utf8' }).trim().split('\n');
}

/** Time, kind, client, direction, server, protocol, size and question; threads are read one after the other. */
function expectTap(t: Test, lines: readonly string[], dnsPort: number): void {
  const kinds = lines.map((line) => line.replace(/^\S+ \S+ /, '').replace(/127\.0\.0\.1:\d+ (->|<-)/, 'CLIENT $1'));
  const own = `127.0.0.1:${dnsPort}`;
  const pairs = [
    ['UDP', 'www.example.com/IN/A'],
    ['TCP', 'none.example.com/IN/TXT'],
    ['UDP', 'www.example.org/IN/A'],
  ];
  const short = kinds.map((line) => line.replace(/ \d+b /, ' '));
  t.strictSame(
    short.sort(),
    pairs
      .flatMap(([protocol, question]) => [
        `AQ CLIENT -> ${own} ${protocol} ${question}`,
        `AR CLIENT <- ${own} ${protocol} ${question}`,
      ])
      .sort(),
  );
}

t.test('dnstap over a Unix socket', { skip: unless('/usr/bin/fstrm_capture', '/usr/bin/dnstap-read') }, async (t) => {
  const [socket, file] = [join(directory, 'tap.sock'), join(directory, 'captured')];
  const reader = () => {
    const child = spawn('/usr/bin/fstrm_capture', ['-t', 'protobuf:dnstap.Dnstap', '-u', socket, '-w', file], {
      stdio: 'ignore',
    });
    children.push(child);
    return child;
  };
  const program = await start('socket', { ZONEPLANE_DNSTAP: `unix:${socket}`, ZONEPLANE_DNS_IDENTITY: 'here' });
  await ask(program);
  await until(async () => program.printed().includes('no reader takes dnstap'));
  const capture = reader();
  await until(async () => program.printed().includes('dnstap is connected'));
  await ask(program);
  t.equal(await stopProgram(program), 0);
  capture.kill('SIGTERM');
  await until(async () => capture.exitCode !== null);
  expectTap(t, readTap(file), program.dnsPort);
  const detail = execFileSync('/usr/bin/dnstap-read', ['-y', file], { encoding: 'utf8' });
  for (const text of ['identity: here', 'query_zone: example.com.', 'type: AUTH_RESPONSE', 'status: NXDOMAIN']) {
    t.ok(detail.includes(text), text);
  }
});

t.test('dnstap to a file, begun anew at SIGHUP', { skip: unless('/usr/bin/dnstap-read') }, async (t) => {
  const file = join(directory, 'tap');
  const program = await start('file', { ZONEPLANE_DNSTAP: `file:${file}` });
  await ask(program);
  // The last question.
  await until(async () => readFileSync(file).includes('org'));
  renameSync(file, `${file}.kept`);
  program.child.kill('SIGHUP');
  await until(async () => existsSync(file));
  await ask(program);
  t.equal(await stopProgram(program), 0);
  for (const part of [`${file}.kept`, file]) expectTap(t, readTap(part), program.dnsPort);
});

t.test('a reader that takes nothing holds nobody up; what is lost is counted', async (t) => {
  const path = join(directory, 'stuck.sock');
  const peers: Socket[] = [];
  const accept = Buffer.from('000000000000002a00000001000000010000001e', 'hex');
  const stuck = createServer((peer) => {
    peers.push(peer);
    peer.once('data', () => {
      const type = Buffer.from('protobuf:dnstap.Dnstap');
      const frame = Buffer.concat([accept, type]);
      frame.writeUInt32BE(12 + type.length, 4);
      frame.writeUInt32BE(type.length, 16);
      peer.pause();
      peer.write(frame);
    });
    peer.on('error', () => {});
  });
  await new Promise<void>((resolve) => stuck.listen(path, resolve));
  t.teardown(() => {
    for (const peer of peers) peer.destroy();
    stuck.close();
  });
  const program = await start('stuck', { ZONEPLANE_DNSTAP: `unix:${path}`, ZONEPLANE_METRICS_PUBLIC: 'on' });
  await until(async () => program.printed().includes('dnstap is connected'));
  const questions = Array.from({ length: 25_000 }, (_, i) => query(`n${i}.example.com.`, 16, i & 0xffff));
  const answers = await askAll(program.dnsPort, questions, 3000);
  t.ok(answers.every(Boolean), 'every question is answered');
  const dropped = async (): Promise<number> => {
    const text = await (await fetch(`${program.api}/metrics`)).text();
    return Number(/^zoneplane_dnstap_frames_dropped_total (\d+)$/m.exec(text)?.[1]);
  };
  await until(async () => (await dropped()) > 1000);
  t.equal(await stopProgram(program), 0);
});

t.test('the query log and activity', async (t) => {
  const file = join(directory, 'queries.jsonl');
  const program = await start('log', { ZONEPLANE_QUERY_LOG: file, ZONEPLANE_QUERY_LOG_CLIENTS: 'full' });
  t.teardown(() => stopProgram(program));
  const lines = () =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .sort((a, b) => a.time.localeCompare(b.time));
  await ask(program);
  await until(async () => lines().length === 3);
  t.match(lines(), [
    { client: '127.0.0.1', protocol: 'udp', name: 'www.example.com', type: 'A', rcode: 'NOERROR', zone: 'example.com' },
    { protocol: 'tcp', name: 'none.example.com', type: 'TXT', rcode: 'NXDOMAIN', zone: 'example.com', source: 'plain' },
    { protocol: 'udp', name: 'www.example.org', rcode: 'REFUSED', zone: '' },
  ]);
  const [first] = lines();
  t.ok(Math.abs(Date.parse(first.time) - Date.now()) < 60_000 && first.size > 40 && first.micros > 0);
  renameSync(file, `${file}.1`);
  program.child.kill('SIGHUP');
  await until(async () => existsSync(file));
  await ask(program);
  await until(async () => lines().length === 3);
  const headers = { authorization: `Bearer ${KEY}` };
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked into freely
  const get = async (path: string): Promise<any> =>
    (await fetch(`${program.api}/client/v4${path}`, { headers })).json();
  await until(async () => (await get('/activity')).result.totals.queries === 6);
  t.match((await get('/activity')).result, { zones: [{ name: 'example.com', queries: 4 }], scope: 'server' });
  const { result } = await get('/activity/queries?name=www.example.com');
  t.match(result, [{ client: '127.0.0.1', rcode: 'NOERROR' }, { name: 'www.example.com' }]);
  t.equal(result.length, 2);
  const next = get(`/activity/queries?after=${result.at(-1).number}&timeout=20&type=A&name=www.example.com`);
  await ask(program);
  t.match((await next).result, [{ name: 'www.example.com' }]);
});

t.test('nothing is observed when everything is off', async (t) => {
  const program = await start('off', { ZONEPLANE_DNS_STATISTICS: 'off', ZONEPLANE_METRICS_PUBLIC: 'on' });
  t.teardown(() => stopProgram(program));
  await ask(program);
  const text = await (await fetch(`${program.api}/metrics`)).text();
  t.notMatch(text, /dns_zone_queries_total|dns_answers_total/);
});
