/** Versions of a zone in which very much changes: they are planned and stored in steps, and others have their turns meanwhile. */
import t, { type Test } from 'tap';
import { createRowMaker } from '../../../src/control/imports/row.js';
import { beginStaging } from '../../../src/control/imports/stage.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { applyDifferences } from '../../../src/control/secondary/differences.js';
import { createIncoming } from '../../../src/control/secondary/incoming.js';
import { createPeer } from '../../../src/control/secondary/peers.js';
import { readSignedVersion } from '../../../src/control/secondary/presigned-copy.js';
import { applyVersion } from '../../../src/control/secondary/transferred.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { Type } from '../../../src/dns/codes.js';
import { ownerKeyOf, parseName } from '../../../src/dns/name.js';
import type { RR } from '../../../src/dns/rr.js';
import { readZone } from '../../../src/dns/zonefile/parser.js';
import { countSignedOwners } from '../../../src/store/dnssec/signatures.js';
import { type ImportedRow, RowPacker } from '../../../src/store/records/packed-rows.js';
import { noteIncoming } from '../../../src/store/secondary/incoming.js';
import { findZone, findZoneByName } from '../../../src/store/zones/zones.js';
import { createCollection } from '../../../src/transfer/in/collection.js';
import { createProofRoom } from '../../../src/transfer/in/proof-room.js';
import { NEGATIVE_SOA_KEY } from '../../../src/zone/derive/soa.js';
import { HastyClock } from '../../support/hasty-clock.js';
import { soa } from '../../support/scripted-primary.js';
import { requireVerified } from '../../support/signed-copy.js';
import { signZone } from '../../support/signed-zone.js';
import { openOneCopy } from '../../support/two-copies.js';
import { startControl } from '../fixture.js';

const ZONE = 'in.test';
const APEX = parseName(`${ZONE}.`);
const SOA = (serial: number): RR => {
  const [, ttl, type, rdata] = soa(ZONE, serial);
  return { owner: APEX, type, ttl, rdata };
};

interface World {
  readonly ctx: Context;
  readonly seq: number;
  /** How often the work looked whether others should have their turn. Turns say nothing: writes have pauses between them. */
  countLooks(work: () => Promise<unknown>): Promise<number>;
}

async function start(t: Test): Promise<World> {
  const { ctx: base } = await startControl(t, {}, openOneCopy);
  const { account } = await createZone(base, { name: 'other.test' });
  const peer = await createPeer(base, account.id, { name: 'p', ip: '192.0.2.53' });
  const { id } = await createZone(base, { name: ZONE, type: 'secondary' });
  await createIncoming(base, id, { name: ZONE, peers: [peer.id] });
  const { seq } = findZoneByName(base.store, ZONE)!;
  await base.store.write(() => noteIncoming(base.store, seq, { serial: 1 }));
  const clock = new HastyClock();
  clock.advance(Date.now() - clock.nowMs());
  const countLooks: World['countLooks'] = async (work) => {
    const before = clock.looks;
    await work();
    return clock.looks - before;
  };
  return { ctx: { ...base, clock, source: 'transfer' }, seq, countLooks };
}

function rowsOf({ settings: { limits } }: Context, records: readonly RR[]): ImportedRow[] {
  const maker = createRowMaker({ apex: APEX, limits, proxied: false, oneIsAutomatic: false });
  const nowhere = { line: 1, column: 1, file: undefined, comment: undefined, flattened: false };
  return records.map((record) => maker.rowOf({ ...record, ...nowhere }));
}

const host = (i: number): RR => {
  return { owner: parseName(`h${i}.${ZONE}.`), type: Type.a, ttl: 300, rdata: Uint8Array.of(192, 0, i >> 8, i) };
};

t.test('many differences', async (t) => {
  const { ctx, seq, countLooks } = await start(t);
  const added = rowsOf(
    ctx,
    Array.from({ length: 520 }, (_, i) => host(i)),
  );
  const apply = (removed: readonly ImportedRow[], more: readonly ImportedRow[], from: number) =>
    applyDifferences(ctx, seq, from, [{ removed, added: more }], { soa: SOA(from + 1), noted: { serial: from + 1 } });
  const looks = await countLooks(() => apply([], added, 1));
  t.ok(looks > 200, `${looks} looks`);
  t.match(findZone(ctx.store, seq), { record_count: 520, serial: 2 });
  await apply(added.slice(0, 300), [], 2);
  t.match(findZone(ctx.store, seq), { record_count: 220, serial: 3 });
  await t.rejects(apply(added.slice(0, 100), [], 3), { message: /removes a record of h0\.in\.test that is not there/ });

  const octets = Buffer.concat(Array.from({ length: 4 }, () => Buffer.from([249, ...Buffer.alloc(249, 'x')])));
  const large = Array.from({ length: 140 }, (_, i): RR => {
    const rdata = new Uint8Array(octets);
    rdata[1] = i;
    return { owner: parseName(`large.${ZONE}.`), type: Type.txt, ttl: 300, rdata };
  });
  await t.rejects(apply([], rowsOf(ctx, large), 3), { message: /the TXT records of large\.in\.test take \d+ octets/ });
  t.match(findZone(ctx.store, seq), { record_count: 220, serial: 3 });
});

t.test('sizes of very many RRsets', async (t) => {
  const { ctx, seq, countLooks } = await start(t);
  const { take, release } = createCollection(ctx, findZone(ctx.store, seq)!, createProofRoom(1));
  // Each comes three times, and is stored once: it may be too large until it is looked at.
  const rdata = new Uint8Array(44_000);
  const records = Array.from({ length: 180 }, (_, i) => ({ ...host(i % 60), type: 65_400, class: 1, rdata }));
  const looks = await countLooks(() => take(records));
  t.ok(looks > 450, `${looks} looks`);
  await release();
});

/** The largest number of rows that one write has changed. */
function watchWrites(t: Test, { store }: Context): () => number {
  let most = 0;
  const { write } = store;
  const watched: typeof write = (work, ...more) =>
    write.call(
      store,
      () => {
        const before = store.writes();
        const value = work();
        most = Math.max(most, store.writes() - before);
        return value;
      },
      ...more,
    ) as ReturnType<typeof write<ReturnType<typeof work>>>;
  store.write = watched;
  t.teardown(() => void (store.write = write));
  return () => most;
}

const NAMES = 350;

for (const denial of [
  { kind: 'nsec' },
  { kind: 'nsec3', iterations: 0, salt: Uint8Array.of(7), optOut: false },
] as const) {
  t.test(`a version that its primary has signed with ${denial.kind}`, async (t) => {
    const { ctx, seq, countLooks } = await start(t);
    const ns = { type: Type.ns, ttl: 300, rdatas: [parseName(`ns.${ZONE}.`)] };
    const of = ({ owner, type, ttl, rdata }: RR) => {
      return { ownerKey: ownerKeyOf(owner, APEX), records: [], rrsets: [{ type, ttl, rdatas: [rdata] }] };
    };
    const hosts = Array.from({ length: NAMES }, (_, i) => host(i)).map(of);
    const negative = { type: NEGATIVE_SOA_KEY, ttl: 60, rdatas: [SOA(2).rdata] };
    const apex = { ...of(SOA(2)), rrsets: [...of(SOA(2)).rrsets, negative, ns] };
    const owners = [apex, ...hosts.sort((a, b) => Buffer.compare(a.ownerKey, b.ownerKey))];
    const { text } = signZone(APEX, owners, denial);
    const all = [...readZone({ text }, { origin: APEX }).records()]
      .flat()
      .map(({ ttl = 0, ...record }) => ({ ...record, ttl }));
    const isProof = ({ type }: RR): boolean => new Set<number>([Type.rrsig, Type.nsec, Type.nsec3]).has(type);
    const others = all.filter((record) => !isProof(record) && record.type !== Type.soa);

    const packer = new RowPacker();
    for (const row of rowsOf(ctx, others)) packer.add(row);
    const { set, store } = await beginStaging(ctx);
    const records = await store(packer.take());
    const zone = findZone(ctx.store, seq)!;
    const mostRows = watchWrites(t, ctx);
    const version = { soa: SOA(2), noted: { serial: 2 }, set, records, over: 1 };
    const proofs = all.filter((record) => isProof(record) || record.type === Type.soa);
    let signed: Awaited<ReturnType<typeof readSignedVersion>> = [];
    const ofReading = await countLooks(async () => (signed = await readSignedVersion(ctx, zone, set, proofs)));
    const ofApplying = await countLooks(() => applyVersion(ctx, seq, { ...version, signed }));
    t.ok(ofReading > NAMES, `${ofReading} looks`);
    t.ok(ofApplying > NAMES, `${ofApplying} looks`);
    t.ok(mostRows() < NAMES, `${mostRows()} rows in one write`);
    t.equal(countSignedOwners(ctx.store, seq), NAMES + 1);
    requireVerified({ ctx, seq, apex: ZONE }, 'the transfer');
  });
}
