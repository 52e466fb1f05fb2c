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
import { parseIP } from '../../src/base/ip.js';
import { silentLogger } from '../../src/base/log.js';
import { changeDenial } from '../../src/control/dnssec/switch-denial.js';
import { importZone } from '../../src/control/imports/zone.js';
import { commit } from '../../src/control/kernel/commit.js';
import type { Context } from '../../src/control/kernel/context.js';
import { createRecord, deleteRecord, listRecords } from '../../src/control/records/records.js';
import { logServingSettings } from '../../src/control/zones/serving-settings.js';
import { editZoneSetting } from '../../src/control/zones/settings.js';
import { deleteZone, editZone } from '../../src/control/zones/zones.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import { parseName } from '../../src/dns/name.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower, type Follower } from '../../src/publish/follow.js';
import { createZoneSource } from '../../src/publish/source.js';
import { type Located, locate } from '../../src/serving/look-up.js';
import { servedAtOwner } from '../../src/serving/owner.js';
import type { ServingSettings, ServingZone } from '../../src/serving/zone.js';
import type { DenialKind } from '../../src/store/dnssec/zones.js';
import { ownersOfTarget } from '../../src/store/flatten/owners.js';
import { findTarget, updateTarget } from '../../src/store/flatten/targets.js';
import { type ChangeRow, changesAfter, lastChange, rrsOfChange } from '../../src/store/log/changes.js';
import { putMeta } from '../../src/store/meta.js';
import { findZone, findZoneByName } from '../../src/store/zones/zones.js';
import { startControl } from '../control/fixture.js';
import { checkLog, type FollowedZone, print, served, zoneOf } from '../support/followed-zone.js';
import { type DecodedMessage, decodeMessage, makeQuery } from '../support/message.js';
import { applyStep, createChangedZone, LABELS, step, TARGETS } from '../support/random-changes.js';
import { enableSigning } from '../support/signing.js';
import { testZoneKeys } from '../support/zone-keys.js';

const SEED = Number(process.env['ZONEPLANE_CONFORMANCE_SEED'] ?? 20261122);
const RUNS = Number(process.env['ZONEPLANE_SERVING_RUNS'] ?? 40);

const ASKED_TYPES = [Type.a, Type.aaaa, Type.cname, Type.ns, Type.mx, Type.txt, Type.soa, Type.ds, Type.https];

/** A zone under test, and a copy of what it serves that only the change log keeps up to date. */
interface World extends FollowedZone {
  readonly follower: Follower;
  readonly writer: ImageWriter;
  readonly answer: Answer;
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
  const zone = await createChangedZone(ctx, apex);
  const { follower, writer } = publish(ctx);
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  const world = { ...zone, follower, writer, answer, copy: new Map(), seen: lastChange(ctx.store) };
  for (const [key, lines] of served(world)) world.copy.set(key, lines);
  return world;
}

/** Signs the zone; what is served then is where its log begins. */
async function signWorld(world: World, denial: DenialKind): Promise<void> {
  const { ctx, zoneId, seq, copy } = world;
  await enableSigning(ctx, zoneId);
  await commit(ctx, (draft) => changeDenial(ctx, draft, findZone(ctx.store, seq)!, denial));
  world.seen = lastChange(ctx.store);
  copy.clear();
  for (const [key, lines] of served(world)) copy.set(key, lines);
}

async function startServing(t: Test): Promise<Context> {
  const { ctx } = await startControl(t, {
    edgeAddresses: [parseIP('198.51.100.1')!, parseIP('2001:db8:ed::1')!],
    nameServerAddresses: [parseIP('198.51.100.53')!, parseIP('2001:db8:ed::53')!],
    ownAddresses: [],
    privateSuffixes: 'refuse',
  });
  return { ...ctx, zoneKeys: await testZoneKeys(ctx.store, ctx.random) };
}

t.test('random changes: the log leads to what is served, and the image answers it', async (t) => {
  const ctx = await startServing(t);
  let runs = 0;
  const property = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
    const world = await openWorld(ctx, `z${runs++}.test`);
    // Every third zone is signed with each kind of denial.
    if (runs % 3 > 0) await signWorld(world, runs % 3 === 1 ? 'nsec' : 'nsec3');
    try {
      for (const [i, change] of steps.entries()) {
        await applyStep(world, change);
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
  t.same([serial(world), serial(untouched)], before, 'the same settings are not a change');
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
