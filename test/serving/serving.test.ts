/**
 * What a zone serves: random zones and random changes through the use cases. The published image answers what serving/
 * returns for every name, and the changes of the log, applied to a copy of the zone as it was served, give the zone as
 * it is served afterwards.
 */
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { type Answer, Transport } from '../../src/answer/transport.js';
import { AppError } from '../../src/base/errors.js';
import { parseIP } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { importZone } from '../../src/control/imports/zone.js';
import { createRecord, deleteRecord, editRecord, listRecords } from '../../src/control/records/records.js';
import { commit } from '../../src/control/write/commit.js';
import type { Context } from '../../src/control/write/context.js';
import { editDnsSettings } from '../../src/control/zones/dns-settings.js';
import { logServingSettings } from '../../src/control/zones/serving-settings.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { createZone, deleteZone, editZone } from '../../src/control/zones/zones.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower, type Follower } from '../../src/publish/follow.js';
import { createZoneSource } from '../../src/publish/source.js';
import { copyServed, soaOf } from '../../src/serving/difference.js';
import { type Located, locate } from '../../src/serving/look-up.js';
import { servedAtOwner } from '../../src/serving/owner.js';
import { type ServingSettings, type ServingZone, servingZone } from '../../src/serving/zone.js';
import { ownersOfTarget } from '../../src/store/flatten/owners.js';
import { findTarget, updateTarget } from '../../src/store/flatten/targets.js';
import { type ChangeRow, changesAfter, lastChange, rrsOfChange } from '../../src/store/log/changes.js';
import { putMeta } from '../../src/store/meta.js';
import { findZone, findZoneByName } from '../../src/store/zones/zones.js';
import { startControl } from '../control/fixture.js';
import { type DecodedMessage, decodeMessage, makeQuery } from '../support/message.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 20261122);
const RUNS = Number(process.env['ZONEPLANE_SERVING_RUNS'] ?? 40);

const TARGETS = ['one.target.test', 'two.target.test'];
const LABELS = ['a', 'b', 'ns1', '*', '_acme-challenge'];
const ASKED_TYPES = [Type.a, Type.aaaa, Type.cname, Type.ns, Type.mx, Type.txt, Type.soa, Type.ds, Type.https];

/** A zone under test, and a copy of what it serves that only the change log keeps up to date. */
interface World {
  readonly ctx: Context;
  readonly zoneId: string;
  readonly seq: number;
  readonly apex: string;
  readonly follower: Follower;
  readonly writer: ImageWriter;
  readonly answer: Answer;
  readonly copy: Map<string, string[]>;
  seen: number;
}

interface Step {
  readonly value: unknown;
  readonly run: (world: World) => Promise<unknown>;
}

const owner = fc.array(fc.constantFrom(...LABELS), { maxLength: 3 }).map((labels) => labels.join('.') || '@');
const ttl = fc.constantFrom(1, 60, 300, 3600);
const last = fc.integer({ min: 1, max: 3 });
const target = fc.oneof(
  fc.constantFrom(...TARGETS),
  owner.map((name) => (name === '@' ? 'ZONE' : `${name.replaceAll('*', 'a')}.ZONE`)),
);

const record = fc.oneof(
  fc.record({
    type: fc.constant('A'),
    content: last.map((n) => `192.0.2.${n}`),
    proxied: fc.boolean(),
    ttl,
    settings: fc.constantFrom({}, {}, { ipv4_only: true }, { ipv6_only: true }),
  }),
  fc.record({ type: fc.constant('AAAA'), content: last.map((n) => `2001:db8::${n}`), proxied: fc.boolean(), ttl }),
  fc.record({
    type: fc.constant('CNAME'),
    content: target,
    proxied: fc.boolean(),
    ttl,
    settings: fc.constantFrom({}, { flatten_cname: true }),
  }),
  fc.record({ type: fc.constant('TXT'), content: last.map((n) => `"t${n}"`), ttl }),
  fc.record({ type: fc.constant('MX'), content: target, priority: last, ttl }),
  fc.record({ type: fc.constant('NS'), content: target, ttl }),
  fc.record({ type: fc.constant('HTTPS'), data: fc.constant({ priority: 1, target: '.', value: 'alpn=h2' }), ttl }),
);

const inZone = <T>(value: T, apex: string): T => JSON.parse(JSON.stringify(value).replaceAll('ZONE', apex)) as T;

/** One of the zone's records, by chance. */
async function pickRecord({ ctx, zoneId }: World, place: number): Promise<string | undefined> {
  const { items } = await listRecords(ctx, zoneId, { perPage: 100 });
  return items.length === 0 ? undefined : items[place % items.length]!.id;
}

/** A step that a counterexample shows by its value. */
function stepOf<Value>(values: fc.Arbitrary<Value>, run: (world: World, value: Value) => Promise<unknown>) {
  return values.map((value): Step => ({ value, run: (world) => run(world, value) }));
}

const create = stepOf(fc.tuple(owner, record), ({ ctx, zoneId, apex }, [name, input]) =>
  createRecord(ctx, zoneId, inZone({ name, ...input }, apex)),
);

const edit = stepOf(
  fc.tuple(fc.constant('edit'), fc.nat(100), record),
  async (world, [, place, { type: _, ...input }]) => {
    const id = await pickRecord(world, place);
    if (id) await editRecord(world.ctx, world.zoneId, id, inZone(input, world.apex));
  },
);

const remove = stepOf(fc.tuple(fc.constant('remove'), fc.nat(100)), async (world, [, place]) => {
  const id = await pickRecord(world, place);
  if (id) await deleteRecord(world.ctx, world.zoneId, id);
});

const dnsSetting = stepOf(
  fc.constantFrom(
    { zone_mode: 'dns_only' },
    { zone_mode: 'standard' },
    { multi_provider: true },
    { multi_provider: false },
    { ns_ttl: 60 },
    { ns_ttl: 86400 },
    { soa: { min_ttl: 60 } },
    { soa: { mname: 'ns9.dns.test' } },
  ),
  ({ ctx, zoneId }, change) => editDnsSettings(ctx, zoneId, change),
);

const flattenAll = stepOf(fc.record({ flatten_all_cnames: fc.boolean() }), ({ ctx, zoneId }, change) =>
  editDnsSettings(ctx, zoneId, change),
);

const vanity = stepOf(
  fc.constantFrom([], ['ns1.ZONE', 'ns.else.test'], ['a.ZONE', 'b.a.ZONE', 'ns1.ZONE']),
  ({ ctx, zoneId, apex }, names) => editZone(ctx, zoneId, { vanity_name_servers: inZone(names, apex) }),
);

const paused = stepOf(fc.record({ paused: fc.boolean() }), ({ ctx, zoneId }, change) => editZone(ctx, zoneId, change));

const http = stepOf(fc.record({ http2: fc.constantFrom('on', 'off') }), ({ ctx, zoneId }, { http2 }) =>
  editZoneSetting(ctx, zoneId, 'http2', http2),
);

/** Names of certificates, as the control plane writes them when certificates come and go. */
const certify = stepOf(
  fc.subarray(['ZONE', '*.ZONE', 'a.ZONE', '*.a.ZONE'], { minLength: 0 }),
  ({ ctx, seq, apex }, names) => commit(ctx, (draft) => draft.setCertifiedNames(seq, inZone(names, apex))),
);

/** What is heard of the target of flattened names, as the refresher writes it. */
const hear = stepOf(
  fc.record({
    name: fc.constantFrom(...TARGETS),
    ipv4: fc.constantFrom(null, 0, 1, 2),
    ipv6: fc.constantFrom(null, 0, 1),
    stale: fc.constantFrom(0, 0, 1),
    ttl,
  }),
  ({ ctx }, { name, ipv4, ipv6, ...facts }) => {
    const addresses = (count: number | null, size: number): Uint8Array | null =>
      count === null ? null : new Uint8Array(count * size).map((_, i) => 1 + Math.floor(i / size));
    return commit(ctx, (draft) => {
      const row = findTarget(ctx.store, parseName(`${name}.`));
      if (!row) return;
      for (const { zone, owner_key: key } of ownersOfTarget(ctx.store, row.name)) draft.noteTarget(zone, key);
      updateTarget(ctx.store, { ...row, ipv4: addresses(ipv4, 4), ipv6: addresses(ipv6, 16), ...facts }, []);
    });
  },
);

const fileLine = fc
  .tuple(owner, last, fc.constantFrom('A', 'A', 'TXT', 'CNAME', 'NS', 'DNAME', 'DS', 'MX'), target)
  .map(([name, n, type, to]) => {
    const contents: Record<string, string> = {
      A: `192.0.2.${n}`,
      TXT: `"t${n}"`,
      MX: `${n} ${to}.`,
      DS: `${n} 13 2 ${'5a'.repeat(32)}`,
    };
    return `${name} ${n * 60} IN ${type} ${contents[type] ?? `${to}.`}`;
  });

/** The zone is replaced by a file, with name servers of its own or the service's. */
const replace = stepOf(
  fc.record({ lines: fc.array(fileLine, { maxLength: 12 }), automaticSoa: fc.boolean(), proxied: fc.boolean() }),
  async ({ ctx, seq, apex }, { lines, ...options }) => {
    const serial = findZone(ctx.store, seq)!.serial + 5;
    const head = [`$ORIGIN ${apex}.`, `@ 300 IN SOA ns h ${serial} 2 3 4 60`, '@ 300 IN NS ns.else.test.'];
    const text = `${[...head, ...lines.map((line) => inZone(line, apex))].join('\n')}\n`;
    await importZone(ctx, { source: { text }, origin: apex, replace: true, ...options });
  },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: create, weight: 10 },
  { arbitrary: edit, weight: 3 },
  { arbitrary: remove, weight: 3 },
  { arbitrary: dnsSetting, weight: 3 },
  { arbitrary: flattenAll, weight: 2 },
  { arbitrary: vanity, weight: 2 },
  { arbitrary: paused, weight: 1 },
  { arbitrary: http, weight: 1 },
  { arbitrary: certify, weight: 3 },
  { arbitrary: hear, weight: 4 },
  { arbitrary: replace, weight: 2 },
);

function zoneOf({ ctx, seq }: World): ServingZone {
  return servingZone(ctx.store, findZone(ctx.store, seq)!, ctx.settings);
}

const print = (type: number, seconds: number, rdata: Uint8Array): string =>
  `${type} ${seconds} ${Buffer.from(rdata).toString('hex')}`;

/** Everything served, SOA included, as lines by owner. */
function served(world: World): Map<string, string[]> {
  const zone = zoneOf(world);
  const soa = soaOf(zone);
  const lines = new Map([['', [print(Type.soa, soa.ttl, soa.rdata)]]]);
  for (const [key, { rrs }] of copyServed(world.ctx.store, zone)) {
    if (rrs.length === 0) continue;
    const own = rrs.map(({ type, ttl: seconds, rdata }) => print(type, seconds, rdata));
    lines.set(key, [...(lines.get(key) ?? []), ...own]);
  }
  return lines;
}

/** Applies a change to the copy as a secondary would; throws when it does not fit. */
function applyChange({ ctx, copy }: World, change: ChangeRow): void {
  for (const { op, owner_key: ownerKey, type, ttl: seconds, rdata } of rrsOfChange(ctx.store, change)) {
    const key = Buffer.from(ownerKey).toString('latin1');
    const lines = copy.get(key) ?? [];
    const line = print(type, seconds, rdata);
    const at = lines.indexOf(line);
    if (op === 1) copy.set(key, [...lines, line]);
    else if (at < 0) throw new Error(`change ${change.seq} takes away ${line}, which is not served at ${key}`);
    else if (lines.length === 1) copy.delete(key);
    else copy.set(key, lines.toSpliced(at, 1));
  }
}

const comparable = (lines: ReadonlyMap<string, readonly string[]>): string[] =>
  [...lines].map(([key, list]) => `${key}: ${[...list].sort().join(', ')}`).sort();

function checkLog(world: World): void {
  for (const change of changesAfter(world.ctx.store, world.seen, 1000)) {
    world.seen = change.seq;
    if (change.zone !== world.seq) continue;
    if (change.complete !== 1) throw new Error(`change ${change.seq} (${change.kind}) of a small zone is not complete`);
    applyChange(world, change);
  }
  const [kept, now] = [comparable(world.copy), comparable(served(world))];
  const wrong = [
    ...kept.filter((line) => !now.includes(line)),
    'instead of',
    ...now.filter((line) => !kept.includes(line)),
  ];
  if (wrong.length > 1) throw new Error(`the change log leads to ${wrong.join('\n')}`);
}

function ask({ answer }: World, name: Uint8Array, type: number): DecodedMessage {
  const query = makeQuery(name, type);
  const out = new Uint8Array(65_535);
  return decodeMessage(Buffer.from(out.subarray(0, answer(query, 0, query.length, out, 0, out.length, Transport.tcp))));
}

function checkImage(world: World, labels: readonly string[]): void {
  const { ctx, follower, writer } = world;
  follower.catchUp();
  const zone = zoneOf(world);
  const names = [...new Set(labels.flatMap((first) => ['', ...labels].map((second) => `${first}.${second}`)))];
  for (const text of ['', ...names]) {
    const name = parseName(`${text === '' ? '' : `${text.replace(/\.$/, '')}.`}${world.apex}.`);
    for (const type of ASKED_TYPES) {
      const problem = compareAnswer(world, zone, locate(ctx.store, zone, name, type), type, ask(world, name, type));
      if (problem) throw new Error(`${text} TYPE${type}: ${problem}`);
    }
  }
  const fresh = publish(ctx).writer.usage().nodes;
  const { nodes } = writer.usage();
  if (nodes !== fresh) throw new Error(`the image has ${nodes} names, one that was loaded anew ${fresh}`);
}

/** How an answer differs from what is served where the question leads; undefined when it does not. */
function compareAnswer(
  { ctx }: World,
  zone: ServingZone,
  located: Located,
  type: number,
  { rcode, answer, authority, aa }: DecodedMessage,
): string | undefined {
  if (located.kind === 'nowhere') return rcode === Rcode.nxDomain ? undefined : `rcode ${rcode} for no name`;
  const { rrsets } = servedAtOwner(ctx.store, zone, located.ownerKey);
  const rrsetOf = (code: number) => rrsets.find((rrset) => rrset.type === code);
  const [first] = answer;
  switch (located.kind) {
    case 'cut':
      return !aa && answer.length === 0 && authority[0]?.type === Type.ns ? undefined : 'no referral';
    case 'dname':
      return first?.type === Type.dname ? undefined : 'no DNAME';
  }
  const rrset = rrsetOf(type);
  if (rrset?.rdatas.length === 0) return rcode === Rcode.servFail ? undefined : `rcode ${rcode} for unknown addresses`;
  if (!rrset && rrsetOf(Type.cname)) {
    return first?.type === Type.cname || rcode === Rcode.servFail ? undefined : 'no CNAME';
  }
  const expected = rrset?.rdatas.map((rdata) => print(type, rrset.ttl, rdata)).sort() ?? [];
  const got = answer.map((rr) => `${rr.type} ${rr.ttl} ${rr.rdata}`).sort();
  return rcode === 0 && expected.join() === got.join() ? undefined : `${got.join()} (${rcode}) for ${expected.join()}`;
}

function publish(ctx: Context): Pick<World, 'follower' | 'writer'> {
  const writer = new ImageWriter({ seed: 7 });
  const source = createZoneSource(ctx.store, ctx.settings);
  const follower = createFollower({ source, writer, clock: ctx.clock, log: silentLogger() });
  follower.loadAll();
  return { follower, writer };
}

async function openWorld(ctx: Context, apex: string): Promise<World> {
  const { id } = await createZone(ctx, { name: apex });
  // What settings and targets show at, from the beginning.
  for (const input of [
    { type: 'A', name: 'a', content: '192.0.2.1', proxied: true },
    { type: 'CNAME', name: 'b', content: TARGETS[0] },
    { type: 'CNAME', name: '*.a', content: TARGETS[1], settings: { flatten_cname: true } },
  ]) {
    await createRecord(ctx, id, input);
  }
  const { follower, writer } = publish(ctx);
  const { seq } = findZoneByName(ctx.store, apex)!;
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  const world = { ctx, zoneId: id, seq, apex, follower, writer, answer, copy: new Map(), seen: lastChange(ctx.store) };
  for (const [key, lines] of served(world)) world.copy.set(key, lines);
  return world;
}

/** A change that a rule of zones refuses changes nothing, and nothing is wrong. */
async function apply(world: World, change: Step): Promise<void> {
  try {
    await change.run(world);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}

async function startServing(t: Test): Promise<Context> {
  const { ctx } = await startControl(t, {
    edgeAddresses: [parseIP('198.51.100.1')!, parseIP('2001:db8:ed::1')!],
    nameServerAddresses: [parseIP('198.51.100.53')!, parseIP('2001:db8:ed::53')!],
    ownAddresses: [],
    privateSuffixes: 'refuse',
  });
  return ctx;
}

t.test('random changes: the log leads to what is served, and the image answers it', async (t) => {
  const ctx = await startServing(t);
  let runs = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
    const world = await openWorld(ctx, `z${runs++}.test`);
    try {
      for (const [i, change] of steps.entries()) {
        await apply(world, change);
        checkLog(world);
        if (i % 10 === 9) checkImage(world, LABELS);
      }
      checkImage(world, LABELS);
    } finally {
      await deleteZone(ctx, world.zoneId);
    }
  });
  await t.resolves(fc.assert(property, { numRuns: RUNS, seed: SEED }), `${RUNS} zones`);
});

t.test('a name that starts to exist without data is in the log', async (t) => {
  const ctx = await startServing(t);
  const world = await openWorld(ctx, 'empty.test');
  const flat = { type: 'CNAME', content: TARGETS[1], settings: { flatten_cname: true } };
  await commit(ctx, (draft) => {
    const row = findTarget(ctx.store, parseName(`${TARGETS[1]}.`))!;
    for (const { zone, owner_key: key } of ownersOfTarget(ctx.store, row.name)) draft.noteTarget(zone, key);
    const nothing = new Uint8Array(0);
    updateTarget(ctx.store, { ...row, ipv4: nothing, ipv6: nothing, ttl: 60 }, []);
  });
  world.follower.catchUp();
  const { id } = await createRecord(ctx, world.zoneId, { ...flat, name: 'nowhere' });
  checkLog(world);
  world.follower.catchUp();
  t.equal(ask(world, parseName('nowhere.empty.test.'), Type.a).rcode, 0);
  await deleteRecord(ctx, world.zoneId, id);
  world.follower.catchUp();
  t.equal(ask(world, parseName('nowhere.empty.test.'), Type.a).rcode, Rcode.nxDomain);
});

/** A zone file with so many hosts, the first `other` of them with another address. */
function hostsFile(apex: string, serial: number, hosts: number, other: number): string {
  const lines = Array.from({ length: hosts }, (_, i) => `h${i} 300 IN A 192.0.2.${i < other ? 2 : 1}`);
  return [`$ORIGIN ${apex}.`, `@ 300 IN SOA ns h ${serial} 2 3 4 60`, '@ 300 IN NS ns.else.test.', ...lines, ''].join(
    '\n',
  );
}

t.test('imports and settings list differences up to 5,000 records, and mark larger ones', async (t) => {
  const ctx = await startServing(t);
  const apex = 'large.test';
  const load = async (serial: number, hosts: number, other: number, proxied = false): Promise<ChangeRow> => {
    const source = { text: hostsFile(apex, serial, hosts, other) };
    const { imported, issues } = await importZone(ctx, { source, replace: true, proxied });
    t.ok(imported, JSON.stringify(issues));
    return latest();
  };
  const latest = (): ChangeRow => changesAfter(ctx.store, lastChange(ctx.store) - 1, 1)[0]!;
  const listed = (change: ChangeRow): number => rrsOfChange(ctx.store, change).length;
  t.match(await load(1, 6000, 0), { kind: 'zone-added', complete: 0, soa_from: null });
  const few = await load(2, 6000, 3);
  t.match(few, { kind: 'zone-replaced', complete: 1, serial_from: 1, serial_to: 2 });
  t.equal(listed(few), 2 * 3 + 2, 'three records and the SOA');
  t.equal(listed(await load(3, 6000, 2503)), 5002, 'as many as are listed');
  const many = await load(4, 6000, 0);
  t.match(many, { kind: 'zone-replaced', complete: 0 });
  t.equal(listed(many), 2, 'the SOA alone');
  const same = await load(4, 6000, 0);
  t.match(same, { complete: 1, serial_from: 4, serial_to: 4 });
  t.equal(listed(same), 0);
  t.match(await load(5, 2400, 0, true), { complete: 0 });
  const { seq, id } = findZoneByName(ctx.store, apex)!;
  const zoneId = Buffer.from(id).toString('hex');
  await commit(ctx, (draft) => draft.setCertifiedNames(seq, [`*.${apex}`]));
  t.match(latest(), { zone: seq, kind: 'rrs', complete: 1 });
  t.equal(listed(latest()), 2400 + 2, 'the HTTPS record of every proxied name');
  await editZoneSetting(ctx, zoneId, 'http2', 'off');
  t.match(latest(), { zone: seq, kind: 'settings', complete: 1 });
  t.equal(listed(latest()), 2400 + 2, 'and without HTTP/2 none');
  await editZone(ctx, zoneId, { paused: true });
  t.match(latest(), { kind: 'settings', complete: 0 });
});

t.test('changed settings of the installation at a start are changes of the affected zones', async (t) => {
  const first = await startServing(t);
  await logServingSettings(first);
  const world = await openWorld(first, 'moved.test');
  const untouched = await openWorld(first, 'plain.test');
  for (const { id } of (await listRecords(first, untouched.zoneId, {})).items)
    await deleteRecord(first, untouched.zoneId, id);
  for (const zone of [world, untouched]) checkLog(zone);
  await editZone(first, world.zoneId, { vanity_name_servers: ['ns1.moved.test', 'b.a.moved.test'] });
  checkLog(world);
  const serial = ({ ctx: { store }, seq }: World): number => findZone(store, seq)!.serial;
  const start = async (change: Partial<ServingSettings>): Promise<World[]> => {
    const ctx = { ...first, settings: { ...first.settings, ...change } };
    await logServingSettings(ctx);
    const worlds = [world, untouched].map((zone) => ({ ...zone, ctx, ...publish(ctx), seen: world.seen }));
    for (const zone of worlds) checkLog(zone);
    world.seen = lastChange(ctx.store);
    return worlds;
  };
  const before = [serial(world), serial(untouched)];
  await start({});
  t.same([serial(world), serial(untouched)], before, 'the same settings are no change');
  await start({ edgeAddresses: [parseIP('198.51.100.2')!] });
  t.same([serial(world), serial(untouched)], [before[0]! + 1, before[1]], 'the edge shows at proxied names');
  await start({ nameServerAddresses: [parseIP('198.51.100.54')!], nameServers: ['other.dns.test'] });
  t.same([serial(world), serial(untouched)], [before[0]! + 2, before[1]! + 1]);
  await first.store.write(() => putMeta(first.store, 'serving_settings', ''));
  await logServingSettings(first);
  const changes = changesAfter(first.store, world.seen, 10);
  t.same(
    changes.map(({ complete }) => complete),
    [0, 0],
    'what an interrupted start had changed is not known',
  );
});
