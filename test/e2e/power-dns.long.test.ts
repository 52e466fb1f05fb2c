/**
 * PowerDNS as a secondary of the real program and as a primary of it. It transfers whole zones only, checks signed ones by their
 * signatures when it is asked, and as a primary signs while it answers, with serials of its own for that (SOA-EDIT).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { decodeMessage, makeQuery } from '../support/message.js';
import { createPowerDns, type PowerDns, withoutPowerDns } from '../support/power-dns.js';
import { KEY, SECRET, startWorld, type World } from '../support/primary-world.js';
import { askAll } from '../support/reference-servers.js';
import { asSet, serialInAnswer, serialOf, transfer } from '../support/transfer-client.js';
import { until } from '../support/until.js';

t.setTimeout(400_000);
const skip = withoutPowerDns();
const NSEC3PARAM = 51;
const ZONE_TEXT = (zone: string): string =>
  `$ORIGIN ${zone}.\n$TTL 300\n@ SOA ns.${zone}. h.${zone}. 2026010101 3600 600 86400 60\n@ NS ns\n@ MX 10 mail\nns A 192.0.2.1\n` +
  `mail AAAA 2001:db8::1\n*.wild TXT "w"\ndeep.ent TXT "a; b" "c"\nalias CNAME www\nwww A 192.0.2.2\nsub NS ns.sub\nns.sub A 192.0.2.3\n` +
  `secure NS ns.secure\nns.secure A 192.0.2.4\nsecure DS 1 13 2 ${'ab'.repeat(32)}\n_s._tcp SRV 0 5 5060 www\nlong TXT "${'x'.repeat(255)}" "${'y'.repeat(255)}"\n`;
/** What is changed shows at once. */
const WITHOUT_CACHES = 'query-cache-ttl=0\nnegquery-cache-ttl=0\ncache-ttl=0\nzone-cache-refresh-interval=0\n';
/** Negative and positive questions below the apex. */
const QUESTIONS: readonly (readonly [string, number])[] = [
  ['', 6],
  ['', 48],
  ['www.', 1],
  ['www.', 28],
  ['none.', 1],
  ['ent.', 1],
  ['a.wild.', 16],
  ['a.wild.', 1],
  ['x.sub.', 1],
  ['x.secure.', 1],
  ['alias.', 1],
];

interface Version {
  readonly serial: number;
  readonly records: readonly string[];
}

async function versionAt(port: number, zone: string, signed: boolean): Promise<Version> {
  const { records } = await transfer(port, parseName(`${zone}.`), signed ? { key: KEY } : {});
  // PowerDNS keeps the parameters without their TTL, and answers them with that of negative answers.
  const comparable = records.map((record) => (record.type === NSEC3PARAM ? { ...record, ttl: 0 } : record));
  return { serial: serialOf(records[0]!), records: asSet(comparable) };
}

/** Waits until both versions are equal, record by record. */
async function untilEqual(
  what: string,
  ours: () => Promise<Version>,
  theirs: () => Promise<Version>,
  hint: () => string,
): Promise<void> {
  const isEqual = async (): Promise<boolean | string> => {
    const [own, other] = [await ours(), await theirs()];
    return isDeepStrictEqual(own, other) || differenceOf(own, other);
  };
  await until(isEqual, what, hint);
}

function differenceOf(ours: Version, theirs: Version): string {
  const without = (one: Version, other: Version) => one.records.filter((record) => !other.records.includes(record));
  return JSON.stringify({
    serials: [ours.serial, theirs.serial],
    ours: without(ours, theirs),
    theirs: without(theirs, ours),
  });
}

/** RCODE, answers and authority of both, as sets: PowerDNS orders them in its own way. */
async function sameAnswers(t: Test, world: World, pdns: PowerDns, zone: string): Promise<void> {
  const serialAt = async (port: number): Promise<number | undefined> => {
    const [answer] = await askAll(port, [makeQuery(parseName(`${zone}.`), Type.soa)], 2000, 3);
    return serialInAnswer(answer);
  };
  // Zones are transferred as they are stored; they are answered when the DNS process has them, too.
  await until(async () => {
    const serial = await serialAt(pdns.port);
    return serial !== undefined && (await serialAt(world.program.dnsPort)) === serial;
  }, `${zone} is answered`);
  for (const [name, type] of QUESTIONS) {
    const query = makeQuery(parseName(`${name}${zone}.`), type, { edns: 1232, dnssecOk: true });
    const [ours, theirs] = await Promise.all(
      [world.program.dnsPort, pdns.port].map(async (port) => {
        const [answer] = await askAll(port, [query], 2000, 3);
        const { rcode, answer: answers, authority } = decodeMessage(answer!);
        return [rcode, asSet(answers), asSet(authority)];
      }),
    );
    t.strictSame(ours, theirs, `${name}${zone} ${type}`);
  }
}

t.test('PowerDNS as a secondary', { skip, timeout: 300_000 }, async (t) => {
  const world = await startWorld(t);
  const { call, account, key, program, directory } = world;
  const pdns = await createPowerDns(
    directory,
    `secondary=yes\nxfr-cycle-interval=1\nallow-notify-from=127.0.0.1/32\nallow-unsigned-notify=no\n${WITHOUT_CACHES}`,
  );
  t.teardown(() => pdns.stop());
  pdns.util('import-tsig-key', 'k.test', 'hmac-sha256', SECRET);
  const peer = { name: 'pdns', ip: '127.0.0.1', port: pdns.port, tsig_id: key };
  const { id: peerId } = (await call('POST', `/accounts/${account}/secondary_dns/peers`, peer)).result;
  await pdns.start();
  for (const denial of ['none', 'nsec', 'nsec3'] as const) {
    const zone = `${denial}.example`;
    const form = new FormData();
    form.set('file', new Blob([ZONE_TEXT(zone)]));
    const { id } = (await call('POST', '/zones', { name: zone, account: { id: account } })).result;
    const imported = await fetch(`${program.api}/client/v4/zones/${id}/dns_records/import`, {
      method: 'POST',
      headers: { authorization: `Bearer ${world.apiKey}` },
      body: form,
    });
    t.equal(imported.status, 200, await imported.text());
    if (denial !== 'none') {
      await call('PATCH', `/zones/${id}/dnssec`, { status: 'active', dnssec_use_nsec3: denial === 'nsec3' });
    }
    pdns.util('create-secondary-zone', zone, `127.0.0.1:${program.dnsPort}`);
    pdns.util('activate-tsig-key', zone, 'k.test', 'secondary');
    await call('POST', `/zones/${id}/secondary_dns/outgoing`, { name: zone, peers: [peerId] });
    await call('POST', `/zones/${id}/secondary_dns/outgoing/enable`);
    const ours = () => versionAt(program.dnsPort, zone, true);
    const theirs = () => versionAt(pdns.port, zone, false);
    const hint = () => `${pdns.log().slice(-2000)}\n${program.printed().slice(-2000)}`;
    const isSigned = async () => (await ours()).records.some((record) => record.split(' ')[2] === '46');
    if (denial !== 'none') await until(isSigned, 'it is signed', hint);
    await untilEqual(`the copy of ${zone}`, ours, theirs, hint);
    await sameAnswers(t, world, pdns, zone);
    for (let change = 0; change < 2; change++) {
      const record = { type: 'TXT', name: `c${change}`, content: `"${change}"`, ttl: 60 };
      t.match(await call('POST', `/zones/${id}/dns_records`, record), { success: true });
      if (change === 1 && denial === 'none') await pdns.stop().then(() => pdns.start());
      await untilEqual(`change ${change} of ${zone}`, ours, theirs, hint);
    }
    await sameAnswers(t, world, pdns, zone);
    const isInSync = async () => {
      const [peer] = (await call('GET', `/zones/${id}/secondary_dns/status`)).result;
      return peer.in_sync === true && peer.error === null;
    };
    await until(isInSync, 'the status says so');
  }
});

t.test('PowerDNS as a primary, which signs while it answers', { skip, timeout: 300_000 }, async (t) => {
  const world = await startWorld(t);
  const { call, account, key, program, directory } = world;
  const pdns = await createPowerDns(
    directory,
    `primary=yes\nalso-notify=127.0.0.1:${program.dnsPort}\nonly-notify=\n${WITHOUT_CACHES}`,
  );
  t.teardown(() => pdns.stop());
  pdns.util('import-tsig-key', 'k.test', 'hmac-sha256', SECRET);
  const peer = { name: 'pdns', ip: '127.0.0.1', port: pdns.port, tsig_id: key, ixfr_enable: true };
  const { id: peerId } = (await call('POST', `/accounts/${account}/secondary_dns/peers`, peer)).result;
  const zones = [
    ['none.example'],
    ['nsec.example', () => pdns.util('secure-zone', 'nsec.example')],
    [
      'nsec3.example',
      () => {
        pdns.util('secure-zone', 'nsec3.example');
        pdns.util('set-nsec3', 'nsec3.example', '1 0 0 -');
        pdns.util('set-meta', 'nsec3.example', 'SOA-EDIT', 'INCEPTION-INCREMENT');
      },
    ],
  ] as const;
  for (const [zone, sign] of zones) {
    const file = join(directory, zone);
    writeFileSync(file, ZONE_TEXT(zone));
    pdns.util('load-zone', zone, file);
    pdns.util('set-kind', zone, 'primary');
    pdns.util('activate-tsig-key', zone, 'k.test', 'primary');
    sign?.();
    pdns.util('rectify-zone', zone);
  }
  await pdns.start();
  for (const [zone, sign] of zones) {
    const { id } = (await call('POST', '/zones', { name: zone, type: 'secondary', account: { id: account } })).result;
    await call('POST', `/zones/${id}/secondary_dns/incoming`, { name: zone, peers: [peerId] });
    // So that the copy can be compared.
    await call('POST', `/zones/${id}/secondary_dns/outgoing`, { name: zone, peers: [peerId] });
    await call('POST', `/zones/${id}/secondary_dns/outgoing/enable`);
    const ours = () => versionAt(program.dnsPort, zone, true);
    const theirs = () => versionAt(pdns.port, zone, true);
    const hint = () => `${pdns.log().slice(-2000)}\n${program.printed().slice(-3000)}`;
    await untilEqual(`our copy of ${zone}`, ours, theirs, hint);
    await sameAnswers(t, world, pdns, zone);
    for (let change = 0; change < 2; change++) {
      if (change === 1 && !sign) await world.restart();
      pdns.util('add-record', zone, `c${change}`, 'TXT', '60', `"${change}"`);
      pdns.util('increase-serial', zone);
      pdns.util('rectify-zone', zone);
      pdns.control('notify', zone);
      await untilEqual(`change ${change} of ${zone}`, ours, theirs, hint);
    }
    await sameAnswers(t, world, pdns, zone);
    const { dnssec_presigned: presigned } = (await call('GET', `/zones/${id}/dnssec`)).result;
    t.equal(presigned === true, sign !== undefined, 'its signatures are served');
  }
});
