/** What the processes settle before they run: data directory, lock, port choice, back-off, first lines. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { sleep } from '../../src/base/clock.js';
import { UserError } from '../../src/base/errors.js';
import { createLogger, silentLogger } from '../../src/base/log.js';
import { systemRandom } from '../../src/base/random.js';
import { loadSettings } from '../../src/config/load.js';
import { authenticateToken } from '../../src/control/access/authentication.js';
import { parseName } from '../../src/dns/name.js';
import { createAnnouncer, exampleCommands, reachableHost } from '../../src/roles/announce.js';
import { engineSettings } from '../../src/roles/engine-settings.js';
import { ensureAdministrator, noticesOfAdminKey } from '../../src/roles/first-run.js';
import { lockDataDirectory, outlastPredecessor } from '../../src/roles/lock.js';
import { createControlBase } from '../../src/roles/process/control-base.js';
import {
  findDataDirectory,
  forgetInitialKey,
  prepareDataDirectory,
  readRunning,
  removeRunning,
  writeRunning,
} from '../../src/roles/process/data-directory.js';
import { chooseDnsPort, FALLBACK_PORT } from '../../src/roles/process/dns-port.js';
import type { AdminReport, DnsReport } from '../../src/roles/process/ipc.js';
import { readTlsFiles, watchTlsFiles } from '../../src/roles/process/tls-files.js';
import { createReadiness } from '../../src/roles/readiness.js';
import { startStatusReports } from '../../src/roles/services/status-reports.js';
import { restartDelayMs, SupervisedChild } from '../../src/roles/supervision/supervised-child.js';
import { freePort } from '../support/free-ports.js';
import { makeQuery } from '../support/message.js';
import { serveZones } from '../support/served-zones.js';
import { TestClock } from '../support/test-clock.js';
import { openTwoCopies } from '../support/two-copies.js';
import { until } from '../support/until.js';

const directory = mkdtempSync(join(tmpdir(), 'zoneplane-roles-'));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));

function refusal(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (error instanceof UserError) return `${error.message} | ${error.remedy ?? ''}`;
    throw error;
  }
  throw new Error('was accepted');
}

t.test('data directory', async (t) => {
  const path = join(directory, 'made', 'here');
  const made = prepareDataDirectory(path);
  t.match(made, { path, isNew: true, openToOthers: false });
  t.equal(statSync(path).mode & 0o777, 0o700);
  chmodSync(path, 0o755);
  t.equal(prepareDataDirectory(path).openToOthers, true, 'noticed, not changed');
  chmodSync(path, 0o700);
  t.match(
    refusal(() => findDataDirectory(path)),
    /there is no database in .*here \| Start `zoneplane serve`/,
  );
  const file = join(directory, 'file');
  writeFileSync(file, '');
  t.match(
    refusal(() => prepareDataDirectory(file)),
    /is not a directory/,
  );
  t.match(
    refusal(() => prepareDataDirectory(join(file, 'below'))),
    /is not a directory/,
  );
});

t.test('lock and the note who holds it', async (t) => {
  const { path } = prepareDataDirectory(join(directory, 'locked'));
  const lock = lockDataDirectory(path, 'serveLock');
  writeRunning(path, { version: '1', adminUrl: 'http://127.0.0.1:1', dns: [] }, silentLogger());
  const again = refusal(() => lockDataDirectory(path, 'serveLock'));
  t.match(again, new RegExp(`another zoneplane serve \\(process ${process.pid}\\) is using the data directory`));
  t.match(again, /--data-dir/);
  lockDataDirectory(path, 'adminLock').release();
  lock.release();
  lockDataDirectory(path, 'serveLock').release();
  removeRunning(path);
  t.equal(readRunning(path), undefined);
  writeRunning(path, { pid: 2 ** 22 + 1, version: '1', adminUrl: '', dns: [] }, silentLogger());
  t.equal(readRunning(path), undefined, 'a process that is gone holds nothing');
});

t.test('the first key is written before it counts, and told of until it is used', async (t) => {
  const clock = new TestClock();
  const { store, directory: dataDir, close } = openTwoCopies('first-run', clock, systemRandom);
  t.teardown(close);
  const { settings } = loadSettings({ flags: { 'data-dir': dataDir }, environment: {} });
  const base = createControlBase(settings, store, clock, silentLogger());
  const failing = Object.assign(Object.create(store) as typeof store, {
    write: () => Promise.reject(new Error('the disk is full')),
  });
  await t.rejects(ensureAdministrator({ ...base, store: failing }, settings, true), { message: /disk is full/ });
  t.match(
    readFileSync(join(dataDir, 'initial-key'), 'utf8'),
    /^[\w-]{40}\n$/,
    'the file is there before the key counts',
  );
  const { initialKey, initialKeyFile } = await ensureAdministrator(base, settings, true);
  t.equal(readFileSync(initialKeyFile!, 'utf8'), `${initialKey}\n`, 'a start that fails later does not lose it');
  t.same(await ensureAdministrator(base, settings, true), { initialKeyFile }, 'the next start says where it is');
  forgetInitialKey(dataDir);
  t.same(await ensureAdministrator(base, settings, false), { keyUnused: true });
  await authenticateToken(base, initialKey!, '127.0.0.1');
  t.same(await ensureAdministrator(base, settings, true), {}, 'somebody has it');
  t.same(noticesOfAdminKey(base, { ...settings, adminKey: initialKey }), []);
  t.match(noticesOfAdminKey(base, { ...settings, adminKey: 'k'.repeat(40) }), [
    /^The admin key that is set is not used/,
  ]);
  const lines: string[] = [];
  createAnnouncer(true, (line) => lines.push(line), silentLogger()).admin({
    url: 'http://127.0.0.1:8053',
    email: 'admin@localhost',
    keyUnused: true,
  });
  t.match(lines[1], /make another with: zoneplane key create --kind key/);
});

t.test('the name of the server reaches the engine', async (t) => {
  const { settings } = loadSettings({ flags: { 'dns-identity': 'ns1.ams' }, environment: {} });
  const { answer } = serveZones([], engineSettings(settings));
  const out = Buffer.alloc(512);
  const chaos = (name: string): Buffer => {
    const query = makeQuery(parseName(name), 16, { class: 3 });
    return out.subarray(0, answer(query, 0, query.length, out, 0, out.length, 0));
  };
  t.ok(chaos('id.server.').includes('\u0007ns1.ams'));
  t.ok(chaos('version.bind.').includes('\u0009Zoneplane'), 'what it is, but not which version');
});

t.test('port 53 or 1053', async (t) => {
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  const taken = await chooseDnsPort(['127.0.0.1'], socket.address().port);
  t.equal(taken.port, FALLBACK_PORT);
  t.match(taken.remedy, /is in use by another program: .*ss -lntup/);
  socket.close();
  await once(socket, 'close');
  const port = await freePort();
  t.same(await chooseDnsPort(['127.0.0.1'], port), { port });
  t.same(await chooseDnsPort(['192.0.2.1'], port), { port }, 'a foreign address is for the DNS process to refuse');
});

t.test('back-off begins after the tenth failure and doubles up to half a minute', async (t) => {
  t.same(
    [1, 10, 11, 12, 13].map((crashes) => restartDelayMs(crashes, false)),
    [0, 0, 100, 200, 400],
  );
  t.equal(restartDelayMs(50, false), 30_000);
  t.equal(
    restartDelayMs(50, true),
    1000,
    'whoever can end a process that starts well keeps it away for a second at most',
  );
});

t.test('a DNS process that reports no more is replaced', async (t) => {
  const program = join(directory, 'silent.mjs');
  // It reports once, and then stands still as a stopped process does.
  writeFileSync(
    program,
    `process.on('message', () => process.send({ kind: 'ready', report: { pid: process.pid } }, () =>
       process.send({ kind: 'dns-status', status: {} }, () => process.kill(process.pid, 'SIGSTOP'))));`,
  );
  const clock = new TestClock();
  const pids: number[] = [];
  let statuses = 0;
  let losses = 0;
  const { settings, origins } = loadSettings({ flags: {}, environment: {} });
  const child = new SupervisedChild({
    role: 'dns',
    program,
    environment: process.env,
    start: { settings, origins, version: '1', terminal: false },
    clock,
    log: silentLogger(),
    onReady: (report) => pids.push((report as unknown as { pid: number }).pid),
    onLost: () => losses++,
    onNotice: () => statuses++,
  });
  t.teardown(() => child.kill());
  await child.start();
  await until(() => statuses === 1);
  clock.advance(29_000);
  await sleep(50);
  t.equal(losses, 0);
  clock.advance(1000);
  await until(() => losses === 1);
  clock.advance(0);
  await until(() => pids.length === 2);
  t.not(pids[0], pids[1]);
});

t.test('a start outlasts the admin process of a killed supervisor', async (t) => {
  const { path } = prepareDataDirectory(join(directory, 'left'));
  const left = lockDataDirectory(path, 'adminLock');
  let isFree = false;
  const waiting = outlastPredecessor(path, 60_000).then(() => (isFree = true));
  await sleep(150);
  t.notOk(isFree);
  left.release();
  await waiting;
  lockDataDirectory(path, 'adminLock').release();
});

t.test('TLS files are read again when they change', async (t) => {
  const files = { certificate: join(directory, 'cert.pem'), key: join(directory, 'key.pem') };
  const { settings } = loadSettings({
    flags: { 'dot-port': '853', 'tls-cert': files.certificate, 'tls-key': files.key },
    environment: {},
  });
  t.match(
    refusal(() => readTlsFiles(settings)),
    /cert\.pem cannot be read/,
  );
  writeFileSync(files.certificate, 'first');
  writeFileSync(files.key, 'key');
  t.match(readTlsFiles(settings), { credentials: { certificate: Buffer.from('first') } });
  const clock = new TestClock();
  const renewed: string[] = [];
  const end = watchTlsFiles(files, ({ certificate }) => renewed.push(String(certificate)), clock, silentLogger());
  clock.advance(60_000);
  t.same(renewed, [], 'nothing has changed');
  writeFileSync(files.certificate, 'second');
  utimesSync(files.certificate, 2_000_000_000, 2_000_000_000);
  clock.advance(60_000);
  t.same(renewed, ['second'], 'once');
  rmSync(files.key);
  clock.advance(60_000);
  t.same(renewed, ['second'], 'a file that is being replaced does no harm');
  writeFileSync(files.key, 'key');
  clock.advance(60_000);
  t.same(renewed, ['second', 'second']);
  end();
});

t.test('readiness', async (t) => {
  const clock = new TestClock();
  let served = 0;
  let held: string[] = [];
  const heldZones = () => held.map((name) => ({ name }));
  const gate = createReadiness(clock, { onServing: () => served++, heldZones });
  const status = { ready: true, zones: 1, appliedChange: 1, samples: [] };
  t.match(gate.readiness(), { ready: false, reason: /not running/ });
  gate.setDnsStatus({ ...status, ready: false });
  t.match(gate.readiness(), { ready: false, reason: /not ready/ });
  gate.setDnsStatus(status);
  t.same(gate.readiness(), { ready: true });
  gate.setDnsStatus({ ...status, failure: 'disk I/O error' });
  t.match(gate.readiness(), { ready: false, reason: /cannot follow the change log/ });
  gate.setDnsStatus(status);
  held = ['broken.example'];
  t.same(gate.readiness(), { ready: true, heldZones: ['broken.example'] }, 'the other zones stay in service');
  held = [];
  t.equal(served, 1);
  clock.advance(31_000);
  t.match(gate.readiness(), { ready: false, reason: /does not report/ });
  gate.setDnsStatus(undefined);
  t.equal(gate.readiness().ready, false);
  gate.setDnsStatus(status);
  gate.close();
  t.same(gate.readiness(), { ready: false, reason: 'stopping' });
  t.same(createReadiness(clock, { dnsApart: true, heldZones }).readiness(), { ready: true });
  for (const [state, answers] of [
    ['following', [true, true, true]],
    ['away', [true, true, false]],
    ['stopped', [false, true, false]],
  ] as const) {
    const node = createReadiness(clock, { heldZones, copyStatus: () => ({ state }) });
    node.setDnsStatus(status);
    t.same(
      [node.readiness(), node.readiness('dns'), node.readiness('writes')].map(({ ready }) => ready),
      answers,
      state,
    );
  }
});

const admin: AdminReport = {
  url: 'http://127.0.0.1:8053',
  email: 'admin@localhost',
  initialKey: 'KEY',
  loginLink: 'http://127.0.0.1:8053/sign-in#link=LINK',
};
const dns: DnsReport = {
  listeners: [
    { protocol: 'udp', host: '0.0.0.0', port: 1053 },
    { protocol: 'tcp', host: '0.0.0.0', port: 1053 },
    { protocol: 'udp', host: '::', port: 1053 },
    { protocol: 'tcp', host: '::', port: 1053 },
  ],
  transport: 'batched',
  zones: 1,
  records: 21,
  exampleZone: 'example.com',
};

t.test('first lines on a terminal', async (t) => {
  const lines: string[] = [];
  const announcer = createAnnouncer(true, (line) => lines.push(line), createLogger({ level: 'silent', pretty: false }));
  announcer.started({ version: '0.1.0', dataDir: './data', isNew: true, nodeVersion: 'v20.20.2', workers: 2 });
  const failed = ['bad.zone:1:1: error: no'];
  const firstImport = { directory: './zones', imported: ['example.com'], failed, notes: ['x.zone: warning: named x'] };
  announcer.admin({ ...admin, firstImport, notices: ['this is odd. Do that.'] });
  announcer.dns(dns, 'port 53 needs a privilege');
  announcer.ready(0.42);
  t.same(lines, [
    'zoneplane 0.1.0   data ./data (new)   node v20.20.2   2 workers',
    'admin    http://127.0.0.1:8053/client/v4      API description http://127.0.0.1:8053/docs',
    'key      KEY   (shown once; X-Auth-Email admin@localhost; another: zoneplane key create)',
    'web      http://127.0.0.1:8053/sign-in#link=LINK',
    '         the dashboard; signs you in once, for 15 minutes; another: zoneplane dashboard link',
    'import   1 zone from ./zones',
    'import   FAILED bad.zone:1:1: error: no',
    'import   x.zone: warning: named x',
    'note     this is odd. Do that.',
    'dns      udp+tcp 0.0.0.0:1053',
    'dns      udp+tcp [::]:1053',
    '         port 53 needs a privilege',
    'zones    1 zone, 21 records',
    'ready in 0.4 s. Try:',
    "  curl -H 'Authorization: Bearer KEY' http://127.0.0.1:8053/client/v4/zones",
    '  dig @127.0.0.1 -p 1053 example.com SOA',
  ]);
});

t.test('the same facts in the log, without the key', async (t) => {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLogger({ level: 'info', pretty: false, destination });
  const announcer = createAnnouncer(false, () => t.fail('nothing is printed'), log);
  announcer.started({ version: '0.1.0', dataDir: './data', isNew: true, nodeVersion: 'v20.20.2', workers: 2 });
  const notices = ['this is odd. Do that.'];
  announcer.admin({ url: admin.url, email: admin.email, initialKeyFile: './data/initial-key', notices });
  announcer.dns(dns, 'port 53 needs a privilege');
  announcer.ready(0.42);
  const entries = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  t.same(
    entries.map(({ msg }) => msg),
    [
      'zoneplane starts',
      'admin API listens',
      'the dashboard; the command prints a link that signs in once',
      'this is odd. Do that.',
      'DNS listens',
      'DNS listens',
      'DNS listens',
      'DNS listens',
      'port 53 needs a privilege',
      'zones served',
      'ready',
    ],
  );
  t.match(entries[1], { url: 'http://127.0.0.1:8053/client/v4', initialKeyFile: './data/initial-key' });
  t.match(entries[4], { protocol: 'udp', host: '0.0.0.0', port: 1053 });
  t.match(entries[10], { seconds: 0.42 });
});

t.test('example commands fit what is known', async (t) => {
  const none: DnsReport = { ...dns, zones: 0 };
  const { exampleZone: _, ...empty } = none;
  const fromFile: AdminReport = { url: admin.url, email: admin.email, initialKeyFile: "/it's/key" };
  const unknown: AdminReport = { url: admin.url, email: admin.email };
  t.match(exampleCommands(admin, empty), [/-d '\{"name":"example.com"\}' http.*\/zones$/, /example\.com SOA$/]);
  t.match(exampleCommands(fromFile, dns)[0], `"Authorization: Bearer $(cat '/it'\\''s/key')"`);
  t.match(exampleCommands(unknown, dns), ['curl http://127.0.0.1:8053/readyz', /^dig @127\.0\.0\.1 -p 1053 example/]);
  t.same(exampleCommands(unknown, empty), ['curl http://127.0.0.1:8053/readyz'], 'no name to ask for');
  const on53 = { ...dns, listeners: [{ protocol: 'udp' as const, host: '::', port: 53 }] };
  t.equal(exampleCommands(admin, on53)[1], 'dig @::1 example.com SOA');
  t.equal(reachableHost('192.0.2.1'), '192.0.2.1');
});

t.test('status is reported when it changes, and every ten seconds to show that the process lives', (t) => {
  const clock = new TestClock();
  const told: number[] = [];
  let queries = 0;
  const end = startStatusReports(
    clock,
    () => ({ queries }),
    (status) => told.push(status.queries),
  );
  t.strictSame(told, [0], 'at once');
  clock.advance(9000);
  t.strictSame(told, [0]);
  clock.advance(1000);
  t.strictSame(told, [0, 0]);
  queries = 7;
  clock.advance(1000);
  t.strictSame(told, [0, 0, 7]);
  clock.advance(9000);
  t.strictSame(told, [0, 0, 7]);
  end();
  clock.advance(60_000);
  t.strictSame(told, [0, 0, 7]);
  t.end();
});

t.test('a status is read only when its mark has changed, and for the heartbeat', (t) => {
  const clock = new TestClock();
  const told: number[] = [];
  let [queries, reads] = [0, 0];
  let mark = 'a';
  const read = () => {
    reads++;
    return { queries };
  };
  const end = startStatusReports(
    clock,
    read,
    (status) => told.push(status.queries),
    () => mark,
  );
  queries = 7;
  clock.advance(9000);
  t.strictSame([reads, told], [1, [0]], 'a quiet process makes no status');
  clock.advance(1000);
  t.strictSame([reads, told], [2, [0, 7]], 'the heartbeat tells what the mark does not show');
  queries = 8;
  mark = 'b';
  clock.advance(1000);
  t.strictSame([reads, told], [3, [0, 7, 8]]);
  clock.advance(5000);
  t.equal(reads, 3);
  end();
  t.end();
});
