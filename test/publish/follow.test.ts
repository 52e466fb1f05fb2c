/** Following the change log: after any additions and removals in any order, the image equals a newly loaded one. */
import t, { type Test } from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { Transport } from '../../src/answer/transport.js';
import { createLogger, silentLogger } from '../../src/base/log.js';
import { makeId } from '../../src/base/random.js';
import { Type } from '../../src/dns/codes.js';
import { ownerKeyOf, parseName, toFqdn } from '../../src/dns/name.js';
import { typeByCode } from '../../src/dns/rr/registry.js';
import { Control } from '../../src/image/layout.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower, type Follower } from '../../src/publish/follow.js';
import { createZoneSource, type ZoneSource } from '../../src/publish/source.js';
import type { ServingZone } from '../../src/serving/zone.js';
import { insertAccount } from '../../src/store/access/accounts.js';
import { IN_MEMORY, openStore, type Store } from '../../src/store/driver.js';
import { appendChange, type ChangedRR, type ChangeKind } from '../../src/store/log/changes.js';
import { migrate } from '../../src/store/migrate.js';
import { findSameRecord, insertRecord, recordsOfZone, removeRecord } from '../../src/store/records/records.js';
import { findZone, insertZone, removeZone, updateZone } from '../../src/store/zones/zones.js';
import { HastyClock } from '../support/hasty-clock.js';
import { decodeMessage } from '../support/message.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { runSql, writeNow } from '../support/write-now.js';

const NAME_SERVERS = ['ns1.service.test', 'ns2.service.test'];
const EDGE = [Uint8Array.of(203, 0, 113, 1), new Uint8Array(16).fill(1)];
const SETTINGS = { nameServers: NAME_SERVERS, nameServerAddresses: [], edgeAddresses: EDGE };
const random = seededRandom(20261120);
let time = 1_700_000_000_000_000;

const pick = <T>(list: readonly T[]): T => list[random.bytes(1)[0]! % list.length]!;

interface Served {
  readonly follower: Follower;
  readonly writer: ImageWriter;
}

function openZones(names: readonly string[]): { store: Store; zones: readonly number[] } {
  const store = openStore(IN_MEMORY);
  migrate(store, new TestClock(), random);
  const id = makeId(time++, random);
  const account = writeNow(store, () => insertAccount(store, { id, name: 'Test', type: 'standard', created_at: time }));
  const zones = names.map((name) => addZone(store, account, name));
  return { store, zones };
}

function addZone(store: Store, account: number, name: string): number {
  const now = time++;
  const id = makeId(now, random);
  return writeNow(store, () =>
    insertZone(store, {
      id,
      account,
      name,
      apex: parseName(`${name}.`),
      status: 'active',
      served: 1,
      type: 'full',
      serial: 1,
      name_server_mode: 'service',
      verification_key: null,
      proven_by: null,
      proven_at: null,
      name_servers: null,
      created_at: now,
      modified_at: now,
      activated_at: now,
    }),
  );
}

/** One record written as the write path does, with its change. */
function change(
  store: Store,
  ...edit: [zone: number, op: 0 | 1, owner: string, type: number, rdata: Uint8Array]
): void {
  writeNow(store, () => writeChange(store, ...edit));
}

function writeChange(
  store: Store,
  ...edit: [zone: number, op: 0 | 1, owner: string, type: number, rdata: Uint8Array]
): void {
  const rr = writeRecord(store, ...edit);
  if (rr) appendTo(store, edit[0], 'rrs', [rr]);
}

/** Returns what changed. */
function writeRecord(
  store: Store,
  zone: number,
  op: 0 | 1,
  owner: string,
  type: number,
  rdata: Uint8Array,
): ChangedRR | undefined {
  const row = findZone(store, zone)!;
  const wire = parseName(owner);
  const ownerKey = ownerKeyOf(wire, row.apex);
  const rdataKey = typeByCode(type).duplicateKey(rdata);
  const known = findSameRecord(store, { zone, owner_key: ownerKey, type, rdata_key: rdataKey });
  if (op === 1 && known === undefined) {
    const now = time++;
    insertRecord(store, {
      id: makeId(now, random),
      zone,
      owner_key: ownerKey,
      name: toFqdn(wire),
      type,
      content: 'x',
      rdata,
      rdata_key: rdataKey,
      ttl: 1,
      proxied: 0,
      settings: null,
      comment: null,
      tags: null,
      private_routing: null,
      created_at: now,
      modified_at: now,
      comment_modified_at: null,
      tags_modified_at: null,
    });
  } else if (op === 0 && known !== undefined) {
    removeRecord(store, known.seq);
  } else {
    return undefined;
  }
  return { op, owner_key: ownerKey, type, ttl: 300, rdata };
}

function append(store: Store, zone: number, kind: ChangeKind): void {
  writeNow(store, () => appendTo(store, zone, kind));
}

function appendTo(store: Store, zone: number, kind: ChangeKind, rrs: readonly ChangedRR[] = []): void {
  const row = findZone(store, zone);
  const serial = (row?.serial ?? 0) + 1;
  if (row) updateZone(store, zone, { serial });
  appendChange(store, {
    atUs: time++,
    zone,
    kind,
    // A change of settings lists nothing here: followers see by themselves where it shows.
    complete: kind === 'rrs' || kind === 'settings',
    serialFrom: serial - 1,
    serialTo: serial,
    actor: 'test',
    requestId: 'test',
    rrs,
  });
}

interface NameServers {
  readonly names: readonly string[];
  readonly addresses: readonly Uint8Array[];
}

function serve(store: Store, { names, addresses }: NameServers = { names: NAME_SERVERS, addresses: [] }): Served {
  const writer = new ImageWriter({ seed: 99 });
  const source = createZoneSource(store, { nameServers: names, nameServerAddresses: addresses, edgeAddresses: EDGE });
  const follower = createFollower({ source, writer, clock: new TestClock(), log: silentLogger() });
  follower.loadAll();
  return { follower, writer };
}

/** Until there is nothing left to do. */
function settle(follower: Follower): void {
  do follower.catchUp();
  while (follower.hasWork());
}

/** Octets of the answers to every question about a set of names, as one text. */
function answersTo({ writer }: Served, names: readonly string[], types: readonly number[]): string[] {
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  const out = new Uint8Array(65535);
  return names.flatMap((name) =>
    types.map((type) => {
      const wire = parseName(name);
      const request = new Uint8Array(wire.length + 16);
      request[5] = 1;
      request.set(wire, 12);
      request[request.length - 3] = type;
      request[request.length - 1] = 1;
      const length = answer(request, 0, request.length, out, 0, out.length, Transport.tcp);
      return `${name} ${type}: ${Buffer.from(out.subarray(0, length)).toString('hex')}`;
    }),
  );
}

const LABELS = ['a', 'b', 'c', '*'];
const ZONES = ['example', 'a.example'];
const TYPES = [Type.a, Type.ns, Type.cname, Type.mx, Type.txt, Type.soa, Type.any, Type.ds];

function names(depth: number, suffix: string): string[] {
  if (depth === 0) return [suffix];
  return [suffix, ...LABELS.flatMap((label) => names(depth - 1, `${label}.${suffix}`))];
}

function randomRdata(type: number): Uint8Array {
  const target = parseName(`${pick(LABELS.slice(0, 3))}.${pick(['', 'a.', 'b.c.'])}${pick(ZONES)}.`);
  switch (type) {
    case Type.a:
      return Uint8Array.of(192, 0, 2, random.bytes(1)[0]! & 3);
    case Type.txt:
      return Uint8Array.of(1, 65 + (random.bytes(1)[0]! & 3));
    case Type.mx:
      return Uint8Array.of(0, 10, ...target);
    default:
      return target;
  }
}

const OUTSIDE: NameServers = { names: NAME_SERVERS, addresses: [] };
const INSIDE: NameServers = {
  names: ['b.example', 'c.b.a.example', 'b.c.example'],
  addresses: [Uint8Array.of(192, 0, 2, 53), new Uint8Array(16).fill(5)],
};

for (const [where, nameServers] of [
  ['outside', OUTSIDE],
  ['inside the zones', INSIDE],
] as const) {
  t.test(`random changes leave the image as if it had been loaded anew, with name servers ${where}`, (t) =>
    changeAtRandom(t, nameServers),
  );
}

async function changeAtRandom(t: Test, nameServers: NameServers): Promise<void> {
  const { store, zones } = openZones(ZONES);
  const served = serve(store, nameServers);
  const asked = names(3, 'example.').filter((name, index) => name.split('.').length < 5 || index % 3 === 0);
  for (let round = 0; round < 60; round++) {
    for (let step = 0; step < 12; step++) {
      const zone = pick([0, 1]);
      const type = pick([Type.a, Type.a, Type.txt, Type.mx, Type.cname, Type.ns, Type.dname]);
      const owner = `${[pick(LABELS), pick(LABELS), pick(LABELS)].slice(random.bytes(1)[0]! % 3).join('.')}.${ZONES[zone]}.`;
      change(store, zones[zone]!, pick([0, 1, 1]), owner, type, randomRdata(type));
    }
    // Removing what is there happens seldom by chance: take some rows away on purpose.
    for (const row of [...recordsOfZone(store, zones[0]!)].slice(0, 4)) {
      change(store, zones[0]!, 0, `${row.name}.`, row.type, row.rdata);
    }
    settle(served.follower);
    if (round % 6 !== 5) continue;
    const fresh = serve(store, nameServers);
    t.strictSame(answersTo(served, asked, TYPES), answersTo(fresh, asked, TYPES), `after ${(round + 1) * 12} changes`);
    t.equal(served.writer.usage().nodes, fresh.writer.usage().nodes, 'no name is left over');
  }
  store.close();
}

t.test('name servers inside their zone have addresses, unless the zone has its own', async (t) => {
  const { store, zones } = openZones(['example']);
  const served = serve(store, INSIDE);
  const rows = (name: string, type: number): string[] => {
    settle(served.follower);
    return decodeMessage(Buffer.from(answersTo(served, [name], [type])[0]!.split(': ')[1]!, 'hex')).answer.map(
      ({ rdata, ttl }) => `${ttl} ${rdata}`,
    );
  };
  const own = Uint8Array.of(203, 0, 113, 1);
  t.strictSame(rows('b.example.', Type.a), ['86400 c0000235']);
  t.strictSame(rows('b.c.example.', Type.aaaa), [`86400 ${'05'.repeat(16)}`]);
  t.equal(rows('example.', Type.ns).length, 3);
  t.match(answersTo(served, ['c.example.'], [Type.a])[0], /: 0{4}84000001/, 'what is between is there, without data');
  change(store, zones[0]!, 1, 'b.example.', Type.txt, Uint8Array.of(1, 65));
  t.strictSame(rows('b.example.', Type.a), ['86400 c0000235'], 'beside other types');
  change(store, zones[0]!, 1, 'b.example.', Type.a, own);
  t.strictSame(rows('b.example.', Type.a), ['300 cb007101'], 'its own address');
  t.strictSame(rows('b.example.', Type.aaaa), [], 'and nothing beside it');
  change(store, zones[0]!, 0, 'b.example.', Type.a, own);
  t.strictSame(rows('b.example.', Type.a), ['86400 c0000235'], 'which goes again');
  store.close();
});

t.test('empty non-terminals appear and disappear with the names below them', async (t) => {
  const { store, zones } = openZones(['example']);
  const served = serve(store);
  const rcode = (name: string): string => answersTo(served, [name], [Type.a])[0]!.split(': ')[1]!.slice(6, 8);
  const address = Uint8Array.of(192, 0, 2, 1);
  change(store, zones[0]!, 1, 'x.y.z.example.', Type.a, address);
  settle(served.follower);
  t.equal(rcode('z.example.'), '00', 'NODATA at the empty non-terminal');
  t.equal(rcode('q.example.'), '03');
  change(store, zones[0]!, 0, 'x.y.z.example.', Type.a, address);
  settle(served.follower);
  t.equal(rcode('z.example.'), '03', 'gone with its last descendant');
  t.equal(served.writer.usage().nodes, 1);
  store.close();
});

t.test('zones are added, replaced and removed', async (t) => {
  const { store, zones } = openZones(['example']);
  const served = serve(store);
  const added = addZone(store, findZone(store, zones[0]!)!.account, 'other');
  append(store, added, 'zone-added');
  settle(served.follower);
  t.equal(served.follower.zoneCount(), 2);
  change(store, added, 1, 'www.other.', Type.a, Uint8Array.of(192, 0, 2, 1));
  append(store, added, 'zone-replaced');
  settle(served.follower);
  t.strictSame(answersTo(served, ['www.other.'], TYPES), answersTo(serve(store), ['www.other.'], TYPES));
  writeNow(store, () => void removeZone(store, added));
  append(store, added, 'zone-removed');
  settle(served.follower);
  t.equal(served.follower.zoneCount(), 1);
  t.match(answersTo(served, ['www.other.'], [Type.a])[0], /: 0{4}80050001/, 'refused');
  t.equal(served.follower.appliedChange(), 4);
  store.close();
});

t.test('a follower that was away longer than changes are kept starts again', async (t) => {
  const { store, zones } = openZones(['example', 'gone']);
  const served = serve(store);
  change(store, zones[0]!, 1, 'www.example.', Type.a, Uint8Array.of(192, 0, 2, 1));
  writeNow(store, () => removeZone(store, zones[1]!));
  append(store, zones[1]!, 'zone-removed');
  change(store, zones[0]!, 1, 'late.example.', Type.a, Uint8Array.of(192, 0, 2, 2));
  runSql(store, 'DELETE FROM changes WHERE seq <= 2');
  settle(served.follower);
  const names = ['www.example.', 'late.example.', 'x.gone.'];
  t.strictSame(answersTo(served, names, TYPES), answersTo(serve(store), names, TYPES));
  t.equal(served.follower.zoneCount(), 1);
  t.equal(served.follower.appliedChange(), 3);
  store.close();
});

t.test('such a follower begins some zones at a time', async (t) => {
  const { store, zones } = openZones(Array.from({ length: 30 }, (_, i) => `z${i}`));
  const writer = new ImageWriter({ seed: 99 });
  const source = createZoneSource(store, SETTINGS);
  let begun = 0;
  const counting: ZoneSource = {
    ...source,
    owners(zone) {
      begun++;
      return source.owners(zone);
    },
  };
  const clock = new HastyClock(8);
  const follower = createFollower({ source: counting, writer, clock, log: silentLogger() });
  const served = { follower, writer };
  follower.loadAll();
  for (const [i, zone] of zones.entries()) change(store, zone, 1, `www.z${i}.`, Type.a, Uint8Array.of(192, 0, 2, 2));
  runSql(store, `DELETE FROM changes WHERE seq < ${zones.length}`);
  const steps: number[] = [];
  do {
    begun = 0;
    follower.catchUp();
    steps.push(begun);
  } while (follower.hasWork());
  t.ok(Math.max(...steps) <= 8, steps.join());
  t.equal(
    steps.reduce((sum, count) => sum + count, 0),
    zones.length,
  );
  const apexes = zones.map((_, i) => `www.z${i}.`);
  t.strictSame(answersTo(served, apexes, [Type.a]), answersTo(serve(store), apexes, [Type.a]));
  store.close();
});

t.test('a settings change further ahead in the log applies at every owner', async (t) => {
  for (const [what, settings] of [
    ['flattening', { flatten_all_cnames: 1 }],
    ['a paused zone', { paused: 1 }],
    ['certified names', { certified_names: '["web.example"]' }],
    ['vanity name servers', { vanity_name_servers: '["ns1.example","ns2.example"]' }],
    ['the TTL of name servers', { ns_ttl: 60 }],
  ] as const) {
    const { store, zones } = openZones(['example']);
    const zone = zones[0]!;
    change(store, zone, 1, 'alias.example.', Type.cname, parseName('elsewhere.'));
    change(store, zone, 1, 'web.example.', Type.a, Uint8Array.of(192, 0, 2, 1));
    runSql(store, `UPDATE record_rows SET proxied = 1 WHERE name = 'web.example'`);
    const served = serve(store, INSIDE);
    change(store, zone, 1, 'busy.example.', Type.txt, Uint8Array.of(1, 65));
    writeNow(store, () => {
      for (let i = 0; i < 1000; i++) appendTo(store, zone, 'rrs');
      updateZone(store, zone, settings);
      appendTo(store, zone, 'settings');
    });
    settle(served.follower);
    const asked = ['alias', 'web', 'busy', 'b', 'ns1', 'ns2'].map((label) => `${label}.example.`);
    const types = [Type.a, Type.aaaa, Type.cname, Type.txt, Type.https];
    t.strictSame(answersTo(served, asked, types), answersTo(serve(store, INSIDE), asked, types), what);
    store.close();
  }
});

t.test('a large zone is loaded in parts and includes all changes made meanwhile', async (t) => {
  const { store, zones } = openZones(['big', 'other']);
  const [big, other] = zones as [number, number];
  const address = Uint8Array.of(192, 0, 2, 1);
  const served = serve(store);
  const { follower, writer } = served;
  const rcode = (name: string): string => answersTo(served, [name], [Type.a])[0]!.split(': ')[1]!.slice(6, 8);
  writeNow(store, () => {
    for (let i = 0; i < 9000; i++) writeChange(store, big, 1, `h${i}.${pick(LABELS)}.big.`, Type.a, address);
    appendTo(store, big, 'zone-replaced');
  });
  // As many changes are read at once as are behind it.
  for (let i = 0; i < 18; i++) follower.catchUp();
  const asked = ['big.', 'h0.a.big.', 'a.big.', 'b.big.', 'deep.+er.big.', '+er.big.'];
  const meanwhile = [
    () => change(store, big, 1, 'deep.+er.big.', Type.a, address),
    () => change(store, big, 0, 'deep.+er.big.', Type.a, address),
    () => change(store, big, 1, '+zzz.big.', Type.cname, parseName('elsewhere.')),
    () => writeNow(store, () => updateZone(store, big, { flatten_all_cnames: 1 })) ?? append(store, big, 'settings'),
    () => append(store, big, 'zone-replaced'),
    () => {
      // More than are made up for at once.
      for (let i = 0; i < 1200; i++) change(store, big, 1, `+late${i}.big.`, Type.a, address);
    },
  ];
  for (let round = 0; round < meanwhile.length; round++) {
    let calls = 0;
    for (let i = 0; calls === 0 || follower.hasWork(); i++, calls++) {
      // Somewhere before, in, and behind what has been read.
      if (i === round % 4) meanwhile[round]!();
      const name = `n${round}-${i}.other.`;
      change(store, other, 1, name, Type.a, address);
      follower.catchUp();
      if (round < 5) t.equal(rcode(name), '00', 'the other zone goes on');
      if (i > 30) break;
    }
    t.ok(calls > 3, `${calls} parts`);
    t.strictSame(follower.loadingZones(), []);
    const fresh = serve(store);
    const all = [...asked, '+zzz.big.', '+late7.big.', 'h8999.a.big.', 'h8999.b.big.'];
    t.strictSame(answersTo(served, all, TYPES), answersTo(fresh, all, TYPES), `as loaded anew, round ${round}`);
    t.equal(writer.usage().nodes, fresh.writer.usage().nodes);
    append(store, big, 'zone-replaced');
    follower.catchUp();
    t.match(follower.loadingZones(), [{ zone: big }]);
  }
  writeNow(store, () => void removeZone(store, big));
  append(store, big, 'zone-removed');
  settle(follower);
  t.equal(rcode('big.'), '05', 'refused');
  t.equal(writer.usage().nodes, serve(store).writer.usage().nodes);
  store.close();
});

t.test('very many owners of a change are compiled in parts, and seen at once', async (t) => {
  const { store, zones } = openZones(['big', 'other']);
  const [big, other] = zones as [number, number];
  const address = Uint8Array.of(192, 0, 2, 1);
  change(store, big, 1, 'h7.big.', Type.txt, Uint8Array.of(1, 65));
  const served = serve(store);
  const { follower, writer } = served;
  const asked = ['h0.big.', 'h7.big.', 'h2499.big.', 'x.h12.big.', 'h12.big.', 'h5999.big.', 'late.big.', 'big.'];
  const look = (of: Served): string => answersTo(of, asked, TYPES).join();
  /** One change that adds an address at each of this many names, or removes it. */
  const changeMany = (op: 0 | 1, from: number, count: number): void =>
    writeNow(store, () => {
      const names = Array.from({ length: count }, (_, i) => `${i % 100 === 12 ? 'x.' : ''}h${from + i}.big.`);
      appendTo(
        store,
        big,
        'rrs',
        names.flatMap((name) => writeRecord(store, big, op, name, Type.a, address) ?? []),
      );
    });
  /** Looks once while the change is under way, and then until the end: the old state is seen until all of it is new. */
  const follow = (what: string, meanwhile: () => void): void => {
    const before = look(served);
    follower.catchUp();
    t.equal(look(served), before, `${what}: nothing is seen yet`);
    t.match(follower.loadingZones(), [{ zone: big }], 'and the zone is listed as loading');
    meanwhile();
    for (let looks = 0; follower.hasWork(); looks++) {
      change(store, other, 1, `n${looks}.other.`, Type.a, address);
      const seen = look(served);
      t.ok(seen === before || seen === look(serve(store)), `${what}: all or nothing`);
      follower.catchUp();
      t.equal(
        answersTo(served, [`n${looks}.other.`], [Type.a])[0]!
          .split(': ')[1]!
          .slice(6, 8),
        '00',
      );
    }
    const fresh = serve(store);
    t.equal(look(served), look(fresh), `${what}: as loaded anew`);
    t.equal(writer.usage().nodes, fresh.writer.usage().nodes);
  };
  changeMany(1, 0, 2500);
  follow('changes of single names', () => {
    change(store, big, 0, 'h2499.big.', Type.a, address);
    change(store, big, 1, 'late.big.', Type.cname, parseName('elsewhere.'));
  });
  changeMany(1, 2500, 2500);
  follow('another change of that kind', () => changeMany(1, 5000, 1000));
  changeMany(0, 0, 2500);
  follow('settings', () => {
    writeNow(store, () => updateZone(store, big, { flatten_all_cnames: 1 }));
    append(store, big, 'settings');
  });
  changeMany(0, 2500, 2500);
  follow('the removal of the zone', () => {
    writeNow(store, () => void removeZone(store, big));
    append(store, big, 'zone-removed');
  });
  store.close();
});

t.test('owners that change all the time are published, and an edit of many does not wait for a whole zone', (t) => {
  const { store, zones } = openZones(['busy', 'whole', 'edited']);
  const [busy, whole, edited] = zones as [number, number, number];
  const { follower, writer } = serve(store);
  const rrsOf = (count: number): ChangedRR[] =>
    Array.from({ length: count }, (_, i) => ({
      ...{ op: 1, owner_key: Buffer.from(`h${i}\0`), type: Type.a, ttl: 300, rdata: Uint8Array.of(192, 0, 2, 1) },
    }));
  const touch = (zone: number, count: number): void =>
    writeNow(store, () => appendTo(store, zone, 'rrs', rrsOf(count)));
  const isLoading = (zone: number): boolean => follower.loadingZones().some((one) => one.zone === zone);
  touch(busy, 2100);
  follower.catchUp();
  let steps = 0;
  for (; steps < 20 && isLoading(busy); steps++) {
    touch(busy, 300);
    follower.catchUp();
  }
  t.ok(steps < 10, `published after ${steps} steps`);
  settle(follower);

  writeNow(store, () => {
    for (let i = 0; i < 9000; i++) writeRecord(store, whole, 1, `h${i}.whole.`, Type.txt, Uint8Array.of(1, 65));
    appendTo(store, whole, 'zone-replaced');
  });
  follower.catchUp();
  touch(edited, 400);
  follower.catchUp();
  follower.catchUp();
  t.strictSame([isLoading(whole), isLoading(edited)], [true, false]);
  settle(follower);
  t.equal(writer.usage().nodes, serve(store).writer.usage().nodes);
  store.close();
  t.end();
});

t.test('a zone that is replaced all the time does not keep other zones that are read as a whole waiting', (t) => {
  const { store, zones } = openZones(['busy', 'whole']);
  const [busy, whole] = zones as [number, number];
  const { follower } = serve(store);
  const replace = (zone: number, name: string): void =>
    writeNow(store, () => {
      for (let i = 0; i < 3990; i++) writeRecord(store, zone, 1, `h${i}.${name}.`, Type.txt, Uint8Array.of(1, 65));
      appendTo(store, zone, 'zone-replaced');
    });
  replace(busy, 'busy');
  follower.catchUp();
  replace(whole, 'whole');
  let steps = 0;
  do {
    append(store, busy, 'zone-replaced');
    follower.catchUp();
    steps++;
  } while (steps < 20 && follower.loadingZones().some(({ zone }) => zone === whole));
  t.ok(steps < 8, `read after ${steps} steps`);
  store.close();
  t.end();
});

/** Something that fails once, at the step chosen. */
class Fault {
  private left = 0;
  private seeksNew = false;
  /** Where it failed, over all times. */
  readonly places = new Set<string>();

  /** At that step, or before at a place where it has not failed yet. */
  arm(step: number, seeksNew: boolean): void {
    this.left = step;
    this.seeksNew = seeksNew;
  }

  /** Whether it failed since it was armed. */
  disarm(): boolean {
    const failed = this.left < 0;
    this.left = 0;
    return failed;
  }

  step(place: string): void {
    if (this.left <= 0) return;
    if (--this.left > 0 && !(this.seeksNew && !this.places.has(place))) return;
    this.left = -1;
    this.places.add(place);
    throw new Error(`fault in ${place}`);
  }
}

/** The same, but every call, and every owner that is loaded, is a step of the fault. */
function breakable<Part extends object>(part: Part, fault: Fault): Part {
  return new Proxy(part, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        fault.step(String(name));
        const result: unknown = member.apply(target, given);
        if (name === 'snapshot') fault.step('end of snapshot');
        return name === 'owners' ? stepping(result as Iterable<unknown>, fault) : result;
      };
    },
  });
}

function* stepping(owners: Iterable<unknown>, fault: Fault): Generator<unknown> {
  for (const owner of owners) {
    fault.step('an owner of owners');
    yield owner;
  }
}

/** The number of a zone that comes and goes. */
function changeSomething(store: Store, zones: readonly number[], extra: number | undefined): number | undefined {
  for (const zone of [0, 1]) {
    for (let step = 0; step < 3; step++) {
      const type = pick([Type.a, Type.txt, Type.mx, Type.cname]);
      const owner = `${[pick(LABELS), pick(LABELS)].slice(random.bytes(1)[0]! % 2).join('.')}.${ZONES[zone]}.`;
      change(store, zones[zone]!, pick([0, 1, 1]), owner, type, randomRdata(type));
    }
  }
  for (const row of [...recordsOfZone(store, zones[1]!)].slice(3)) {
    change(store, zones[1]!, 0, `${row.name}.`, row.type, row.rdata);
  }
  const { paused, account } = findZone(store, zones[0]!)!;
  switch (pick(['replaced', 'settings', 'zone', 'zone', 'records', 'records'])) {
    case 'replaced':
      append(store, zones[1]!, 'zone-replaced');
      break;
    case 'settings':
      writeNow(store, () => updateZone(store, zones[0]!, { paused: 1 - paused }));
      append(store, zones[0]!, 'settings');
      break;
    case 'zone':
      if (extra === undefined) {
        const added = addZone(store, account, 'extra');
        append(store, added, 'zone-added');
        change(store, added, 1, 'www.extra.', Type.a, Uint8Array.of(192, 0, 2, 1));
        return added;
      }
      writeNow(store, () => void removeZone(store, extra));
      append(store, extra, 'zone-removed');
      return undefined;
  }
  return extra;
}

t.test(
  'after any failure while changes are applied, queries see whole zones, and the next poll repairs it',
  async (t) => {
    const { store, zones } = openZones(ZONES);
    const fault = new Fault();
    const clock = new TestClock();
    const writer = new ImageWriter({ seed: 99, slots: 256 });
    const source = createZoneSource(store, SETTINGS);
    const follower = createFollower({
      source: breakable(source, fault),
      writer: breakable(writer, fault),
      clock,
      log: silentLogger(),
    });
    const served = { follower, writer };
    follower.loadAll();
    const namesOf = (apex: string): string[] => names(2, `${apex}.`).concat(`www.${apex}.`);
    // Each zone by itself: what the zone below answers is left out of the zone above.
    const asked = [
      namesOf('example').filter((name) => !name.endsWith('a.example.')),
      namesOf('a.example'),
      namesOf('extra'),
    ];
    const types = [Type.a, Type.cname, Type.txt, Type.any];
    const look = (from: Served): string[] => asked.map((list) => answersTo(from, list, types).join());
    let extra: number | undefined;
    let failures = 0;
    for (let round = 1; round <= 150; round++) {
      const before = look(served);
      extra = changeSomething(store, zones, extra);
      const seeksNew = round % 3 === 0;
      fault.arm(1 + (random.bytes(1)[0]! % (seeksNew ? 255 : 60)), seeksNew);
      try {
        follower.catchUp();
      } catch (error) {
        t.match(error, { message: /^fault/ }, 'nothing but the fault itself');
      }
      if (fault.disarm()) failures++;
      const fresh = serve(store);
      const after = look(fresh);
      look(served).forEach((text, zone) => {
        if (text !== before[zone] && text !== after[zone])
          t.fail(`${asked[zone]![0]} is neither as before nor as after`);
      });
      if ((Atomics.load(writer.reader.control, Control.sequence) & 1) !== 0) t.fail('readers would wait for ever');
      clock.advance(60_000);
      settle(follower);
      t.strictSame(follower.heldZones(), []);
      if (!t.ok(look(served).join() === after.join(), `repaired after the fault in round ${round}`)) break;
      t.equal(writer.usage().nodes, fresh.writer.usage().nodes);
    }
    t.ok(failures > 70, `${failures} faults`);
    const reads =
      'snapshot,end of snapshot,changesAfter,firstChange,touchedOwners,zone,owners,an owner of owners,owner,exists';
    const writes = 'findNode,putNode,removeNode,beginZone,loadNode,publishZone,removeZone,commit,compact';
    for (const step of `${reads},${writes}`.split(',')) t.ok(fault.places.has(step), `a fault in ${step}`);
    store.close();
  },
);

/** A zone whose owners cannot be read, as long as `isBroken` says so. */
function withBrokenZone(
  source: ZoneSource,
  zone: number,
  isBroken: () => boolean,
): ZoneSource & { attempts(): number } {
  let attempts = 0;
  const check = ({ seq }: ServingZone): void => {
    if (seq !== zone || !isBroken()) return;
    attempts++;
    throw new Error('rdata too short');
  };
  return {
    ...source,
    attempts: () => attempts,
    owners(asked) {
      check(asked);
      return source.owners(asked);
    },
    owner(asked, ownerKey) {
      check(asked);
      return source.owner(asked, ownerKey);
    },
  };
}

t.test('a zone that cannot be published rests, longer every time, and the others continue', async (t) => {
  const { store, zones } = openZones(['broken', 'sound']);
  const [bad, good] = zones as [number, number];
  let broken = false;
  const source = withBrokenZone(createZoneSource(store, SETTINGS), bad, () => broken);
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    level: 'info',
    pretty: false,
    destination: { write: (line: string) => void lines.push(JSON.parse(line)) },
  });
  const clock = new TestClock();
  const writer = new ImageWriter({ seed: 99 });
  const follower = createFollower({ source, writer, clock, log });
  const served = { follower, writer };
  follower.loadAll();
  const address = Uint8Array.of(192, 0, 2, 1);
  change(store, bad, 1, 'early.broken.', Type.a, address);
  settle(follower);

  broken = true;
  change(store, bad, 1, 'late.broken.', Type.a, address);
  change(store, good, 1, 'www.sound.', Type.a, address);
  settle(follower);
  const rcode = (name: string): string => answersTo(served, [name], [Type.a])[0]!.split(': ')[1]!.slice(6, 8);
  t.strictSame(['early.broken.', 'late.broken.', 'www.sound.'].map(rcode), ['00', '03', '00']);
  t.equal(follower.appliedChange(), 3);
  t.match(follower.heldZones(), [{ zone: bad, name: 'broken', change: 2, attempts: 1, error: /too short/ }]);

  // Looks every 4 ms for ten minutes.
  for (let i = 0; i < 150_000; i++) {
    clock.advance(4);
    if (follower.hasWork()) follower.catchUp();
    if (i % 10_000 === 0) change(store, bad, 1, `n${i}.broken.`, Type.a, address);
    if (i % 10_000 === 0) settle(follower);
  }
  t.ok(source.attempts() > 10 && source.attempts() < 30, `${source.attempts()} attempts in ten minutes`);
  t.match(follower.heldZones(), [{ change: 2 }], 'held since its first change');
  t.strictSame(
    lines.map(({ msg, zone }) => `${zone}: ${msg}`),
    ['broken: a zone cannot be published, queries see its former state'],
  );

  broken = false;
  clock.advance(60_000);
  t.ok(follower.hasWork());
  settle(follower);
  t.strictSame(follower.heldZones(), []);
  t.notOk(follower.hasWork());
  t.strictSame(['early.broken.', 'late.broken.', 'n10000.broken.'].map(rcode), ['00', '00', '00']);
  t.match(lines.at(-1), { zone: 'broken', msg: 'the zone is published again' });
  follower.close();
  store.close();
});

t.test('a zone that cannot be loaded at the start does not affect the others', async (t) => {
  const { store, zones } = openZones(['broken', 'sound']);
  let broken = true;
  const source = withBrokenZone(createZoneSource(store, SETTINGS), zones[0]!, () => broken);
  const clock = new TestClock();
  const writer = new ImageWriter({ seed: 99 });
  const follower = createFollower({ source, writer, clock, log: silentLogger() });
  follower.loadAll();
  t.equal(follower.zoneCount(), 1);
  t.match(follower.heldZones(), [{ name: 'broken' }]);
  broken = false;
  clock.advance(100);
  settle(follower);
  t.equal(follower.zoneCount(), 2);
  const apexes = ['broken.', 'sound.'];
  t.strictSame(answersTo({ follower, writer }, apexes, TYPES), answersTo(serve(store), apexes, TYPES));
  store.close();
});

t.test('when others have filled the image, what is small is published, and what grows waits', (t) => {
  const { store, zones } = openZones(['mine', 'b0', 'b1', 'b2']);
  const [mine, ...greedy] = zones as [number, ...number[]];
  const id = makeId(time++, random);
  const other = writeNow(store, () => insertAccount(store, { id, name: 'B', type: 'standard', created_at: time }));
  for (const zone of greedy) runSql(store, `UPDATE zones SET account = ${other} WHERE seq = ${zone}`);
  const clock = new TestClock();
  const source = createZoneSource(store, SETTINGS);
  /** Room for some 1 000 names; a sixteenth is the reserve. */
  const open = (): Served => {
    const writer = new ImageWriter({ seed: 99, mostWords: 24_000 });
    const follower = createFollower({ source, writer, clock, log: silentLogger() });
    follower.loadAll();
    return { follower, writer };
  };
  let served = open();
  const look = (): void => {
    clock.advance(60_000);
    settle(served.follower);
  };
  const held = (): string[] => served.follower.heldZones().map(({ name }) => name);
  const rcode = (name: string): string => answersTo(served, [name], [Type.a])[0]!.split(': ')[1]!.slice(6, 8);
  const edit = (zone: number, op: 0 | 1, name: string): void => {
    change(store, zone, op, name, Type.a, Uint8Array.of(192, 0, 2, 1));
    look();
  };
  const fill = (zone: number, apex: string, op: 0 | 1 = 1): void => {
    writeNow(store, () => {
      for (let i = 0; i < 240; i++)
        writeChange(store, zone, op, `n${i}.${apex}.`, Type.a, Uint8Array.of(192, 0, i >> 8, i & 255));
    });
    runSql(store, `UPDATE zones SET record_count = ${op * 240} WHERE seq = ${zone}`);
    look();
  };
  edit(mine, 1, 'kept.mine.');
  for (const [i, zone] of greedy.entries()) fill(zone, `b${i}`);
  for (let more = 0; held().length === 0; more++) fill(addZone(store, other, `more${more}`), `more${more}`);
  const full = held();
  t.match(served.follower.heldZones(), [{ error: { message: /nearly full/ } }]);

  edit(mine, 1, 'www.mine.');
  edit(mine, 0, 'kept.mine.');
  t.same([rcode('www.mine.'), rcode('kept.mine.')], ['00', '03'], 'small edits');
  append(store, mine, 'zone-replaced');
  look();
  for (let i = 0; i < 900 && !held().includes('b0'); i++) edit(greedy[0]!, 1, `small${i}.b0.`);
  t.ok(held().includes('b0'), 'small edits of one account have an end');
  edit(mine, 1, 'later.mine.');
  t.equal(rcode('later.mine.'), '00');
  t.notOk(held().includes('mine'));

  served.follower.close();
  served = open();
  look();
  const known = ['www.mine.', 'later.mine.', 'n0.b0.', 'n0.b1.', 'n0.b2.', 'small0.b0.'];
  t.same(known.map(rcode), Array(6).fill('00'), 'a fresh process serves what was served');
  t.ok(held().length > 0);
  for (const i of [1, 2]) fill(greedy[i]!, `b${i}`, 0);
  t.equal(rcode('n0.b1.'), '03', 'deletions make room');
  look();
  t.same(held(), [], 'and what waited is published');
  t.equal(rcode(`n0.${full[0]}.`), '00');
  served.follower.close();
  store.close();
  t.end();
});
