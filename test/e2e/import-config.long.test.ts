/** A BIND with 50 zones, two keys and two secondaries moves here by one command, and its secondaries go on with this server. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { parseName } from '../../src/dns/name.js';
import type { TsigKey } from '../../src/dns/tsig.js';
import { runCommand } from '../support/commands.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { startProgram, stopProgram } from '../support/program.js';
import { askAll, endChild, launch, waitForAnswers } from '../support/reference-servers.js';
import { createSecondary } from '../support/secondaries.js';
import { asSet, transfer } from '../support/transfer-client.js';
import { until } from '../support/until.js';

t.setTimeout(400_000);
const missing = ['/usr/sbin/named', '/usr/sbin/nsd', '/usr/bin/named-checkconf'].filter((file) => !existsSync(file));
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

const ZONES = Array.from({ length: 50 }, (_, index) => `zone${index}.example`);
const OCTETS = Buffer.from('0123456789abcdef0123456789abcdef');
const SECRET = OCTETS.toString('base64');
const keyNamed = (name: string): TsigKey => ({ name: parseName(`${name}.`), algorithm: 'hmac-sha256', secret: OCTETS });
/** The first half is for NSD, the second for BIND. */
const keyOf = (index: number): string => (index < ZONES.length / 2 ? 'north.test' : 'south.test');
const QUESTIONS = [
  ['', 6],
  ['', 2],
  ['', 15],
  ['www.', 1],
  ['a.wild.', 16],
  ['none.', 1],
  ['x.sub.', 1],
  ['alias.', 1],
] as const;

const zoneText = (index: number): string =>
  `$TTL 300\n@ 3600 SOA ns1 host.master ${2026010100 + index} 3600 600 86400 60\n@ NS ns1\n@ NS ns2.provider.example.\nns1 A 192.0.2.1\n` +
  `$INCLUDE shared\nwww 60 A 192.0.2.${index}\nalias CNAME www\n*.wild TXT "zone ${index}; a" "b"\nsub NS ns.sub\nns.sub AAAA 2001:db8::${index}\n`;

/** The answers to all questions about all zones: RCODE, answers and authority as sets. */
async function answersOf(port: number): Promise<unknown[]> {
  const asked = ZONES.flatMap((zone) => QUESTIONS.map(([name, type]) => makeQuery(parseName(`${name}${zone}.`), type)));
  const answers = await askAll(port, asked, 2000, 5);
  return answers.map((message, index) => {
    const { rcode, answer, authority } = decodeMessage(message!);
    // BIND adds the name servers to answers.
    return [index, rcode, asSet(answer), answer.length > 0 ? [] : asSet(authority)];
  });
}

t.test('50 zones, two keys, two secondaries', { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-import-config-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const [bindPort, nsd, bind] = [
    await freePort(),
    createSecondary('nsd', directory, await freePort()),
    createSecondary('bind', directory, await freePort()),
  ];
  const etc = join(directory, 'etc');
  const db = join(directory, 'db');
  for (const made of [etc, db]) mkdirSync(made);
  writeFileSync(join(db, 'shared'), '@ MX 10 mail\nmail A 192.0.2.25\n');
  for (const index of ZONES.keys()) writeFileSync(join(db, `db.${index}`), zoneText(index));
  const half = (from: number, key: string, port: number): string =>
    ZONES.slice(from, from + 25)
      .map(
        (zone, index) =>
          `zone "${zone}" { type master; file "db.${from + index}"; allow-transfer { ${key}-servers; }; also-notify { 127.0.0.1 port ${port} key ${key}.test; }; };\n`,
      )
      .join('');
  writeFileSync(
    join(etc, 'keys.conf'),
    `key "north.test" { algorithm hmac-sha256; secret "${SECRET}"; };\nkey south.test { algorithm hmac-sha256; secret "${SECRET}"; };\n`,
  );
  writeFileSync(join(etc, 'named.conf.south'), half(25, 'south', bind.port));
  const config = join(etc, 'named.conf');
  writeFileSync(
    config,
    `// as at home\ninclude "${etc}/keys.conf";\nacl north-servers { key north.test; };\nacl south-servers { key south.test; };\n` +
      `options {\n  directory "${db}"; /* here */\n  listen-on port ${bindPort} { 127.0.0.1; }; listen-on-v6 { none; };\n  recursion no; pid-file none; session-keyfile none;\n` +
      `  allow-transfer { none; };\n};\ncontrols { };\n${half(0, 'north', nsd.port)}include "${etc}/named.conf.south";\n`,
  );
  const checked = spawnSync('/usr/bin/named-checkconf', ['-z', config], { encoding: 'utf8' });
  t.equal(checked.status, 0, checked.stdout);
  const log = join(directory, 'named.log');
  const named = launch('bind', ['-g', '-n', '1', '-c', config], log);
  t.teardown(() => endChild(named));
  await waitForAnswers('bind', bindPort, log);
  const before = await answersOf(bindPort);
  await endChild(named);

  const program = await startProgram({ directory, detached: true });
  t.teardown(() => stopProgram(program));
  const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_ALLOW_NETWORKS: '127.0.0.0/8' };
  const run = (...args: string[]) => runCommand(environment, 'import-config', config, ...args);
  t.match(await run(), { code: 2, err: /nobody can be asked here/ });
  const looked = await run('--dry-run');
  t.match(looked, { code: 0, out: /to do: 54, cannot be done: 0; nothing was changed/ }, looked.err);
  // As after an update that is in the journal only.
  const journal = join(db, 'db.7.jnl');
  writeFileSync(journal, '');
  const later = Date.now() / 1000 + 60;
  utimesSync(journal, later, later);
  const partly = await run('--yes');
  t.match(partly, {
    code: 1,
    out: /zone zone7\.example: .*db\.7\.jnl has changes/,
    err: /zones are not here, such as zone7\.example/,
  });
  t.match(partly.out, /done: 52, not done: 2/);
  rmSync(journal);
  const rest = await run('--yes', '--json');
  t.equal(rest.code, 0, rest.err);
  const { steps } = JSON.parse(rest.out) as { steps: { subject: string; state: string }[] };
  t.strictSame(
    steps.filter(({ state }) => state !== 'already').map(({ subject, state }) => `${subject} ${state}`),
    ['zone7.example done', `127.0.0.1#${nsd.port} done`],
    'what was left, and nothing else',
  );
  await until(async () => {
    const [answer] = await askAll(program.dnsPort, [makeQuery(parseName('zone7.example.'), 6)]);
    return decodeMessage(answer!).rcode === 0;
  }, 'the last zone is served');
  t.strictSame(await answersOf(program.dnsPort), before, 'the answers are those of BIND');

  const from = (kind: 'nsd' | 'bind', index: number): string => {
    const key = keyOf(index);
    return kind === 'nsd'
      ? `zone:\n  name: "${ZONES[index]}"\n  request-xfr: 127.0.0.1@${program.dnsPort} ${key}\n  allow-notify: 127.0.0.1 ${key}\n`
      : `zone "${ZONES[index]}" { type secondary; primaries { 127.0.0.1 port ${program.dnsPort} key ${key}; }; };\n`;
  };
  const all = (kind: 'nsd' | 'bind'): string =>
    [...ZONES.keys()]
      .filter((index) => (kind === 'nsd') === index < 25)
      .map((index) => from(kind, index))
      .join('');
  await nsd.start(`key:\n  name: north.test\n  algorithm: hmac-sha256\n  secret: "${SECRET}"\n${all('nsd')}`);
  await bind.start(`key south.test { algorithm hmac-sha256; secret "${SECRET}"; };\n${all('bind')}`);
  t.teardown(() => Promise.all([nsd.stop(), bind.stop()]));
  for (const [index, zone] of ZONES.entries()) {
    const { port, log: logOf } = index < 25 ? nsd : bind;
    const apex = parseName(`${zone}.`);
    const ours = asSet((await transfer(program.dnsPort, apex, { key: keyNamed(keyOf(index)) })).records);
    if (index === 0) {
      t.equal(ours.length, 11, 'the zone as a whole');
      t.match(
        await transfer(program.dnsPort, apex, { key: keyNamed('south.test') }),
        { rcode: 5 },
        'not with another key',
      );
      t.match(await transfer(program.dnsPort, apex), { rcode: 5 }, 'not without a key');
    }
    const soa = makeQuery(apex, 6);
    const isThere = async (): Promise<boolean> => {
      const [answer] = await askAll(port, [soa], 500, 2);
      return (
        answer !== undefined &&
        asSet(decodeMessage(answer).answer).every((record) => ours.includes(record)) &&
        decodeMessage(answer).answer.length === 1
      );
    };
    await until(
      isThere,
      `${zone} is at its secondary`,
      () => `${logOf().slice(-500)} ${program.printed().slice(-1500)}`,
    );
  }
});

t.test('a zone that BIND signs goes on with its keys', { skip }, async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-import-signed-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const [port, log, config] = [await freePort(), join(directory, 'log'), join(directory, 'named.conf')];
  const keys = join(directory, 'keys');
  mkdirSync(keys);
  writeFileSync(join(directory, 'db'), zoneText(1).replace('$INCLUDE shared\n', ''));
  writeFileSync(
    config,
    `options { directory "${directory}"; key-directory "${keys}"; listen-on port ${port} { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none; };\n` +
      'controls { };\nzone signed.example { type primary; file "db"; dnssec-policy default; inline-signing yes; allow-transfer { none; }; };\n',
  );
  const named = launch('bind', ['-g', '-n', '1', '-c', config], log);
  t.teardown(() => endChild(named));
  await waitForAnswers('bind', port, log);
  const dnskeyAt = async (at: number): Promise<string[]> => {
    const [answer] = await askAll(at, [makeQuery(parseName('signed.example.'), 48)]);
    return answer ? asSet(decodeMessage(answer).answer).map((record) => record.split(' ').at(-1)!) : [];
  };
  await until(async () => (await dnskeyAt(port)).length > 0, 'it is signed');
  const before = await dnskeyAt(port);
  await endChild(named);
  const environment = { ZONEPLANE_DATA_DIR: join(directory, 'data'), ZONEPLANE_RESOLVER_UPSTREAMS: '' };
  const hidden = await runCommand(environment, 'import-config', config, '--init', '--yes', '--root', keys);
  t.match(hidden, { code: 1 }, 'without its keys it is not taken');
  const taken = await runCommand(environment, 'import-config', config, '--init', '--yes');
  t.match(taken, { code: 0, out: /zone signed\.example, .*signed with its keys/ }, taken.err);
  const program = await startProgram({ directory });
  t.teardown(() => stopProgram(program));
  t.strictSame(await dnskeyAt(program.dnsPort), before, 'the keys are those of BIND');
});
