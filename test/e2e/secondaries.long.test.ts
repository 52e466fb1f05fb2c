/**
 * NSD, Knot and BIND as secondaries of the real program, set up as README says: one command adds each, another prints its
 * configuration. After every random change their copies equal ours; so do the differences from every serial, applied by hand.
 * Both sides are restarted in between, and the program is killed between a commit and its NOTIFY.
 *
 * `CHANGES=500` in the environment makes that many; node itself runs that, because tap ends files after ten minutes. It was last run
 * whole on 2026-11-22, in 22 minutes: all copies were equal.
 */
import { execFileSync } from 'node:child_process';
import { copyFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from 'node:tls';
import t, { type Test } from 'tap';
import { parseName } from '../../src/dns/name.js';
import { serialIsAfter } from '../../src/dns/serial.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { childOf } from '../support/program.js';
import { askAll, missingReferences } from '../support/reference-servers.js';
import {
  APEX,
  changeSomething,
  HEADERS,
  serialAt,
  startWorld,
  untilInSync,
  versionAt,
  type World,
  withTransfers,
} from '../support/secondary-world.js';
import { seededRandom } from '../support/seeded-random.js';
import { applyDifferences, asSet, serialOf, transfer } from '../support/transfer-client.js';
import { until } from '../support/until.js';

const CHANGES = Number(process.env['CHANGES'] ?? 25);
/** Changes after which the restarts repeat. */
const CYCLE = 25;
const RRSIG = 46;
const DIG = ['@127.0.0.1', '+noall', '+answer', '+onesoa'];
const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

t.setTimeout(CHANGES * 10_000 + 300_000);

t.test('three secondaries follow', { skip, timeout: CHANGES * 10_000 + 120_000 }, async (t) => {
  const world = await startWorld(t);
  const { run, secondaries } = world;
  const made = await run('tsig', 'create', 'transfer.test');
  t.equal(made.code, 0, made.err);
  world.key = { ...world.key, secret: Buffer.from(made.out.trim(), 'base64') };
  await t.test('refused until it is allowed', async (t) => {
    const { dnsPort } = world.program;
    t.equal((await transfer(dnsPort, APEX)).rcode, 5, 'nobody may by default');
    t.equal((await transfer(dnsPort, APEX, { key: world.key })).rcode, 5, 'nor with a key that belongs to no peer');
    t.equal((await transfer(dnsPort, parseName('other.test.'))).rcode, 9);
    const other = { ...world.key, name: parseName('other.key.') };
    await t.rejects(transfer(dnsPort, APEX, { key: other }), /error 17/, 'unknown key');
    const wrong = { ...world.key, secret: Buffer.from('another secret') };
    await t.rejects(transfer(dnsPort, APEX, { key: wrong }), /error 16/, 'another secret');
    const [udp] = await askAll(dnsPort, [makeQuery(APEX, 252)]);
    t.equal(udp![3]! & 15, 4, 'not over UDP');
  });
  await t.test('set up by commands', async (t) => {
    for (const secondary of secondaries) {
      const { name, port } = secondary;
      const place = ['--address', '127.0.0.1', '--port', String(port)];
      // The others get the key of the first.
      const key = secondary === secondaries[0] ? ['--tsig', 'transfer.test'] : [];
      const added = await run('secondary', 'add', name, ...place, ...key, '--zone', 'example.com');
      const said = new RegExp(`^${name} may transfer zone example\\.com; the key transfer\\.test\\.? signs\n`);
      t.match(added, { code: 0, out: said }, added.err);
      const tls =
        name !== 'knot' ? ['--tls-name', 'ns1.zoneplane.test', '--tls-ca', join(world.directory, 'cert.pem')] : [];
      const printed = await run('secondary', 'print', '--kind', name, '--address', '127.0.0.1', '--peer', name, ...tls);
      t.equal(printed.code, 0, printed.err);
      await secondary.start(withTransfers(name, printed.out));
    }
    await run('tsig', 'create', 'other.test');
    for (const key of [['--no-key'], ['--tsig', 'other.test']]) {
      const refused = await run('secondary', 'add', 'fourth', '--address', '127.0.0.1', ...key);
      t.match(refused, { code: 1, err: /peers of example\.com use different TSIG keys/ });
      const unknown = await run('secondary', 'add', 'fourth');
      t.match(unknown, { code: 1, err: /there is no peer fourth yet/ }, 'nothing is made');
    }
    await untilInSync(t, world, 'at the beginning');
    await until(async () => (await run('secondary', 'status')).code === 0, 'status says so');
    const status = JSON.parse((await run('secondary', 'status', '--json')).out);
    t.strictSame(
      status.map(({ peer, state }: { peer: string; state: string }) => [peer, state]),
      [
        ['nsd', 'in sync'],
        ['knot', 'in sync'],
        ['bind', 'in sync'],
      ],
    );
    for (let i = 0; i < 10; i++) {
      const record = { type: 'A', name: `waited${i}`, content: '192.0.2.9', ttl: 60 };
      const { status, serial, messages } = await write(world, '?wait=insync', record);
      t.strictSame([status, messages], ['INSYNC', []]);
      const serials = await Promise.all(secondaries.map(({ port }) => serialAt(port)));
      t.strictSame(serials, [serial, serial, serial], 'when the API answers, all of them do');
    }
    const outgoing = async () => (await world.call('GET', `/zones/${world.zone}/secondary_dns/outgoing`)).result;
    await until(async () => (await outgoing()).last_transferred_time !== null, 'the time of a transfer is stored');
  });

  const random = seededRandom(15);
  const pick = (below: number): number => random.bytes(1)[0]! % below;
  const versions = new Map<number, readonly string[]>();
  await t.test('with peers that sign', async (t) => {
    const { dnsPort } = world.program;
    t.equal((await transfer(dnsPort, APEX)).rcode, 5, 'unsigned');
    const { messages } = await transfer(dnsPort, APEX, { key: world.key, edns: 1232 });
    t.ok(
      messages.every((message) => decodeMessage(message).opt !== undefined),
      'OPT is answered with OPT',
    );
    const host = { port: world.dotPort, host: '127.0.0.1', rejectUnauthorized: false };
    const withoutDot = connect({ ...host, minVersion: 'TLSv1.3' });
    t.equal((await transfer(withoutDot, APEX, { key: world.key })).rcode, 5, 'TLS without the protocol dot');
    const old = connect({ ...host, ALPNProtocols: ['dot'], maxVersion: 'TLSv1.2' });
    t.equal((await transfer(old, APEX, { key: world.key })).rcode, 5, 'TLS 1.2');
    const dot = connect({ ...host, ALPNProtocols: ['dot'] });
    t.equal((await transfer(dot, APEX, { key: world.key })).rcode, 0);
  });
  await t.test('random changes', async (t) => {
    for (let change = 0; change < CHANGES; change++) {
      const round = change % CYCLE;
      if (round === 10) await secondaries[pick(3)]!.stop();
      if (round === 12) for (const secondary of secondaries) await secondary.stop().then(() => secondary.start());
      if (round === 18) await world.restart();
      if (round === 21) await killBeforeNotify(t, world);
      else await changeSomething(world, pick);
      if (round === 10) {
        // The one that is away is waited for until it is known not to answer, and named then.
        const waits = async () => (await write(world, '?wait=insync&wait_limit=1', nextRecord())).messages.length > 0;
        await until(waits, 'the one that is away is named');
        const { status, messages } = await write(world, '?wait=insync', nextRecord());
        t.match([status, messages], ['INSYNC', [{ code: 10204, message: /did not answer|ECONNREFUSED/ }]]);
      }
      if (round >= 10 && round < 12) continue;
      const { serial, records } = await untilInSync(t, world, `change ${change}`);
      versions.set(serial, records);
    }
  });

  await t.test('differences from every serial, applied by hand, are our version', async (t) => {
    const { dnsPort } = world.program;
    const { serial: newest, records: current } = await versionAt(dnsPort, world.key);
    let incremental = 0;
    for (const [serial, copy] of versions) {
      const { records } = await transfer(dnsPort, APEX, { key: world.key, from: serial });
      if (records.length > 1 && records[1]!.type === 6) incremental++;
      t.strictSame(applyDifferences(copy, records), current, `from ${serial}`);
    }
    // Older versions are not kept as differences.
    t.ok(incremental > Math.min(versions.size, CYCLE) / 2, `${incremental} of ${versions.size} are not the whole zone`);
    const unknown = await transfer(dnsPort, APEX, { key: world.key, from: 4_000_000_000 });
    t.strictSame(asSet(unknown.records), current, 'an unknown serial gets the whole zone');
    t.equal(serialOf(unknown.records[0]!), newest);
  });

  await t.test('load balancers stand there as they are without health', async (t) => {
    const { account } = (await world.call('GET', `/zones/${world.zone}`)).result;
    const pools = `/accounts/${account.id}/load_balancers/pools`;
    const origins = [
      { name: 'one', address: '192.0.2.1' },
      { name: 'two', address: '192.0.2.2' },
      { name: 'six', address: '2001:db8::6' },
      { name: 'off', address: '192.0.2.3', enabled: false },
      { name: 'drained', address: '192.0.2.4', weight: 0 },
    ];
    const monitor = await world.call('POST', `/accounts/${account.id}/load_balancers/monitors`, { type: 'http' });
    const made = await world.call('POST', pools, { name: 'static', monitor: monitor.result.id, origins });
    const { id: pool } = made.result;
    for (const name of ['lb.example.com', '*.lb.example.com']) {
      const balancer = { name, default_pools: [pool], fallback_pool: pool, ttl: 45 };
      t.match(await world.call('POST', `/zones/${world.zone}/load_balancers`, balancer), { success: true });
    }
    const sees = async (expected: readonly string[]) => {
      await untilInSync(t, world, 'with load balancers');
      for (const name of ['lb', 'any.lb'].map((label) => parseName(`${label}.example.com.`))) {
        for (const { name: who, port } of secondaries) {
          const [a, aaaa] = await askAll(port, [makeQuery(name, 1), makeQuery(name, 28)]);
          const answers = [a, aaaa].flatMap((message) => decodeMessage(message!).answer);
          t.strictSame(answers.map(({ rdata, ttl }) => `${rdata} ${ttl}`).sort(), expected, who);
        }
      }
    };
    const six = '20010db8000000000000000000000006 45';
    await sees([six, 'c0000201 45', 'c0000202 45']);
    const edited = await world.call('PATCH', `${pools}/${pool}`, { origins: origins.slice(1) });
    t.match(edited, { success: true });
    await sees([six, 'c0000202 45']);
  });

  await t.test('signed', async (t) => {
    const { dnsPort } = world.program;
    const enabled = await run('dnssec', 'enable', 'example.com');
    t.equal(enabled.code, 0, enabled.err);
    const typesAt = async (): Promise<Set<number>> =>
      new Set((await transfer(dnsPort, APEX, { key: world.key })).records.map(({ type }) => type));
    await until(async () => (await typesAt()).has(RRSIG), 'the zone is signed');
    const before = await untilInSync(t, world, 'signed');
    await changeSomething(world, () => 0);
    const after = await untilInSync(t, world, 'changed while signed');
    const { records } = await transfer(dnsPort, APEX, { key: world.key, from: before.serial });
    t.strictSame(applyDifferences(before.records, records), after.records, 'the difference has the signatures');
    t.ok(records.length > 4 && records.length < 100, 'it is a difference');
    const exported = join(world.directory, 'copy.zone');
    writeFileSync(
      exported,
      execFileSync('dig', [
        ...DIG,
        '-p',
        String(dnsPort),
        '-y',
        `hmac-sha256:transfer.test:${Buffer.from(world.key.secret).toString('base64')}`,
        'example.com',
        'AXFR',
      ]),
    );
    const verified = await run('dnssec', 'verify', exported, '--origin', 'example.com');
    t.equal(verified.code, 0, verified.out + verified.err);
  });

  await t.test('a backup is restored, and older than the copies', async (t) => {
    const backup = join(world.directory, 'backup.db');
    t.match(await run('backup', backup), { code: 0 });
    for (let i = 0; i < 3; i++) await changeSomething(world, () => 0);
    const { serial: lost } = await untilInSync(t, world, 'changes that will be lost');
    const data = join(world.directory, 'data');
    await world.restart('SIGTERM', async () => {
      renameSync(data, `${data}-before`);
      t.match(await run('restore', backup), { code: 0, out: /1 zone gets a newer serial/ });
      copyFileSync(join(`${data}-before`, 'master.key'), join(data, 'master.key'));
    });
    const { serial } = await untilInSync(t, world, 'the restored version');
    t.ok(serialIsAfter(serial, lost), `${serial} is newer than ${lost}`);
    for (let i = 0; i < 3; i++) await changeSomething(world, () => 0);
    await untilInSync(t, world, 'changes after the restoration');
  });
});

/** NOTIFY waits until the DNS process answers the change. It is stopped, so that the kill comes before. */
async function killBeforeNotify(t: Test, world: World): Promise<void> {
  const before = await serialAt(world.secondaries[0]!.port);
  process.kill(childOf(world.program.child.pid!, 'dns')!, 'SIGSTOP');
  const record = { type: 'A', name: `killed${counter++}`, content: '192.0.2.11', ttl: 60 };
  t.match(
    await world.call('POST', `/zones/${world.zone}/dns_records`, record),
    { success: true },
    'it is acknowledged',
  );
  t.equal(await serialAt(world.secondaries[0]!.port), before, 'nobody was told yet');
  await world.restart('SIGKILL');
}

/** Creates a record; what its receipt says. */
async function write(
  { program, zone }: World,
  query: string,
  record: object,
): Promise<{ readonly status: string | null; readonly serial: number; readonly messages: readonly unknown[] }> {
  const url = `${program.api}/client/v4/zones/${zone}/dns_records${query}`;
  const response = await fetch(url, { method: 'POST', headers: HEADERS, body: JSON.stringify(record) });
  const { messages } = (await response.json()) as { messages: unknown[] };
  const { headers } = response;
  return { status: headers.get('zoneplane-status'), serial: Number(headers.get('zoneplane-serial')), messages };
}

let counter = 0;

function nextRecord(): object {
  return { type: 'A', name: `next${counter++}`, content: '192.0.2.10', ttl: 60 };
}
