/**
 * Knot, BIND and NSD as producers of catalog zones (RFC 9432) that the real program follows: zones come, go and begin anew, a
 * broken catalog changes nothing. With `MEMBERS=1000` in the environment, with that many, run by node itself, because tap ends
 * files after ten minutes; last run so with all three on 2026-11-22.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { sleep } from '../../src/base/clock.js';
import { parseName } from '../../src/dns/name.js';
import { runCommand } from '../support/commands.js';
import { freePort } from '../support/free-ports.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { SECRET, startWorld, type World } from '../support/primary-world.js';
import { askAll, missingReferences, type ReferenceName } from '../support/reference-servers.js';
import { createSecondary, type Secondary } from '../support/secondaries.js';
import { until } from '../support/until.js';

const MEMBERS = Number(process.env['MEMBERS'] ?? 12);
const missing = missingReferences();
const skip = missing.length > 0 && process.env['CI'] !== 'true' ? `not installed: ${missing.join(', ')}` : false;

/** What a producer has: its members with the labels under which they stand, where it lets us choose them. */
interface Version {
  readonly serial: number;
  readonly members: readonly (readonly [label: string, zone: string])[];
  /** Lines of the catalog; not for Knot, which makes it. */
  readonly version?: string;
}

const SOA = (serial: number): string => `$TTL 60\n@ SOA invalid. invalid. ${serial} 3600 600 86400 60\n`;
const MEMBER = `${SOA(1)}@ NS ns.other.test.\nwww A 192.0.2.1\n`;
const CATALOG = ({ serial, members, version = 'version TXT "2"' }: Version): string =>
  `${SOA(serial)}@ NS invalid.\n${version}\n${members.map(([label, zone]) => `${label}.zones PTR ${zone}.`).join('\n')}\n`;

/** The configuration of a producer that has these zones; all read one file. */
function configurationOf(name: ReferenceName, catalog: string, members: Version['members'], port: number): string {
  const zones = members.map(([, zone]) => zone);
  if (name === 'knot') {
    return (
      `key:\n  - id: k.test\n    algorithm: hmac-sha256\n    secret: ${SECRET}\nremote:\n  - id: us\n    address: 127.0.0.1@${port}\n    key: k.test\n` +
      `acl:\n  - id: out\n    key: k.test\n    action: transfer\n` +
      `zone:\n  - domain: ${catalog}\n    catalog-role: generate\n    acl: out\n    notify: us\n${zones
        .map(
          (zone) =>
            `  - domain: ${zone}\n    file: member\n    acl: out\n    catalog-role: member\n    catalog-zone: ${catalog}\n`,
        )
        .join('')}`
    );
  }
  if (name === 'bind') {
    const all = [
      `zone ${catalog} { type primary; file "catalog"; notify explicit; notify-delay 0; also-notify { 127.0.0.1 port ${port} key k.test; }; };`,
    ];
    for (const zone of zones) all.push(`zone ${zone} { type primary; file "member"; notify no; };`);
    return `key k.test { algorithm hmac-sha256; secret "${SECRET}"; };\n${all.join('\n')}\n`;
  }
  const of = (zone: string, file: string): string =>
    `zone:\n  name: ${zone}\n  zonefile: "${file}"\n  provide-xfr: 127.0.0.1 k.test\n  notify: 127.0.0.1@${port} k.test\n`;
  return `key:\n  name: k.test\n  algorithm: hmac-sha256\n  secret: "${SECRET}"\n${of(catalog, 'catalog')}${zones.map((zone) => of(zone, 'member')).join('')}`;
}

async function isAnswered(world: World, zone: string): Promise<boolean> {
  const query = makeQuery(parseName(`www.${zone}.`), 1);
  const [answer] = await askAll(world.program.dnsPort, [query], 2000, 3);
  return answer !== undefined && decodeMessage(answer).answer.length === 1;
}

async function isGone(world: World, zone: string): Promise<boolean> {
  const [answer] = await askAll(world.program.dnsPort, [makeQuery(parseName(`www.${zone}.`), 1)], 2000, 3);
  return answer !== undefined && decodeMessage(answer).rcode === 5;
}

async function startProducer(t: Test, world: World, name: ReferenceName) {
  const catalog = `catalog-${name}.test`;
  const server: Secondary = createSecondary(name, world.directory, await freePort());
  t.teardown(() => server.stop());
  const own = join(world.directory, name);
  const path = `/accounts/${world.account}/secondary_dns`;
  let id = '';
  const refresh = async (): Promise<void> => {
    const { zone_id: zone } = (await world.call('GET', `${path}/consumed_catalogs/${id}`)).result;
    await world.call('POST', `/zones/${zone}/secondary_dns/force_axfr`);
  };
  return {
    server,
    catalog,
    path,
    async publish(version: Version): Promise<void> {
      writeFileSync(join(own, 'member'), MEMBER);
      if (name !== 'knot') writeFileSync(join(own, 'catalog'), CATALOG(version));
      await server.stop();
      await server.start(configurationOf(name, catalog, version.members, world.program.dnsPort));
      // NSD tells nobody of what it read at its start.
      if (id !== '' && name === 'nsd') await refresh();
    },
    async consume(): Promise<void> {
      const peer = { name: catalog, ip: '127.0.0.1', port: server.port, tsig_id: world.key, ixfr_enable: true };
      const { id: peerId } = (await world.call('POST', `${path}/peers`, peer)).result;
      const made = await world.call('POST', `${path}/consumed_catalogs`, { name: catalog, peers: [peerId] });
      id = made.result.id;
    },
    state: async () => (await world.call('GET', `${path}/consumed_catalogs/${id}`)).result,
    members: async (): Promise<{ name: string; member_id: string; zone_id: string | null }[]> =>
      (await world.call('GET', `${path}/consumed_catalogs/${id}/members`)).result,
    confirm: () => world.call('POST', `${path}/consumed_catalogs/${id}/confirm`),
    remove: () => world.call('DELETE', `${path}/consumed_catalogs/${id}`),
  };
}

t.setTimeout(MEMBERS * 900 + 600_000);

for (const name of ['knot', 'bind', 'nsd'] as const) {
  t.test(`a catalog of ${name}`, { skip, timeout: MEMBERS * 300 + 120_000 }, async (t) => {
    const world = await startWorld(t);
    const producer = await startProducer(t, world, name);
    const zones = Array.from({ length: MEMBERS }, (_, i): [string, string] => [`m${i}`, `z${i}.${name}-member.test`]);
    const said = (): string => `${producer.server.log().slice(-1500)}\n${world.program.printed().slice(-3000)}`;
    await producer.publish({ serial: 10, members: zones });
    await producer.consume();
    const began = performance.now();
    const all = async (some: typeof zones): Promise<void> => {
      for (const [, zone] of some) await until(() => isAnswered(world, zone), `${zone} is answered`, said);
    };
    await all(zones);
    t.comment(`${MEMBERS} zones in ${Math.round(performance.now() - began)} ms`);
    t.match(await producer.state(), { state: 'current', zones: MEMBERS, problems: 0, fault: null });

    const first = await producer.members();
    const removed = zones[0]![1];
    const changed: typeof zones = [['again', zones[1]![1]], ...zones.slice(2), ['new', `new.${name}-member.test`]];
    // Knot makes identifiers from the second in which it starts, so a later start gives all members other ones.
    if (name === 'knot') await sleep(1100);
    await producer.publish({ serial: 11, members: changed });
    if (name === 'knot') {
      await until(async () => (await producer.state()).state === 'held', 'that waits for a person', said);
      t.ok(await isAnswered(world, removed));
      t.match(await producer.confirm(), { success: true });
    }
    await until(() => isGone(world, removed), `${removed} is gone`, said);
    await all(changed);
    await until(async () => (await producer.state()).zones === MEMBERS, 'all are followed', said);
    const second = await producer.members();
    const idOf = (of: typeof first, zone: string): string | null | undefined =>
      of.find((one) => one.name === zone)?.zone_id;
    if (name !== 'knot') {
      t.equal(idOf(second, zones[2]![1]), idOf(first, zones[2]![1]), 'a zone that stays is the same');
      t.not(idOf(second, zones[1]![1]), idOf(first, zones[1]![1]), 'another identifier: made anew');
      const removed = (await world.call('GET', `${producer.path}/removed_zones`)).result;
      t.match(removed, [{ name: zones[0]![1], id: idOf(first, zones[0]![1]), member_id: 'm0' }], 'it is kept');
      await producer.publish({ serial: 12, members: [zones[0]!, ...changed] });
      await until(() => isAnswered(world, zones[0]![1]), 'it is back', said);
      t.equal(idOf(await producer.members(), zones[0]![1]), idOf(first, zones[0]![1]), 'as the zone that it was');
      await producer.publish({ serial: 13, members: [], version: 'version TXT "1"' });
      await until(async () => (await producer.state()).state === 'broken', 'the fault is seen', said);
      t.match(await producer.state(), { fault: /version "1"/, zones: MEMBERS + 1 });
      await producer.publish({ serial: 14, members: [] });
      await until(async () => (await producer.state()).state === 'held', 'the removal waits', said);
      t.ok(await isAnswered(world, zones[2]![1]), 'a catalog that lost all its members removes nothing by itself');
      const data = { ZONEPLANE_DATA_DIR: join(world.directory, 'data') };
      const listed = await runCommand(data, 'secondary', 'catalog', 'followed');
      t.match(listed.out, new RegExp(`held: ${MEMBERS + 1} zones would go`));
      t.equal(listed.code, 1);
      t.match((await runCommand(data, 'doctor')).out, /catalogs.*zones no more; they stay/);
      const confirmed = await runCommand(data, 'secondary', 'catalog', 'confirm', producer.catalog);
      t.match(
        confirmed.out,
        new RegExp(`${MEMBERS + 1} zones of ${producer.catalog} are removed; they are kept for 7 days`),
      );
      await until(() => isGone(world, zones[2]![1]), 'they are gone', said);
      await until(async () => (await producer.state()).zones === 0, 'all are gone', said);
      const kept = await runCommand(data, 'secondary', 'catalog', 'removed');
      t.match(kept.out, new RegExp(`${zones[2]![1]} +${producer.catalog} +m2 `));
      const restored = await runCommand(data, 'secondary', 'catalog', 'restore', zones[2]![1]);
      t.match(restored.out, /is served again/, restored.err);
      await until(() => isAnswered(world, zones[2]![1]), 'it is served again', said);
      t.match((await runCommand(data, 'secondary', 'catalog', 'restore')).err, /name the zones, or say --all/);
      t.match(
        (await runCommand(data, 'secondary', 'catalog', 'restore', 'other.test')).err,
        /other\.test is not a zone that left/,
      );
      const [next] = (await world.call('GET', `${producer.path}/removed_zones`)).result;
      const answer = await world.call('POST', `${producer.path}/removed_zones/${next.id}/restore`);
      t.match(answer, { success: true, result: { id: next.id } });
      t.match(await world.call('POST', `${producer.path}/removed_zones/${next.id}/restore`), { success: false });
    }
    t.match(await producer.remove(), { success: true });
  });
}
