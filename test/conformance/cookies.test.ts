/**
 * DNS cookies: the examples of RFC 9018, rules of RFC 7873, and cookies exchanged with BIND and Knot under a shared
 * secret.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { createClient, Transport } from '../../src/answer/transport.js';
import { SystemClock } from '../../src/base/clock.js';
import { parseIP } from '../../src/base/ip.js';
import { heard, withCookie } from '../support/cookies.js';
import { freePort } from '../support/free-ports.js';
import { askAll } from '../support/reference-servers.js';
import { serveZones } from '../support/served-zones.js';
import { until } from '../support/until.js';

const ZONE = {
  apex: 'example.com.',
  text: '$ORIGIN example.com.\n$TTL 60\n@ SOA ns h 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n',
};
const SECRET = 'e5e973e5a6b2a43f48e7dc849e37bfcf';
const OTHER = '445536bcd2513298075a5d379663c962';

type Cookies = (cookie: string, address: string, seconds: number, transport?: 0 | 1) => [rcode: number, cookie: string];

/** Asks our engine with a cookie, as from an address at a time: the response code, and the cookie that comes back. */
function ours(secrets: readonly string[], requireCookies = false): Cookies {
  const cookieSecrets = secrets.map((text) => new Uint8Array(Buffer.from(text, 'hex')));
  const { answer } = serveZones([ZONE], { ...DEFAULT_ENGINE_SETTINGS, cookieSecrets, requireCookies });
  const out = Buffer.alloc(4096);
  return (cookie, address, seconds, transport = Transport.udp) => {
    const query = withCookie(cookie);
    const source = Buffer.concat([Buffer.alloc(3), parseIP(address)!]);
    const client = { ...createClient(), source, at: 3, length: source.length - 3, seconds };
    const length = answer(query, 0, query.length, out, 0, out.length, transport, client);
    return heard(Buffer.from(out.subarray(0, length)));
  };
}

t.test('the examples of RFC 9018 appendix A', async (t) => {
  t.same(ours([SECRET])('2464c4abcf10c957', '198.51.100.100', 1559731985), [
    0,
    '2464c4abcf10c957010000005cf79f111f8130c3eee29480',
  ]);
  const kept = '2464c4abcf10c957010000005cf79f111f8130c3eee29480';
  t.same(ours([SECRET])(kept, '198.51.100.100', 1559732985), [0, kept], 'fresh ones come back as they are');
  t.same(ours([SECRET])(kept, '198.51.100.100', 1559734385), [0, '2464c4abcf10c957010000005cf7a871d4a564a1442aca77']);
  const reserved = 'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5';
  t.same(ours([SECRET], true)(reserved, '203.0.113.203', 1559728000), [0, reserved], 'reserved octets may be set');
  t.same(ours([SECRET])(reserved, '203.0.113.203', 1559734700), [
    0,
    'fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e',
  ]);
  const v6 = '2001:db8:220:1:59de:d0f4:8769:82b8';
  t.same(
    ours([OTHER, 'dd3bdf9344b678b185a6f5cb60fca715'])(
      '22681ab97d52c298010000005cf7c57926556bd0934c72f8',
      v6,
      1559741961,
    ),
    [0, '22681ab97d52c298010000005cf7c609a6bb79d16625507a'],
    'made with the secret before',
  );
});

t.test('good, old, unknown and broken cookies', async (t) => {
  const strict = ours([SECRET], true);
  const client = '0123456789abcdef';
  const now = 1_800_000_000;
  const [rcode, cookie] = strict(client, '192.0.2.7', now);
  t.equal(rcode, 23, 'the first time it is told to come back (RFC 7873 §5.2.3)');
  t.match(cookie, new RegExp(`^${client}01000000`));
  t.same(strict(cookie, '192.0.2.7', now), [0, cookie]);
  t.same(strict(cookie, '192.0.2.7', now + 1800), [0, cookie]);
  const [later, renewed] = strict(cookie, '192.0.2.7', now + 1801);
  t.equal(later, 0);
  t.not(renewed, cookie, 'after half an hour there is a new one (RFC 9018 §4.3)');
  t.equal(strict(cookie, '192.0.2.7', now + 3600)[0], 0);
  t.equal(strict(cookie, '192.0.2.7', now + 3601)[0], 23, 'after an hour it is too old');
  t.equal(strict(cookie, '192.0.2.7', now - 300)[0], 0, 'clocks differ');
  t.equal(strict(cookie, '192.0.2.7', now - 301)[0], 23);
  t.equal(strict(cookie, '192.0.2.8', now)[0], 23, 'another address');
  t.equal(strict(cookie.replace(/^01/, '02'), '192.0.2.7', now)[0], 23, 'another client cookie');
  t.equal(strict(`${cookie.slice(0, -2)}00`, '192.0.2.7', now)[0], 23, 'another hash');
  t.equal(strict(`${cookie}00`, '192.0.2.7', now)[0], 23, 'a longer one');
  t.equal(strict(client, '192.0.2.7', now, 1)[0], 0, 'over TCP it has shown where it is');
  const lenient = ours([SECRET]);
  t.same(lenient(client, '192.0.2.7', now), [0, cookie]);
  for (const length of [0, 1, 7, 9, 15, 41]) {
    t.equal(lenient('00'.repeat(length), '192.0.2.7', now)[0], 1, `${length} octets (RFC 7873 §5.2.2)`);
  }
  for (const length of [16, 23, 25, 40])
    t.equal(lenient('00'.repeat(length), '192.0.2.7', now)[0], 0, `${length} octets`);
  t.same(ours([])(client, '192.0.2.7', now), [0, ''], 'without a secret they are ignored');
});

t.test('a cookie request without a question', async (t) => {
  const cookieSecrets = [new Uint8Array(Buffer.from(SECRET, 'hex'))];
  const { answer } = serveZones([ZONE], { ...DEFAULT_ENGINE_SETTINGS, cookieSecrets });
  const client = { ...createClient(), source: parseIP('192.0.2.7')!, length: 4, seconds: 1_800_000_000 };
  const out = Buffer.alloc(512);
  const ask = (hex: string): Buffer => {
    const query = Buffer.from(hex, 'hex');
    return out.subarray(0, answer(query, 0, query.length, out, 0, 512, Transport.udp, client));
  };
  const header = '12340000000000000000000';
  const answered = ask(`${header}1000029100000000000000c000a00080123456789abcdef`.replace(/^/, ''));
  t.equal(answered.readUInt16BE(4), 0, 'no question either');
  t.equal(answered[3]! & 15, 0);
  t.match(answered.toString('hex'), /000a00180123456789abcdef01000000/);
  t.equal(ask(`${header}0`)[3]! & 15, 1, 'without a cookie it makes no sense (RFC 9619)');
  t.equal(ask(`${header}10000291000000000000000`)[3]! & 15, 1);
});

const has = (program: string): boolean => spawnSync(program, ['-V']).error === undefined;
const skipWithout = (program: string) => !has(program) && process.env['CI'] !== 'true' && `${program} is not installed`;

/** Starts a server that answers without a good cookie only with BADCOOKIE. */
async function startPeer(t: Test, program: 'named' | 'knotd'): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-cookies-'));
  const [zone, config, port] = [join(directory, 'zone'), join(directory, 'config'), await freePort()];
  writeFileSync(zone, ZONE.text);
  mkdirSync(join(directory, 'db'));
  if (program === 'named') {
    writeFileSync(
      config,
      `options { directory "${directory}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none;
  session-keyfile none; empty-zones-enable no; cookie-algorithm siphash24; cookie-secret "${SECRET}"; require-server-cookie yes; };
controls { };\nzone "example.com" { type primary; file "${zone}"; };\n`,
    );
  } else {
    writeFileSync(
      config,
      `server:\n  listen: 127.0.0.1@${port}\n  rundir: ${directory}\n  udp-workers: 1\n  tcp-workers: 1\ndatabase:\n  storage: ${directory}/db
mod-cookies:\n  - id: c\n    secret: 0x${SECRET}\n    badcookie-slip: 1
zone:\n  - domain: example.com\n    file: ${zone}\n    zonefile-sync: -1\n    journal-content: none\n    module: mod-cookies/c\n`,
    );
  }
  const args = program === 'named' ? ['-g', '-n', '1', '-c', config] : ['-c', config];
  const child: ChildProcess = spawn(program, args, { stdio: 'ignore' });
  t.teardown(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
    rmSync(directory, { recursive: true, force: true });
  });
  await until(async () => {
    const [answer] = await askAll(port, [withCookie('0123456789abcdef')], 100, 1);
    return answer !== undefined && heard(answer)[0] !== 2;
  }, `${program} starts`);
  return port;
}

for (const program of ['named', 'knotd'] as const) {
  t.test(`cookies of ${program} and of ours`, { skip: skipWithout(program) }, async (t) => {
    const port = await startPeer(t, program);
    const client = '89abcdef01234567';
    const [first] = await askAll(port, [withCookie(client)]);
    const [rcode, theirs] = heard(first);
    t.equal(rcode, 23);
    t.equal(theirs.length, 48);
    const now = Math.floor(new SystemClock().nowMs() / 1000);
    const strict = ours([SECRET], true);
    t.same(strict(theirs, '127.0.0.1', now), [0, theirs], 'theirs is good here');
    const [, mine] = strict(client, '127.0.0.1', now);
    const [second, third] = await askAll(port, [withCookie(mine), withCookie(mine.replace(/..$/, '00'))]);
    t.equal(heard(second)[0], 0, 'ours is good there');
    if (!mine.endsWith('00')) t.equal(heard(third)[0], 23, 'and one that nobody made is not');
  });
}
