/** Zones from a primary that does what a test says: right, wrong and silent ones, and what is served and said afterwards. */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { createEngine } from '../../src/answer/engine.js';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { createClient, Transport } from '../../src/answer/transport.js';
import { type Clock, SystemClock } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import { signingJob } from '../../src/control/dnssec/job.js';
import { createZoneKeys } from '../../src/control/dnssec/zone-keys.js';
import { OPERATOR } from '../../src/control/guard/actor.js';
import { type Context, DEFAULT_LIMITS } from '../../src/control/kernel/context.js';
import { createRecord, deleteRecord, listRecords } from '../../src/control/records/records.js';
import {
  createIncoming,
  forceTransfer,
  getIncoming,
  getIncomingStatus,
  replaceIncoming,
} from '../../src/control/secondary/incoming.js';
import { createPeer } from '../../src/control/secondary/peers.js';
import { expireZone } from '../../src/control/secondary/transferred.js';
import { createTsig } from '../../src/control/secondary/tsigs.js';
import { editDnsSettings } from '../../src/control/zones/dns-settings.js';
import { createZone, deleteZone, editZone } from '../../src/control/zones/zones.js';
import { EdnsOption, Type } from '../../src/dns/codes.js';
import { findOption, readLaterMessage, readMessage } from '../../src/dns/message.js';
import { parseName } from '../../src/dns/name.js';
import type { TsigKey } from '../../src/dns/tsig.js';
import { explain } from '../../src/explain/explain.js';
import { ImageWriter } from '../../src/image/writer.js';
import { createFollower } from '../../src/publish/follow.js';
import { createZoneSource } from '../../src/publish/source.js';
import { servingZone } from '../../src/serving/zone.js';
import { findDnssecZone } from '../../src/store/dnssec/zones.js';
import { findChange, lastChange } from '../../src/store/log/changes.js';
import { findIncoming, noteIncoming } from '../../src/store/secondary/incoming.js';
import { findZone, findZoneByName } from '../../src/store/zones/zones.js';
import { type FetchOrder, fetchZone } from '../../src/transfer/in/fetch.js';
import { createIncomingCounts } from '../../src/transfer/in/metrics.js';
import { createProofRoom } from '../../src/transfer/in/proof-room.js';
import type { RefreshParts } from '../../src/transfer/in/refresh.js';
import { wholeZone } from '../../src/transfer/out/content.js';
import { fileKeys } from '../../src/vault/master-key.js';
import { unlockVault } from '../../src/vault/unlock.js';
import { startControl } from '../control/fixture.js';
import { makeQuery } from '../support/message.js';
import { refreshZone } from '../support/refresh-zone.js';
import {
  type Asked,
  address,
  type Say,
  type ScriptedPrimary,
  type ScriptedRR,
  soa,
  startScriptedPrimary,
} from '../support/scripted-primary.js';
import { requireVerified } from '../support/signed-copy.js';
import { enableSigning } from '../support/signing.js';
import { TestClock } from '../support/test-clock.js';

const ZONE = 'in.test';
const QUESTION = { name: parseName(`${ZONE}.`), type: Type.axfr, class: 1 };
const SECRET = Buffer.from('0123456789abcdef0123456789abcdef');
const KEY: TsigKey = { name: parseName('k.test.'), algorithm: 'hmac-sha256', secret: new Uint8Array(SECRET) };
const SOA = (serial: number): ScriptedRR => soa(ZONE, serial);
const NS: ScriptedRR = [`${ZONE}.`, 300, Type.ns, parseName(`ns.${ZONE}.`)];
const HOST = (name: string, last: number, ttl?: number): ScriptedRR => address(`${name}.${ZONE}.`, last, ttl);
const BASE = [NS, HOST('ns', 1), HOST('a', 2), HOST('b', 3)];

interface World {
  readonly ctx: Context;
  readonly parts: RefreshParts;
  readonly primaries: readonly ScriptedPrimary[];
  readonly primary: ScriptedPrimary;
  readonly zoneId: string;
  readonly seq: number;
  /** Checks the zone now; resolves to what is said of it. */
  check(all?: boolean): ReturnType<typeof getIncomingStatus>;
  /** Owners and contents of the zone. */
  records(): Promise<string[]>;
}

interface Options {
  readonly key?: boolean;
  readonly ixfr?: boolean;
  readonly primaries?: number;
  readonly limit?: number;
}

async function start(t: Test, { key = false, ixfr = true, primaries: count = 1, limit }: Options = {}): Promise<World> {
  const limits = limit === undefined ? DEFAULT_LIMITS : { ...DEFAULT_LIMITS, recordsPerZone: limit };
  const { ctx: fixture, directory } = await startControl(t, { limits });
  // Sockets do not stand still.
  const ctx: Context = { ...fixture, clock: new SystemClock(), random: systemRandom };
  const { store } = ctx;
  const keys = fileKeys(join(directory, 'master.key'));
  const purposes = ['check', 'tsig', 'dnssec', 'online'] as const;
  const vault = await unlockVault({ store, keys, random: systemRandom, purposes });
  const account = (await createZone(ctx, { name: 'other.test' })).account.id;
  const tsig = await createTsig(ctx, { vault }, account, {
    name: 'k.test.',
    algo: 'hmac-sha256',
    secret: SECRET.toString('base64'),
  });
  const primaries: ScriptedPrimary[] = [];
  const peers: string[] = [];
  for (let index = 0; index < count; index++) {
    const primary = await startScriptedPrimary(ZONE, key ? KEY : undefined);
    t.teardown(() => primary.close());
    primaries.push(primary);
    const own = { name: `p${index}`, ip: '127.0.0.1', port: primary.port, ixfr_enable: ixfr };
    peers.push((await createPeer(ctx, account, { ...own, tsig_id: key ? tsig.id : null })).id);
  }
  const { id: zoneId } = await createZone(ctx, { name: ZONE, type: 'secondary' });
  await createIncoming(ctx, zoneId, { name: ZONE, peers });
  const { seq } = findZoneByName(store, ZONE)!;
  const { clock, random, log, egress, settings, participants } = ctx;
  const base = { store, clock, random, log, egress, settings, participants };
  const parts: RefreshParts = { base, vault, authorities: undefined, counts: createIncomingCounts() };
  return {
    ctx,
    parts,
    primaries,
    primary: primaries[0]!,
    zoneId,
    seq,
    async check(all = false) {
      await refreshZone(parts, seq, all, new AbortController().signal);
      return getIncomingStatus(ctx, zoneId);
    },
    async records() {
      const { items } = await listRecords(ctx, zoneId, { perPage: 1000 });
      return items
        .map(({ name, type, content, ttl }) => `${name.replace(`.${ZONE}`, '')} ${ttl} ${type} ${content}`)
        .sort();
    },
  };
}

const MUCH_LATER = { checked_at: 1_900_000_000_000_000, expires_at: 2_000_000_000_000_000 };

const whole =
  (serial: number, records: readonly ScriptedRR[]) =>
  (_: Asked, say: Say): void => {
    const all = [SOA(serial), ...records, SOA(serial)];
    for (let i = 0; i < all.length; i += 500) say.message(all.slice(i, i + 500));
  };

t.test(
  'a zone comes whole, in several messages, and then as differences; records that stay keep their rows',
  async (t) => {
    const { ctx, primary, check, records, zoneId, seq } = await start(t, { key: true });
    const { store } = ctx;
    t.equal(findZoneByName(store, ZONE)!.expired, 1, 'nothing is answered before');
    primary.script.serial = 10;
    primary.script.transfer = (_, say) => {
      say.message([SOA(10), NS]);
      say.message([HOST('ns', 1), HOST('a', 2)], { withoutQuestion: true, signature: 'none' });
      say.message([HOST('b', 3), SOA(10)]);
    };
    const first = await check();
    t.match(first, { state: 'current', serial: 10, error: null, primaries: [{ serial: 10, error: null }] });
    t.equal(findZoneByName(store, ZONE)!.expired, 0);
    t.equal(findZoneByName(store, ZONE)!.serial, 10, 'the serial is the primary’s');
    t.same(await records(), [
      'a 300 A 192.0.2.2',
      'b 300 A 192.0.2.3',
      `${ZONE} 300 NS ns.${ZONE}`,
      'ns 300 A 192.0.2.1',
    ]);
    const idsOf = async () => new Map((await listRecords(ctx, zoneId, {})).items.map(({ name, id }) => [name, id]));
    const before = await idsOf();

    primary.script.serial = 12;
    primary.script.transfer = (asked, say) => {
      t.match(asked, { type: Type.ixfr, from: 10 });
      say.message([SOA(12), SOA(10), HOST('a', 2), SOA(11), HOST('a', 2, 60), HOST('c', 4), SOA(11), HOST('c', 4)]);
      say.message([SOA(12), HOST('d', 5), SOA(12)]);
    };
    await check();
    t.same(await records(), [
      'a 60 A 192.0.2.2',
      'b 300 A 192.0.2.3',
      'd 300 A 192.0.2.5',
      `${ZONE} 300 NS ns.${ZONE}`,
      'ns 300 A 192.0.2.1',
    ]);
    const after = await idsOf();
    for (const name of ['a', 'b', 'ns'])
      t.equal(after.get(`${name}.${ZONE}`), before.get(`${name}.${ZONE}`), `the row of ${name}`);
    t.match(
      findChange(store, lastChange(store)),
      { serial_from: 10, serial_to: 12, complete: 1 },
      'one complete change',
    );
    t.equal(findZoneByName(store, ZONE)!.record_count, 5);

    primary.script.serial = 13;
    primary.script.transfer = whole(13, [NS, HOST('ns', 1), HOST('e', 9)]);
    await check();
    t.equal((await records()).length, 3, 'an answer to IXFR may be the whole zone');
    t.equal((await idsOf()).get(`ns.${ZONE}`), before.get(`ns.${ZONE}`));
    t.match(findChange(store, lastChange(store)), { serial_from: 12, serial_to: 13, complete: 1 });

    const asked = primary.asked.length;
    t.match(await check(), { state: 'current', serial: 13 });
    t.equal(primary.asked.length, asked, 'the same serial is not transferred again');
    await forceTransfer(ctx, zoneId);
    await check();
    t.match(primary.asked.at(-1), { type: Type.axfr }, 'unless a person wants it');
    t.equal(findZoneByName(store, ZONE)!.seq, seq);
  },
);

/** What a primary may do wrong, in the words that people read. */
/** A signature of `a` that no key has made. */
const RRSIG: ScriptedRR = [
  `a.${ZONE}.`,
  300,
  Type.rrsig,
  new Uint8Array(
    Buffer.concat([
      Buffer.from([0, 1, 13, 3, 0, 0, 1, 44, 0x7f, 0, 0, 0, 0x60, 0, 0, 0, 0, 7]),
      parseName(`${ZONE}.`),
      Buffer.alloc(64, 1),
    ]),
  ),
];

const LIES: readonly (readonly [
  what: string,
  said: RegExp,
  transfer: (asked: Asked, say: Say) => void | Promise<void>,
])[] = [
  ['no SOA at the beginning', /did not begin with the SOA/, (_, say) => say.message([NS, SOA(20)])],
  [
    'another SOA at the end',
    /first SOA has the serial 20, its last one 21/,
    (_, say) => say.message([SOA(20), NS, SOA(21)]),
  ],
  [
    'the end is missing',
    /closed the connection before the end/,
    (_, say) => {
      say.message([SOA(20), NS]);
      say.socket.end();
    },
  ],
  [
    'the SOA of another zone',
    /sent the SOA of other\.test/,
    (_, say) => say.message([SOA(20), soa('other.test', 20), SOA(20)]),
  ],
  [
    'another question',
    /answered another question/,
    (_, say) => say.message([SOA(20), NS, SOA(20)], { question: 'other.test' }),
  ],
  ['another ID', /answered another question/, (a, say) => say.message([SOA(20), NS, SOA(20)], { id: a.id ^ 1 })],
  ['another class', /class 3/, (_, say) => say.message([SOA(20), NS, SOA(20)], { class: 3 })],
  ['records behind the end', /follow its last SOA/, (_, say) => say.message([SOA(20), NS, SOA(20), HOST('x', 1)])],
  ['a refusal', /answered REFUSED/, (_, say) => say.message([], { rcode: 5 })],
  ['nothing', /answered without records/, (_, say) => say.message([])],
  ['no DNS', /cannot be read/, (_, say) => say.octets(Buffer.alloc(40, 7))],
  ['a frame of two octets', /not DNS/, (_, say) => say.octets(Buffer.from([1, 2]))],
  [
    'a meta type',
    /record of the type/,
    (_, say) => say.message([SOA(20), [`x.${ZONE}.`, 1, 252, new Uint8Array(3)], SOA(20)]),
  ],
  [
    'a wrong signature in the middle',
    /signature/,
    (_, say) => {
      say.message([SOA(20), NS]);
      say.message([HOST('x', 1)], { signature: 'wrong' });
      say.message([SOA(20)]);
    },
  ],
  ['no signature at all', /not signed/, (_, say) => say.message([SOA(20), NS, SOA(20)], { signature: 'none' })],
  [
    'no signature at the end',
    /last message is not signed/,
    (_, say) => {
      say.message([SOA(20), NS]);
      say.message([SOA(20)], { signature: 'none' });
    },
  ],
  [
    'a hundred messages without a signature',
    /100 messages came without a signature/,
    (_, say) => {
      say.message([SOA(20), NS]);
      for (let i = 0; i < 101; i++) say.message([HOST(`x${i}`, 1)], { signature: 'none' });
      say.message([SOA(20)]);
    },
  ],
  [
    'a set that is much larger than a message',
    /the TXT records of many\.in\.test take \d+ octets/,
    (_, say) => {
      say.message([SOA(20)]);
      for (let i = 0; i < 140; i++) {
        const text = Buffer.concat(Array.from({ length: 4 }, () => Buffer.from([250, ...Buffer.alloc(250, i)])));
        say.message([[`many.${ZONE}.`, 300, Type.txt, new Uint8Array(text)]]);
      }
      say.message([SOA(20)]);
    },
  ],
  [
    'a name with records of very many types',
    /many\.in\.test has records of more than 256 types/,
    (_, say) => {
      const of = (i: number) => [`many.${ZONE}.`, 300, 1000 + i, Uint8Array.of(1)] as const;
      say.message([SOA(20), ...Array.from({ length: 257 }, (_, i) => of(i)), SOA(20)]);
    },
  ],
  [
    'signatures without keys',
    /signatures cannot be used/,
    (_, say) => say.message([SOA(20), NS, HOST('ns', 1), HOST('a', 2), RRSIG, SOA(20)]),
  ],
  [
    'no end',
    /more than 3000 records/,
    async (_, say) => {
      say.message([SOA(20)]);
      const [name, many] = ['y'.repeat(60), 200];
      for (let i = 0; !say.socket.destroyed; i++) {
        say.message(Array.from({ length: many }, (_, j) => HOST(`${name}.z${i}-${j}`, 1)));
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  ],
];

t.test('whatever a primary does wrong, the stored version stays and the reason is said', async (t) => {
  const { ctx, primary, check, records, parts } = await start(t, { key: true, limit: 3000 });
  primary.script.serial = 10;
  primary.script.transfer = whole(10, BASE);
  await check();
  const stored = await records();
  primary.script.serial = 20;
  for (const [what, said, transfer] of LIES) {
    primary.script.transfer = transfer;
    const status = await check();
    t.match(status.error, said, what);
    t.equal(status.state, 'failing', what);
    t.match(status.primaries[0]?.error, said);
    t.same(await records(), stored, `after ${what}`);
    t.match(findZoneByName(ctx.store, ZONE), { serial: 10, expired: 0 });
  }
  primary.script.transfer = whole(20, BASE.slice(0, 3));
  t.match(await check(), { state: 'current', serial: 20, error: null }, 'then it is right');
  t.match(
    parts.counts.samples(ctx.store).filter(({ name }) => name === 'secondary_zones'),
    [{ labels: { state: 'current' }, value: 1 }],
  );
  const left = ctx.store.prepareTuples<[], [number]>("SELECT count(*) FROM record_sets WHERE state = 'staged'").get();
  t.same(left, [0], 'no set of records is left over');
});

t.test('the signatures of a transfer take room that all share, until it ends', async (t) => {
  const { ctx, parts, primary, seq } = await start(t);
  const { clock, random, egress } = parts.base;
  const context = { clock, random, egress, signal: new AbortController().signal };
  const own = { address: '127.0.0.1', port: primary.port, by: 'operator', key: undefined, tls: undefined } as const;
  const noted = (): never => t.fail('nothing is stored') as never;
  const order: FetchOrder = {
    zone: findZone(ctx.store, seq)!,
    primary: own,
    from: undefined,
    stored: null,
    since: 0,
    noted,
  };
  primary.script.transfer = whole(20, [...BASE, ...Array.from({ length: 40 }, () => RRSIG)]);
  const room = createProofRoom(100);
  const dropped: string[] = [];
  const enter = (name: string, other = 1) => room.enter(order.zone.account + other, () => dropped.push(name));

  enter('other').add(61);
  await t.rejects(fetchZone(ctx, context, order, room), /signatures cannot be used/, 'it has all of them');
  t.same(dropped, ['other'], 'because the account that had most has lost its room');
  for (const [other, proofs] of [
    [1, 50],
    [2, 11],
  ] as const) {
    const verified = enter('verified', other);
    verified.add(proofs);
    await verified.settle(context.signal);
  }
  await t.rejects(fetchZone(ctx, context, order, room), /more than 100 signatures and proofs at once/);
  enter('later').add(39);
  t.same(dropped, ['other'], 'what has ended takes no room');
});

t.test('differences that do not fit are settled by the whole zone at once', async (t) => {
  const { primary, check, records } = await start(t);
  primary.script.serial = 10;
  primary.script.transfer = whole(10, BASE);
  await check();
  const bad: readonly (readonly [string, readonly ScriptedRR[]])[] = [
    ['removes what is not there', [SOA(10), HOST('x', 1), SOA(20)]],
    ['adds what is there', [SOA(10), SOA(20), HOST('a', 2)]],
    ['has a gap', [SOA(10), HOST('a', 2), SOA(15), SOA(16), SOA(20)]],
  ];
  let serial = 20;
  for (const [what, part] of bad) {
    const [from, to] = [serial - 10 || 10, serial];
    primary.script.serial = to;
    const moved = part.map((record) => (record[2] === Type.soa ? shift(record, from - 10, to) : record));
    primary.script.transfer = (asked, say) =>
      say.message(asked.type === Type.ixfr ? [SOA(to), ...moved, SOA(to)] : [SOA(to), ...BASE, HOST('n', to), SOA(to)]);
    const before = primary.asked.length;
    t.match(await check(), { serial: to, error: null }, what);
    t.same(
      primary.asked.slice(before).map(({ type }) => type),
      [Type.ixfr, Type.axfr],
      what,
    );
    t.ok((await records()).includes(`n 300 A 192.0.2.${to}`));
    serial += 10;
  }
  primary.script.serial = 60;
  primary.script.transfer = (asked, say) => {
    if (asked.type === Type.ixfr) say.message([], { rcode: 4 });
    else say.message([SOA(60), NS, address('x.other.test.', 1), HOST('a', 2), SOA(60)]);
  };
  t.match(await check(), { serial: 60, notice: /1 records outside the zone/ }, 'IXFR is not implemented there');
  t.equal((await records()).length, 2);
});

/** The serials 10 and 20 of a script become others. */
function shift(record: ScriptedRR, by: number, last: number): ScriptedRR {
  const serial = Buffer.from(record[3]).readUInt32BE(record[3].length - 20);
  return SOA(serial === 20 ? last : serial + by);
}

t.test('a primary that went back is not followed; another primary is', async (t) => {
  const { ctx, primaries, check, zoneId } = await start(t, { primaries: 2, ixfr: false });
  const [one, two] = primaries as [ScriptedPrimary, ScriptedPrimary];
  one.script.serial = 0xffff_fff0;
  one.script.transfer = whole(0xffff_fff0, BASE);
  t.match(await check(), { serial: 0xffff_fff0 });
  t.equal(two.questions(), 0, 'the second is not asked when the first answers');
  one.script.serial = 5;
  one.script.transfer = whole(5, BASE);
  t.match(await check(), { serial: 5 }, 'serials go around (RFC 1982)');
  one.script.serial = 4;
  two.script.serial = 4;
  const status = await check();
  t.match(status, { serial: 5, state: 'current', notice: /serial 4, which is older than the 5/ });
  two.script.serial = 7;
  two.script.transfer = whole(7, BASE);
  t.match(await check(), { serial: 7, error: null }, 'the second has a newer version');
  one.script.serial = undefined;
  two.script.serial = 8;
  two.script.transfer = whole(8, BASE);
  await one.close();
  t.match(await check(), { serial: 8, error: /p0: / }, 'the first is away');
  one.script.serial = 1;
  two.script.serial = 3;
  two.script.transfer = whole(3, BASE);
  await forceTransfer(ctx, zoneId);
  t.match(await check(), { serial: 3, notice: null }, 'a person may go back');
  t.equal(findZoneByName(ctx.store, ZONE)!.serial, 9, 'what is served never does');
});

t.test('a zone whose primaries are away expires, and comes back', async (t) => {
  const { ctx, primary, check } = await start(t);
  primary.script.serial = 10;
  const far = soa(ZONE, 10, [300, 300, 3600]);
  primary.script.transfer = (_, say) => say.message([far, ...BASE, far]);
  await check();
  const { store } = ctx;
  await primary.close();
  t.match(await check(), { state: 'failing' });
  t.equal(findZoneByName(store, ZONE)!.expired, 0, 'not yet');
  await store.write(() => {
    store.prepare<[]>('UPDATE zone_incoming SET expires_at = 1000').run();
  });
  t.match(await check(), { state: 'expired' });
  t.equal(findZoneByName(store, ZONE)!.expired, 1);
  const explained = explain(ctx, `a.${ZONE}`, 'A');
  t.equal(explained.answer.rcode, 'SERVFAIL');
  t.match(explained.steps, [{ step: 'zone', detail: /its copy, serial 10, expired at 1970-01-01T.*last check: p0: / }]);
  t.equal(explained.steps.length, 1, 'the records that are stored do not matter');
});

t.test('a node that stood still in a transfer changes nothing when another has taken over meanwhile', async (t) => {
  const { ctx, primary, check, records, seq } = await start(t, { ixfr: false });
  const { store } = ctx;
  primary.script.serial = 10;
  primary.script.transfer = whole(10, BASE);
  await check();
  primary.script.serial = 11;
  primary.script.transfer = async (asked, say) => {
    primary.script.serial = 12;
    primary.script.transfer = whole(12, [...BASE, HOST('newest', 12)]);
    t.match(await check(), { serial: 12 });
    await whole(11, [...BASE, HOST('older', 11)])(asked, say);
  };
  await check();
  t.equal(findIncoming(store, seq)!.serial, 12);
  const names = (await records()).join('\n');
  t.match(names, /newest/);
  t.notMatch(names, /older/);
  t.equal(findZoneByName(store, ZONE)!.expired, 0);
  // It could not reach a primary, and finds the copy expired, which the other node has renewed before it writes.
  await expireZone(ctx, seq);
  t.equal(findZoneByName(store, ZONE)!.expired, 0);
});

t.test('a primary that is taken away while it sends changes nothing, and a forced transfer stays wanted', async (t) => {
  const { ctx, primaries, primary, check, records, zoneId, seq } = await start(t, { primaries: 2 });
  const { store } = ctx;
  primary.script.serial = 10;
  primary.script.transfer = whole(10, BASE);
  await check();
  const { peers } = await getIncoming(ctx, zoneId);
  const other = primaries[1]!;
  other.script.serial = 10;
  const wholly = whole(11, [...BASE, HOST('taken', 11)]);
  const partly = (_: Asked, say: Say): void => say.message([SOA(11), SOA(10), SOA(11), HOST('taken', 11), SOA(11)]);
  for (const sent of [wholly, partly]) {
    await replaceIncoming(ctx, zoneId, { name: ZONE, peers });
    primary.script.serial = 11;
    primary.script.transfer = async (asked, say) => {
      await replaceIncoming(ctx, zoneId, { name: ZONE, peers: [peers[1]!] });
      await sent(asked, say);
    };
    await check();
    t.equal(findIncoming(store, seq)!.serial, 10);
    t.notMatch((await records()).join('\n'), /taken/);
  }
  other.script.serial = 11;
  other.script.transfer = async (asked, say) => {
    await forceTransfer(ctx, zoneId);
    await whole(11, BASE)(asked, say);
  };
  t.match(await check(), { serial: 11 });
  t.equal(findIncoming(store, seq)!.forced, 1, 'it was forced after this one had begun');
});

/** The clock of the world, which the test moves on; timers stay as they are. */
function movable(ctx: Context) {
  let aheadMs = 0;
  const clock: Clock = Object.assign(Object.create(ctx.clock) as Clock, {
    nowMs: () => ctx.clock.nowMs() + aheadMs,
    nowUs: () => ctx.clock.nowUs() + aheadMs * 1000,
  });
  return { clock, move: (ms: number) => void (aheadMs += ms) };
}

t.test('a primary that is down for a day is asked less and less often, until the copy expires', async (t) => {
  const { ctx, parts, primary, check, seq } = await start(t);
  primary.script.serial = 10;
  const own = soa(ZONE, 10, [3600, 900, 86_400]);
  primary.script.transfer = (_, say) => say.message([own, ...BASE, own]);
  await check();
  await primary.close();
  const { clock, move } = movable(ctx);
  const later = { ...parts, base: { ...parts.base, clock } };
  const expiresAt = findIncoming(ctx.store, seq)!.expires_at! / 1000;
  const waits: number[] = [];
  while (findZoneByName(ctx.store, ZONE)!.expired === 0) {
    t.ok(clock.nowMs() < expiresAt + 1000, 'it is served no longer than that');
    const nextMs = await refreshZone(later, seq, false, new AbortController().signal);
    waits.push(Math.round((nextMs! - clock.nowMs()) / 1000));
    move(nextMs! - clock.nowMs());
  }
  t.same(waits.slice(0, 6), [60, 120, 240, 480, 900, 900], 'twice as long each time, up to RETRY');
  t.ok(clock.nowMs() >= expiresAt, 'and no shorter');
  t.match(findIncoming(ctx.store, seq), { serial: 10, failures: waits.length });
});

t.test('clocks that are an hour apart are said, with both times', async (t) => {
  const { ctx, parts, primary, seq } = await start(t, { key: true });
  primary.script.serial = 10;
  primary.script.transfer = whole(10, BASE);
  const { clock, move } = movable(ctx);
  move(3_600_000);
  await refreshZone({ ...parts, base: { ...parts.base, clock } }, seq, true, new AbortController().signal);
  const { error, serial } = findIncoming(ctx.store, seq)!;
  t.match(error, /its clock is different: it says 20\S+, here it is 20\S+/);
  t.equal(serial, null, 'nothing is taken');
});

t.test('explain says that nothing was transferred yet', async (t) => {
  const { ctx } = await start(t);
  const { steps, answer } = explain(ctx, `a.${ZONE}`, 'A');
  t.equal(answer.rcode, 'SERVFAIL');
  t.match(steps, [{ detail: /nothing was transferred from a primary yet/ }]);
});

t.test('the option EXPIRE has the time that is left (RFC 7314 §4)', async (t) => {
  const { ctx, primary, check, zoneId } = await start(t);
  const { store, settings, log } = ctx;
  const clock = new TestClock();
  const writer = new ImageWriter({ seed: 7 });
  const follower = createFollower({ source: createZoneSource(store, settings), writer, clock, log });
  follower.loadAll();
  const answer = createEngine(writer.reader, DEFAULT_ENGINE_SETTINGS);
  /** The option in the answer a number of seconds from now; undefined without it. */
  const left = (name: string, later: number | undefined): number | undefined => {
    do follower.catchUp();
    while (follower.hasWork());
    const query = makeQuery(parseName(`${name}.`), Type.soa, {
      edns: 1232,
      options: Buffer.of(0, EdnsOption.expire, 0, 0),
    });
    const client = later === undefined ? undefined : { ...createClient(), seconds: later };
    const out = new Uint8Array(4096);
    const length = answer(query, 0, query.length, out, 0, out.length, Transport.tcp, client);
    const option = findOption(readMessage(out.slice(0, length))!, EdnsOption.expire);
    return option && Buffer.from(option).readUInt32BE(0);
  };
  const far = soa(ZONE, 10, [300, 300, 7200]);
  primary.script.serial = 10;
  primary.script.transfer = (_, say) => say.message([far, ...BASE, far]);
  await check();
  const expiresAt = (): number => Math.floor(findIncoming(store, findZoneByName(store, ZONE)!.seq)!.expires_at! / 1e6);
  const first = expiresAt();
  t.equal(left(ZONE, first - 7000), 7000);
  t.equal(left(ZONE, first - 1), 1);
  t.equal(left(ZONE, first + 5), 0, 'no time is left');
  t.equal(left(ZONE, undefined), undefined, 'without a clock it is not known');
  await store.write(() => noteIncoming(store, findZoneByName(store, ZONE)!.seq, MUCH_LATER));
  t.equal(left(ZONE, first), 1_000_000_000 - first + 1_000_000_000, 'a check that brought no change counts, too');
  t.equal((await editZone(ctx, zoneId, { type: 'full' })).type, 'full');
  t.equal(left(ZONE, first), 7200, 'a primary answers what its SOA says');
});

t.test('records of a secondary zone cannot be edited; as a full zone it keeps them', async (t) => {
  const { ctx, primary, check, records, zoneId } = await start(t);
  primary.script.serial = 10;
  primary.script.transfer = whole(10, BASE);
  await check();
  const refused = await createRecord(ctx, zoneId, { type: 'A', name: 'new', content: '192.0.2.9' }).catch(
    (error) => error,
  );
  t.match(refused, { key: 'records.ofPrimary', status: 400 });
  t.equal((await records()).length, 4);
  t.equal((await editZone(ctx, zoneId, { type: 'full' })).type, 'full');
  await createRecord(ctx, zoneId, { type: 'A', name: 'new', content: '192.0.2.9' });
  t.equal((await records()).length, 5);
  await deleteZone({ ...ctx, actor: OPERATOR }, zoneId);
});

t.test('records that were made here stay beside those of the primary, also when both are the same', async (t) => {
  const { ctx, primary, check, records, zoneId, seq } = await start(t);
  const { store } = ctx;
  const make = (name: string, content: string, proxied = true) =>
    createRecord(ctx, zoneId, { type: 'A', name, content, proxied, ttl: 1 });
  const count = () => findZoneByName(store, ZONE)!.record_count;
  let serial = 10;
  /** A version of the zone: as a whole, or as differences. */
  const send = async (said: readonly ScriptedRR[], difference?: readonly [ScriptedRR[], ScriptedRR[]]) => {
    const before = serial++;
    primary.script.serial = serial;
    const [removed, added] = difference ?? [[], []];
    primary.script.transfer = difference
      ? (_, say) => say.message([SOA(serial), SOA(before), ...removed, SOA(serial), ...added, SOA(serial)])
      : whole(serial, said);
    const state = await check();
    t.match(state, { state: 'current', serial, error: null });
    t.equal(count(), (await listRecords(ctx, zoneId, {})).totalCount, 'the number of records is right');
  };
  await send(BASE);
  await t.rejects(make('a', '192.0.2.9'), { key: 'records.ofPrimary' } as never, 'not without the setting');
  await editDnsSettings(ctx, zoneId, { secondary_overrides: true });
  await t.rejects(make('a', '192.0.2.9', false), { key: 'records.ofPrimary' } as never, 'only proxied ones');
  const own = await make('a', '192.0.2.9');
  const shown = [
    'a 1 A 192.0.2.9',
    'a 300 A 192.0.2.2',
    'b 300 A 192.0.2.3',
    'in.test 300 NS ns.in.test',
    'ns 300 A 192.0.2.1',
  ];
  t.same(await records(), shown);

  primary.script.serial = serial + 1;
  primary.script.transfer = whole(serial + 1, [...BASE, RRSIG]);
  const why = /it is signed, but has records that were made here \(secondary_overrides\); delete them first/;
  t.match(await check(), { state: 'failing', serial, error: why }, 'a version with signatures');
  t.same(await records(), shown, 'the version before stays');

  await send([...BASE, HOST('a', 9)]);
  t.same(await records(), shown, 'the whole zone: the primary has the same record now');
  await send(BASE, [[HOST('a', 9)], [HOST('c', 5)]]);
  t.same(await records(), [...shown.slice(0, 3), 'c 300 A 192.0.2.5', ...shown.slice(3)], 'it goes there again');
  await send(BASE, [[HOST('c', 5)], [HOST('a', 9)]]);
  t.same(await records(), shown, 'and comes again');
  t.equal(primary.asked.at(-1)?.type, Type.ixfr, 'differences were enough');

  const many = Array.from({ length: 6000 }, (_, i) => HOST(`h${i}`, i % 250));
  await send([...BASE, HOST('a', 9), ...many]);
  const kept = (await records()).filter((line) => !line.startsWith('h'));
  t.same(kept, shown.slice(0, 3), 'so many changes give the zone another set, which gets the record');
  t.equal((await listRecords(ctx, zoneId, { name: { exact: `a.${ZONE}` } })).items.length, 2);

  await deleteRecord(ctx, zoneId, own.id);
  t.match(
    store.prepare<[]>("SELECT 1 FROM jobs WHERE kind = 'zone_notified'").get(),
    {},
    'the primary is asked at once',
  );
  primary.script.transfer = whole(serial, [...BASE, HOST('a', 9)]);
  t.match(await check(), { serial, state: 'current' });
  t.ok((await records()).includes('a 300 A 192.0.2.9'), 'now the one of the primary shows');
  t.equal(findIncoming(store, seq)!.forced, 0);
});

t.test('a large zone is stored in parts and given to the zone at once', async (t) => {
  const { ctx, primary, check } = await start(t, { key: true });
  const send = (serial: number, count: number) => (_: Asked, say: Say) => {
    say.message([SOA(serial), ...BASE]);
    for (let i = 0; i < count; i += 500) {
      say.message(Array.from({ length: 500 }, (_, j) => HOST(`h${i + j}`, (i + j + serial) % 250)));
    }
    say.message([SOA(serial)]);
  };
  primary.script.serial = 1;
  primary.script.transfer = send(1, 8000);
  t.match(await check(), { serial: 1, error: null });
  t.equal(findZoneByName(ctx.store, ZONE)!.record_count, 8004);
  primary.script.serial = 2;
  primary.script.transfer = send(2, 7000);
  t.match(await check(), { serial: 2, error: null });
  t.equal(findZoneByName(ctx.store, ZONE)!.record_count, 7004);
  t.match(findChange(ctx.store, lastChange(ctx.store)), { serial_from: 1, serial_to: 2 });
});

t.test('a large version of a zone that is signed here is signed before the zone gets it', async (t) => {
  const { ctx: plain, parts, primary, zoneId, seq } = await start(t);
  const { store } = plain;
  const zoneKeys = createZoneKeys(() => parts.vault);
  const ctx: Context = { ...plain, zoneKeys };
  const base = { ...parts.base, zoneKeys };
  const send = async (serial: number): Promise<void> => {
    primary.script.serial = serial;
    primary.script.transfer = whole(serial, [
      ...BASE,
      ...Array.from({ length: 5100 }, (_, i) => HOST(`h${i}`, (i + serial) % 250)),
    ]);
    await refreshZone({ ...parts, base }, seq, false, new AbortController().signal);
    t.match(await getIncomingStatus(ctx, zoneId), { state: 'current', serial, error: null });
  };
  await send(1);
  await editDnsSettings(ctx, zoneId, { secondary_overrides: true });
  await enableSigning(ctx, zoneId);
  const { log, clock } = ctx;
  const job = { store, clock, log, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  while (findDnssecZone(store, seq)!.phase !== 'signed') await signingJob(ctx).handler(job, zoneId);
  // Its proxied addresses stand beside those of the primary.
  await createRecord(ctx, zoneId, { type: 'A', name: 'h7', content: '192.0.2.9', proxied: true, ttl: 1 });
  await createRecord(ctx, zoneId, { type: 'A', name: 'ours', content: '192.0.2.9', proxied: true, ttl: 1 });
  const { signature_set: set, record_set: records } = {
    ...findDnssecZone(store, seq)!,
    ...findZoneByName(store, ZONE)!,
  };
  await send(2);
  t.not(findZoneByName(store, ZONE)!.record_set, records, 'the zone gets another set of records');
  t.not(findDnssecZone(store, seq)!.signature_set, set, 'and its signatures');
  requireVerified({ ctx, seq, apex: ZONE }, 'the second version');
  const names = (await listRecords(ctx, zoneId, { perPage: 6000 })).items;
  t.equal(names.filter(({ proxied }) => proxied).length, 2);
});

t.test('a zone of one record, and records and sets as large as messages', async (t) => {
  const { ctx, primary, check, seq } = await start(t, { key: true });
  const { store } = ctx;
  primary.script.serial = 1;
  primary.script.transfer = whole(1, []);
  t.match(await check(), { state: 'current', serial: 1, error: null }, 'only the SOA');
  t.equal(findZoneByName(store, ZONE)!.record_count, 0);

  const octets = (length: number): Uint8Array => new Uint8Array(length).fill(7);
  // Fills a message without question and without signature.
  const fixed = 12 + parseName(`large.${ZONE}.`).length + 10;
  const large: ScriptedRR = [`large.${ZONE}.`, 300, 65_400, octets(65_535 - fixed)];
  const many = Array.from({ length: 300 }, (_, i): ScriptedRR => {
    const text = Buffer.from(`${i} `.padEnd(250, 'x'));
    return [`many.${ZONE}.`, 300, Type.txt, new Uint8Array([text.length, ...text])];
  });
  primary.script.serial = 2;
  primary.script.transfer = (_, say) => {
    say.message([SOA(2), NS, HOST('ns', 1)]);
    say.message([large], { withoutQuestion: true, signature: 'none' });
    say.message(many.slice(0, 200));
    say.message([...many.slice(200), HOST('a', 2)]);
    say.message([SOA(2)]);
  };
  t.match(await check(), { state: 'current', serial: 2, error: null });
  t.equal(findZoneByName(store, ZONE)!.record_count, 304);
  const messages = store.snapshot(() => [...wholeZone(store, servingZone(store, findZone(store, seq)!, ctx.settings))]);
  const sent = messages.flatMap((message) => readLaterMessage(message, QUESTION)!.answers);
  t.equal(sent.length, 306, 'others get all of it');
  t.same(sent.find(({ type }) => type === 65_400)?.rdata, large[3]);
  t.ok(messages.every(({ length }) => length <= 65_535));
});
