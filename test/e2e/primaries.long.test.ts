/**
 * NSD, Knot and BIND as primaries of the real program: zones with a key, differences and restarts of either side; after random
 * changes there our copy equals theirs.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import Database from 'better-sqlite3';
import t, { type Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { KEY, SECRET, startWorld, type World } from '../support/primary-world.js';
import { askAll, missingReferences } from '../support/reference-servers.js';
import { address, type ScriptedRR, soa, startScriptedPrimary } from '../support/scripted-primary.js';
import { createSecondary, type Secondary } from '../support/secondaries.js';
import { seededRandom } from '../support/seeded-random.js';
import { asSet, serialInAnswer, serialOf, transfer } from '../support/transfer-client.js';
import { until } from '../support/until.js';

const CHANGES = 7;
const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

async function serialAt(port: number, zone: string): Promise<number | undefined> {
  const [answer] = await askAll(port, [makeQuery(parseName(`${zone}.`), 6)], 500, 2);
  return serialInAnswer(answer);
}

/** A secondary zone from a primary at this port, with differences. */
async function follow(world: World, zone: string, port: number): Promise<string> {
  const { call, account, key } = world;
  const peer = { name: zone, ip: '127.0.0.1', port, tsig_id: key, ixfr_enable: true };
  const { id } = (await call('POST', `/accounts/${account}/secondary_dns/peers`, peer)).result;
  const made = (await call('POST', '/zones', { name: zone, type: 'secondary', account: { id: account } })).result;
  await call('POST', `/zones/${made.id}/secondary_dns/incoming`, { name: zone, peers: [id] });
  // So that the copy can be compared.
  await call('POST', `/zones/${made.id}/secondary_dns/outgoing`, { name: zone, peers: [id] });
  await call('POST', `/zones/${made.id}/secondary_dns/outgoing/enable`);
  return made.id;
}

interface Version {
  readonly serial: number;
  readonly records: readonly string[];
}

async function versionAt(port: number, zone: string): Promise<Version> {
  const { records } = await transfer(port, parseName(`${zone}.`), { key: KEY });
  return { serial: serialOf(records[0]!), records: asSet(records) };
}

/** Waits until our copy is what the primary has, record by record. */
async function untilEqual(world: World, zone: string, primary: Secondary, zoneId: string): Promise<void> {
  let status = '';
  await until(
    async () => {
      if ((await serialAt(world.program.dnsPort, zone)) !== (await serialAt(primary.port, zone))) return false;
      const [ours, theirs] = [await versionAt(world.program.dnsPort, zone), await versionAt(primary.port, zone)];
      status = JSON.stringify((await world.call('GET', `/zones/${zoneId}/secondary_dns/incoming/status`)).result);
      return isDeepStrictEqual(ours, theirs);
    },
    `our copy of ${zone} is that of ${primary.name}`,
    () => `${status}\n${primary.log().slice(-1500)}\n${world.program.printed().slice(-3000)}`,
  );
}

const ZONE_TEXT = (zone: string, serial: number, more = ''): string =>
  `$ORIGIN ${zone}.\n$TTL 300\n@ SOA ns h ${serial} 3600 600 86400 60\n@ NS ns\nns A 192.0.2.1\n*.wild TXT "w"\nsub NS ns.sub\n` +
  `ns.sub A 192.0.2.3\nMixed MX 10 Mail\nmail A 192.0.2.4\nu TYPE65400 \\# 3 010203\n` +
  `${Array.from({ length: 300 }, (_, i) => `h${i} A 192.0.2.${i % 250}\n`).join('')}${more}`;

/** Changes of one record, as `nsupdate` and `knotc` take them. */
function randomChanges(seed: number, count: number): readonly (readonly ['add' | 'delete', string, string])[] {
  const random = seededRandom(seed);
  const pick = (most: number): number => random.bytes(1)[0]! % most;
  return Array.from({ length: count }, () => {
    const name = ['h3', 'h7', 'new', 'deep.er', 'x.wild', `n${pick(9)}`][pick(6)]!;
    return [pick(3) === 0 ? 'delete' : 'add', name, `192.0.2.${pick(200)}`];
  });
}

t.test('BIND, written by nsupdate', { skip, timeout: 300_000 }, async (t) => {
  const zone = 'bind.test';
  const world = await startWorld(t);
  const bind = createSecondary('bind', world.directory, await freePort());
  t.teardown(() => bind.stop());
  writeFileSync(join(world.directory, 'bind', 'zone'), ZONE_TEXT(zone, 100));
  const key = `key k.test { algorithm hmac-sha256; secret "${SECRET}"; };\n`;
  await bind.start(
    `${key}zone ${zone} { type primary; file "zone"; allow-transfer { key k.test; }; allow-update { key k.test; }; ixfr-from-differences yes; notify explicit; notify-delay 0; also-notify { 127.0.0.1 port ${world.program.dnsPort} key k.test; }; };\n`,
  );
  const id = await follow(world, zone, bind.port);
  await untilEqual(world, zone, bind, id);
  for (const [index, [action, name, address]] of randomChanges(3, CHANGES).entries()) {
    const line = action === 'add' ? `update add ${name}.${zone} 60 A ${address}` : `update delete ${name}.${zone}`;
    const script = `server 127.0.0.1 ${bind.port}\nkey hmac-sha256:k.test ${SECRET}\nzone ${zone}\n${line}\nsend\n`;
    execFileSync('nsupdate', [], { input: script });
    if (index === 4) await world.restart();
    if (index === 6) await bind.stop().then(() => bind.start());
    await untilEqual(world, zone, bind, id);
  }
  t.pass(`${CHANGES} changes`);
});

/** As NOTIFY would: the next check is due now. */
async function refresh(world: World, id: string): Promise<void> {
  const incoming = (await world.call('GET', `/zones/${id}/secondary_dns/incoming`)).result;
  await world.call('PUT', `/zones/${id}/secondary_dns/incoming`, { name: incoming.name, peers: incoming.peers });
}

t.test('Knot, written by knotc', { skip, timeout: 300_000 }, async (t) => {
  const zone = 'knot.test';
  const world = await startWorld(t);
  const knot = createSecondary('knot', world.directory, await freePort());
  t.teardown(() => knot.stop());
  const own = join(world.directory, 'knot');
  writeFileSync(join(own, 'knot.test.zone'), ZONE_TEXT(zone, 100));
  const control = join(own, 'control');
  await knot.start(
    `control:\n  listen: ${control}\nkey:\n  - id: k.test\n    algorithm: hmac-sha256\n    secret: ${SECRET}\n` +
      `remote:\n  - id: us\n    address: 127.0.0.1@${world.program.dnsPort}\n` +
      `acl:\n  - id: out\n    key: k.test\n    action: transfer\nzone:\n  - domain: ${zone}\n    file: knot.test.zone\n    acl: out\n    notify: us\n` +
      `    zonefile-load: difference\n    journal-content: changes\n`,
  );
  const knotc = (...args: string[]): void => void execFileSync('knotc', ['-s', control, ...args], { stdio: 'pipe' });
  const id = await follow(world, zone, knot.port);
  await untilEqual(world, zone, knot, id);
  for (const [index, [action, name, address]] of randomChanges(5, CHANGES).entries()) {
    knotc('zone-begin', zone);
    try {
      if (action === 'add') knotc('zone-set', zone, `${name}.${zone}.`, '300', 'A', address);
      else knotc('zone-unset', zone, `${name}.${zone}.`, 'A');
      knotc('zone-commit', zone);
    } catch {
      knotc('zone-abort', zone);
    }
    if (index === 4) await world.restart('SIGKILL');
    await untilEqual(world, zone, knot, id);
  }
  t.pass(`${CHANGES} changes`);
});

t.test('NSD, which reads its files again', { skip, timeout: 300_000 }, async (t) => {
  const zone = 'nsd.test';
  const world = await startWorld(t);
  const nsd = createSecondary('nsd', world.directory, await freePort());
  t.teardown(() => nsd.stop());
  const file = join(world.directory, 'nsd', 'zone');
  writeFileSync(file, ZONE_TEXT(zone, 100));
  await nsd.start(
    `key:\n  name: k.test\n  algorithm: hmac-sha256\n  secret: "${SECRET}"\nzone:\n  name: ${zone}\n  zonefile: "zone"\n  provide-xfr: 127.0.0.1 k.test\n`,
  );
  const id = await follow(world, zone, nsd.port);
  await untilEqual(world, zone, nsd, id);
  const more = Array.from({ length: 3000 }, (_, i) => `many${i} TXT "${'t'.repeat(60)} ${i}"\n`).join('');
  for (const [serial, text] of [
    [101, 'extra A 192.0.2.77\n'],
    [102, more],
    [103, ''],
  ] as const) {
    writeFileSync(file, ZONE_TEXT(zone, serial, text));
    await nsd.stop();
    await nsd.start();
    await refresh(world, id);
    await untilEqual(world, zone, nsd, id);
  }
  const answer = (await world.call('GET', `/zones/${id}/secondary_dns/incoming/status`)).result;
  t.match(answer, { state: 'current', soa_serial: 103, error: null });
});

/** Answer and authority sections with DO, as texts that compare. */
async function signedAnswer(port: number, name: string, type: number): Promise<readonly unknown[]> {
  const [answer] = await askAll(port, [makeQuery(parseName(name), type, { edns: 1232, dnssecOk: true })], 2000, 3);
  const { rcode, answer: answers, authority } = decodeMessage(answer!);
  return [rcode, asSet(answers), asSet(authority)];
}

t.test(
  'zones that Knot signs are served as they came, expire, and come back',
  { skip, timeout: 300_000 },
  async (t) => {
    const world = await startWorld(t);
    const knot = createSecondary('knot', world.directory, await freePort());
    t.teardown(() => knot.stop());
    const own = join(world.directory, 'knot');
    const zones = ['nsec.test', 'nsec3.test'] as const;
    for (const zone of zones) {
      writeFileSync(join(own, `${zone}.zone`), ZONE_TEXT(zone, 100).replace(/^h\d+ A .*\n/gm, ''));
    }
    const control = join(own, 'control');
    const each = (zone: string): string =>
      `  - domain: ${zone}\n    file: ${zone}.zone\n    acl: out\n    notify: us\n    zonefile-load: difference\n` +
      `    journal-content: changes\n    dnssec-signing: on\n    dnssec-policy: ${zone}\n`;
    await knot.start(
      `control:\n  listen: ${control}\nkey:\n  - id: k.test\n    algorithm: hmac-sha256\n    secret: ${SECRET}\n` +
        `remote:\n  - id: us\n    address: 127.0.0.1@${world.program.dnsPort}\nacl:\n  - id: out\n    key: k.test\n    action: transfer\n` +
        `policy:\n  - id: nsec.test\n    nsec3: off\n  - id: nsec3.test\n    nsec3: on\nzone:\n${zones.map(each).join('')}`,
    );
    const knotc = (...args: string[]): void => void execFileSync('knotc', ['-s', control, ...args], { stdio: 'pipe' });
    const ids: string[] = [];
    for (const zone of zones) {
      const id = await follow(world, zone, knot.port);
      ids.push(id);
      await untilEqual(world, zone, knot, id);
      await compareSigned(t, world, zone, knot, 'at first');
      knotc('zone-begin', zone);
      knotc('zone-set', zone, `new.${zone}.`, '300', 'A', '192.0.2.7');
      knotc('zone-commit', zone);
      await untilEqual(world, zone, knot, id);
      await compareSigned(t, world, zone, knot, 'after a change');
      t.equal((await world.call('GET', `/zones/${id}/dnssec`)).result.dnssec_presigned, true);
      await world.call('PATCH', `/zones/${id}/dns_settings`, { secondary_overrides: true });
      const own = { type: 'A', name: `ns.${zone}`, content: '192.0.2.9', proxied: true, ttl: 1 };
      const refused = await world.call('POST', `/zones/${id}/dns_records`, own);
      t.match(refused, { errors: [{ message: /is signed by its primary/ }] }, 'nothing is proxied in it');
      t.match((await world.call('GET', `/zones/${id}/secondary_dns/incoming/status`)).result, { error: null });
    }
    await knot.stop();
    const database = new Database(join(world.directory, 'data', 'zoneplane.db'));
    database.exec('UPDATE zone_incoming SET expires_at = 1000');
    database.close();
    const rcodeOf = async (): Promise<unknown> => (await signedAnswer(world.program.dnsPort, `ns.${zones[0]}.`, 1))[0];
    await refresh(world, ids[0]!);
    await until(async () => (await rcodeOf()) === 2, 'an expired zone is answered with SERVFAIL');
    await knot.start();
    await refresh(world, ids[0]!);
    await until(async () => (await rcodeOf()) === 0, 'it is answered again', world.program.printed);
    await untilEqual(world, zones[0], knot, ids[0]!);
  },
);

/** The same answers as the primary, proofs and signatures included. */
async function compareSigned(t: Test, world: World, zone: string, { port }: Secondary, when: string): Promise<void> {
  const questions: readonly (readonly [string, number])[] = [
    [zone, 6],
    [zone, 48],
    [`ns.${zone}`, 1],
    [`ns.${zone}`, 28],
    [`none.${zone}`, 1],
    [`a.wild.${zone}`, 16],
    [`a.wild.${zone}`, 1],
    [`x.sub.${zone}`, 1],
    [`new.${zone}`, 1],
  ];
  for (const [name, type] of questions) {
    const [ours, theirs] = [world.program.dnsPort, port].map((at) => signedAnswer(at, `${name}.`, type));
    t.same(await ours, await theirs, `${name} ${type} ${when}`);
  }
}

t.test(
  'after kill -9 in the middle of a transfer the old version is served, then the new one',
  { timeout: 300_000 },
  async (t) => {
    const zone = 'half.test';
    const world = await startWorld(t);
    const primary = await startScriptedPrimary(zone, KEY);
    t.teardown(() => primary.close());
    const host = (name: string): ScriptedRR => address(`${name}.${zone}.`, 7);
    const ns: ScriptedRR = [`${zone}.`, 300, 2, parseName(`ns.${zone}.`)];
    primary.script.serial = 1;
    primary.script.transfer = (_, say) => say.message([soa(zone, 1), ns, host('ns'), host('old'), soa(zone, 1)]);
    const id = await follow(world, zone, primary.port);
    const answered = async (name: string): Promise<unknown> => {
      return (await signedAnswer(world.program.dnsPort, `${name}.${zone}.`, 1))[0];
    };
    await until(async () => (await answered('old')) === 0, 'the first version is answered');
    const parts = Array.from({ length: 40 }, (_, i) => Array.from({ length: 300 }, (_, j) => host(`new${i}-${j}`)));
    let half = false;
    primary.script.serial = 2;
    primary.script.transfer = (_, say) => {
      say.message([soa(zone, 2), ns, host('ns')]);
      for (const part of parts) say.message(part);
      half = true;
    };
    await refresh(world, id);
    await until(async () => half && countStaged(world) > 5000, 'half of the second version has come');
    primary.script.transfer = (_, say) => say.message([], { rcode: 5 });
    await world.restart('SIGKILL');
    t.equal(await answered('old'), 0, 'the old version');
    t.equal(await answered('new0-0'), 3, 'and nothing of the new one');
    primary.script.transfer = (_, say) => {
      say.message([soa(zone, 2), ns, host('ns')]);
      for (const part of parts) say.message(part);
      say.message([soa(zone, 2)]);
    };
    await refresh(world, id);
    await until(
      async () => (await answered('new39-299')) === 0,
      'the second version is answered',
      world.program.printed,
    );
    t.equal(await answered('old'), 3);
  },
);

/** Records that are stored and belong to no zone yet. */
function countStaged({ directory }: World): number {
  const database = new Database(join(directory, 'data', 'zoneplane.db'), { readonly: true });
  const sets = "SELECT number FROM record_sets WHERE state = 'staged'";
  const count = database.prepare(`SELECT count(*) AS n FROM record_rows WHERE record_set IN (${sets})`).get();
  database.close();
  return (count as { n: number }).n;
}
