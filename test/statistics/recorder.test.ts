/** What zones were asked is stored by the hour and the day, in rows of bounded size. */
import t, { type Test } from 'tap';
import { Tallied } from '../../src/answer/observation.js';
import { createAccount } from '../../src/control/access/accounts.js';
import { createZone, deleteZone } from '../../src/control/zones/zones.js';
import { Rcode, Type } from '../../src/dns/codes.js';
import type { TalliedName, ZoneTally } from '../../src/observe/tally.js';
import { readDetail, STORED } from '../../src/statistics/detail.js';
import { startStatistics } from '../../src/statistics/recorder.js';
import { DAY, HOUR, putQueries, queriesBetween } from '../../src/store/zones/queries.js';
import { findZoneByName } from '../../src/store/zones/zones.js';
import { startZone } from '../control/fixture.js';

const tally = (zone: string, names: TalliedName[], networks: ZoneTally['networks'] = []): ZoneTally => {
  return { zone, total: names.reduce((sum, [, , count]) => sum + count, 0), names, networks };
};
const MISSING = Type.a | (Rcode.nxDomain << Tallied.rcodeShift);
const APEX = 'example.com';

async function startWorld(t: Test) {
  const world = await startZone(t);
  const { ctx, clock } = world;
  const statistics = startStatistics(ctx);
  const { seq } = findZoneByName(ctx.store, APEX)!;
  const rows = (span: number) =>
    queriesBetween(ctx.store, seq, span, 0, 2 ** 40).map(({ begins, total, detail }) => ({
      begins,
      ...readDetail(total, detail),
    }));
  const add = (...tallies: ZoneTally[]): void => statistics.add({ atMs: clock.nowMs(), tallies });
  return { ...world, statistics, rows, add, seq };
}

t.test('counts of two nodes add up, by the hour and by the day', async (t) => {
  const { ctx, clock, statistics, rows, add, seq } = await startWorld(t);
  const other = startStatistics(ctx);
  add(tally(APEX, [['www.example.com', Type.a, 3]], [['192.0.2.0/24', 3]]), tally('example.net', [['', MISSING, 1]]));
  other.add({
    atMs: clock.nowMs(),
    tallies: [
      tally(APEX, [
        ['www.example.com', Type.a, 2],
        ['', MISSING, 1],
      ]),
    ],
  });
  t.equal(statistics.pendingOf(seq)[0]!.detail.total, 3);
  await Promise.all([statistics.close(), other.close()]);
  t.strictSame(statistics.pendingOf(seq), []);
  for (const span of [HOUR, DAY]) {
    const found = rows(span);
    t.equal(found.length, 1);
    t.match(found[0], { begins: Math.floor(clock.nowMs() / 1000 / span) * span, total: 6 });
    t.strictSame(
      [...found[0]!.names].sort(),
      [
        [`${MISSING} `, 1],
        [`${Type.a} www.example.com`, 5],
      ].sort(),
    );
    t.strictSame([...found[0]!.networks], [['192.0.2.0/24', 3]]);
  }
});

t.test('rows are bounded, whatever is asked, and their sums stay whole', async (t) => {
  const { statistics, rows, add, ctx, seq } = await startWorld(t);
  for (let round = 0; round < 20; round++) {
    const names: TalliedName[] = [['www.example.com', Type.aaaa, 1000]];
    for (let i = 0; i < 200; i++)
      names.push([i % 2 ? `n${round}-${i}.example.com` : '', 1 + i + ((i % 4) << Tallied.rcodeShift), 1]);
    add(
      tally(
        APEX,
        names,
        Array.from({ length: 300 }, (_, i) => [`10.${round}.${i}.0/24`, 1]),
      ),
    );
  }
  await statistics.close();
  const [row] = rows(HOUR);
  t.equal(row!.total, 20 * 1200);
  t.equal(
    [...row!.names.values()].reduce((sum, count) => sum + count, 0),
    row!.total,
    'nothing was lost',
  );
  t.equal(row!.names.get(`${Type.aaaa} www.example.com`), 20_000);
  t.ok(row!.names.size <= STORED.names + 64, `${row!.names.size} names`);
  t.equal(row!.networks.size, STORED.networks);
  const [stored] = queriesBetween(ctx.store, seq, HOUR, 0, 2 ** 40);
  t.ok(stored!.detail.length < 10_000);
});

t.test('old rows go, an hour and a day at a time', async (t) => {
  const { ctx, clock, statistics, rows, add, seq } = await startWorld(t);
  const now = Math.floor(clock.nowMs() / 1000 / DAY) * DAY;
  const put = (span: number, begins: number) =>
    putQueries(ctx.store, { zone: seq, span, begins, total: 1, detail: '{"names":[],"networks":[]}' });
  await ctx.store.write(() => {
    for (let day = 0; day < 36; day++) put(DAY, now - day * DAY);
    for (let hour = 0; hour < 102; hour++) put(HOUR, now - hour * HOUR);
    put(DAY, now + 30 * DAY);
  });
  for (let half = 0; half < 24; half++) {
    add(tally(APEX, [['', MISSING, 1]]));
    await statistics.close();
    clock.advance(HOUR * 500);
  }
  t.ok(rows(DAY).length <= 35 && rows(DAY).every(({ begins }) => begins <= now + DAY), `${rows(DAY).length} days`);
  t.ok(rows(HOUR).length <= 4 * 24 + 2, `${rows(HOUR).length} hours`);
});

for (const years of [10, -10]) {
  t.test(`a clock that is wrong by ${years} years for an hour takes little with it`, async (t) => {
    const { clock, statistics, rows, add } = await startWorld(t);
    for (let hour = 0; hour < 10; hour++) {
      add(tally(APEX, [['', MISSING, 1]]));
      await statistics.close();
      clock.advance(HOUR * 1000);
    }
    clock.putBack(-years * 365 * DAY * 1000);
    for (let time = 0; time < 12; time++) {
      add(tally(APEX, [['', MISSING, 1]]));
      await statistics.close();
      clock.advance(300_000);
    }
    clock.putBack(years * 365 * DAY * 1000);
    const begin = clock.nowMs() / 1000 - 20 * HOUR;
    t.ok(rows(HOUR).filter(({ begins }) => Math.abs(begins - begin) < 30 * HOUR).length >= 7);
  });
}

t.test('what is stored at a time is bounded, in turns by account, and the rest comes later', async (t) => {
  const { ctx, clock, rows } = await startWorld(t);
  const { id: account } = await createAccount(ctx, { name: 'Other', members: ['other@example.org'] });
  const many = Array.from({ length: 60 }, (_, i) => `z${i}.test`);
  for (const name of many) await createZone(ctx, { name, account });
  let regular = 0;
  let hasOwn = false;
  const store = Object.assign(Object.create(ctx.store) as typeof ctx.store, {
    async write(work: () => number, timeoutMs?: number) {
      if (timeoutMs !== undefined) hasOwn ||= rows(HOUR).length > 0 && regular === 2;
      else regular += 1;
      return (await ctx.store.write(work)) + (2 << 20);
    },
  });
  const statistics = startStatistics({ ...ctx, store });
  const tallies = [...many, APEX].map((zone) => tally(zone, [['', MISSING, 1]]));
  statistics.add({ atMs: clock.nowMs(), tallies });
  clock.advance(300_000);
  await statistics.close();
  t.equal(regular, 2, 'of four');
  t.ok(hasOwn, 'the zone of the other account was among the first');
  t.equal(ctx.store.prepareTuples<[], [number]>('SELECT count(*) FROM zone_queries').get()![0], 2 * 61);
});

t.test('what cannot be stored is stored later, and a zone that is gone takes nothing with it', async (t) => {
  const { ctx, clock, rows, zoneId } = await startWorld(t);
  let isFull = true;
  const store = Object.assign(Object.create(ctx.store) as typeof ctx.store, {
    write: (work: () => unknown) => (isFull ? Promise.reject(new Error('disk full')) : ctx.store.write(work)),
  });
  const statistics = startStatistics({ ...ctx, store });
  statistics.add({ atMs: clock.nowMs(), tallies: [tally(APEX, [['', MISSING, 1]])] });
  await statistics.close();
  t.equal(rows(HOUR).length, 0);
  isFull = false;
  statistics.add({ atMs: clock.nowMs(), tallies: [tally(APEX, [['', MISSING, 2]])] });
  await statistics.close();
  t.equal(rows(HOUR)[0]!.total, 3);
  statistics.add({ atMs: clock.nowMs(), tallies: [tally(APEX, [['', MISSING, 2]])] });
  await deleteZone(ctx, zoneId);
  await statistics.close();
  t.equal(ctx.store.prepareTuples<[], [number]>('SELECT count(*) FROM zone_queries').get()![0], 0);
});

t.test('long names take no more room than short ones', async (t) => {
  const { statistics, rows, add, ctx, seq } = await startWorld(t);
  const long = (i: number): string => `${String(i).padStart(4, '0')}${'\\000'.repeat(200)}.example.com`;
  add(
    tally(
      APEX,
      Array.from({ length: 500 }, (_, i): TalliedName => [long(i), Type.a, 1 + i]),
    ),
  );
  t.ok(JSON.stringify([...statistics.pendingOf(seq)[0]!.detail.names]).length < 50_000);
  await statistics.close();
  const [stored] = queriesBetween(ctx.store, seq, HOUR, 0, 2 ** 40);
  t.ok(stored!.detail.length < 10_000, `${stored!.detail.length} characters`);
  const [row] = rows(HOUR);
  t.equal(row!.names.get(`${Type.a} ${long(499)}`), 500, 'the name that was asked most is told');
  t.equal(
    [...row!.names.values()].reduce((sum, count) => sum + count, 0),
    row!.total,
    'nothing was lost',
  );
});

t.test('accounts with many zones take none of the room of others', async (t) => {
  const { ctx, clock, seq } = await startWorld(t);
  const { account } = findZoneByName(ctx.store, APEX)!;
  const names = Array.from({ length: 3000 }, (_, i) => `z${i}.test`);
  let scans = 0;
  // Zones of five accounts that are not in the store.
  const store = Object.assign(Object.create(ctx.store) as typeof ctx.store, {
    prepare(sql: string) {
      const statement = ctx.store.prepare<[name: string], unknown>(sql);
      if (!/FROM zones WHERE name = /.test(sql)) return statement;
      return {
        get(name: string) {
          const i = names.indexOf(name);
          return i < 0 ? statement.get(name) : { seq: 1_000_000 + i, account: 1_000_000 + (i % 5), served: 1 };
        },
      };
    },
    prepareTuples(sql: string) {
      const statement = ctx.store.prepareTuples<number[], number[]>(sql);
      if (!/FROM zone_queries q/.test(sql)) return statement;
      const counted = (values: number[]): number[] => {
        scans++;
        return values;
      };
      return {
        get: (...values: number[]) => statement.get(...counted(values)),
        all: (...values: number[]) => statement.all(...counted(values)),
      };
    },
  });
  const statistics = startStatistics({ ...ctx, store });
  const tallies = names.map((zone) => tally(zone, [['', MISSING, 9]]));
  statistics.add({ atMs: clock.nowMs(), tallies });
  statistics.add({ atMs: clock.nowMs(), tallies: [...tallies, tally(APEX, [['', MISSING, 1]])] });
  t.match(statistics.pendingOf(seq), [{ account, detail: { total: 1 } }]);
  const kept = names.filter((_, i) => statistics.pendingOf(1_000_000 + i).length > 0).length;
  t.equal(kept, 1999);
  t.equal(scans, 1, 'the rows of an hour are looked through once');
});
