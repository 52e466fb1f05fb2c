/** Events of very large edits: stored before the edit, appended after it, and never lost. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { printEntry } from '../../../src/cluster/recent-entries.js';
import { createAccount } from '../../../src/control/access/accounts.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { FEW_EVENTS, tellStaged } from '../../../src/control/kernel/staged-edits.js';
import { unusedRecordsJobs } from '../../../src/control/kernel/unused-records.js';
import { applyBatch, type BatchInput } from '../../../src/control/records/batch.js';
import { createRecord, deleteRecord, listRecords } from '../../../src/control/records/records.js';
import { createZone, deleteZone } from '../../../src/control/zones/zones.js';
import { LogUnavailable } from '../../../src/store/failures.js';
import { pruneEdits } from '../../../src/store/log/edits.js';
import type { EventRow } from '../../../src/store/log/events.js';
import { selectEvents } from '../../../src/store/log/events-query.js';
import type { Entry } from '../../../src/store/recording.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { runCommand } from '../../support/commands.js';
import { openOneCopy, openTwoCopies } from '../../support/two-copies.js';
import { refusal, startControl } from '../fixture.js';

/** More events than a write appends itself. */
const MANY = FEW_EVENTS + 20;

/** Parts of them that a write appends at most. */
const FEW_PARTS = 16;

function posts(count: number): BatchInput['posts'] {
  return Array.from({ length: count }, (_, i) => {
    return { type: 'A', name: `n${i}`, content: `192.0.${i >> 8}.${i & 255}`, comment: 'same' };
  });
}

const countStaged = ({ store }: Context): number =>
  store.prepareTuples<[], [number]>('SELECT count(*) FROM staged_events').get()![0];

/** All events about records, as they happened. */
function told({ store }: Context): EventRow[] {
  const conditions = [{ sql: "e.kind LIKE 'record.%'", params: [] }];
  return selectEvents(store, { conditions, direction: 'asc', limit: 10_000, offset: 0 });
}

t.test('a very large batch has the same events as small ones', async (t) => {
  const { ctx } = await startControl(t);
  const { id } = await createZone(ctx, { name: 'events.test' });
  const { id: other } = await createZone(ctx, { name: 'other.test' });
  const by = { ...ctx, address: '192.0.2.77', requestId: 'large' };
  const patchesOf = async (zone: string): Promise<BatchInput> => {
    const { items } = await listRecords(ctx, zone, { perPage: MANY });
    const [first, ...rest] = items;
    return { deletes: [first!], patches: rest.map(({ id }, i) => ({ id, ttl: 60 + i, comment: i % 2 ? 'odd' : '' })) };
  };
  await applyBatch(by, id, { posts: posts(MANY) });
  await applyBatch(by, id, await patchesOf(id));
  const before = told(ctx).length;
  t.equal(before, 2 * MANY);
  t.equal(countStaged(ctx), 0);
  for (let at = 0; at < MANY; at += 100) await applyBatch(by, other, { posts: posts(MANY)!.slice(at, at + 100) });
  const { deletes, patches } = await patchesOf(other);
  await applyBatch(by, other, { deletes, patches: patches!.slice(0, 99) });
  for (let at = 99; at < MANY; at += 100) await applyBatch(by, other, { patches: patches!.slice(at, at + 100) });
  const plain = (rows: readonly object[]): unknown[] =>
    rows.map((row) => {
      const { seq: _, at_us: __, change, subject, zone, ...rest } = row as Record<string, unknown>;
      const text = JSON.stringify(rest)
        .replaceAll(/other\.test|events\.test/g, 'zone')
        .replaceAll(/[0-9a-f]{32}|\d{16}/g, '');
      return [typeof change, toHex(subject as Uint8Array).length, toHex(zone as Uint8Array).length, text];
    });
  const all = told(ctx);
  t.same(plain(all.slice(0, before)), plain(all.slice(before)));
});

/** A batch whose events cannot be appended, because the store takes no writes after the edit. */
async function untold(
  t: Test,
  open: typeof openOneCopy = openTwoCopies,
  count = MANY,
): Promise<{ readonly ctx: Context; readonly id: string }> {
  const { ctx } = await startControl(t, {}, open);
  const { id } = await createZone(ctx, { name: 'events.test' });
  const { store } = ctx;
  const { seq, version } = findZoneByName(store, 'events.test')!;
  const write = store.write.bind(store);
  const failing: typeof write = (work, ...rest) =>
    store.prepareTuples<[number], [number]>('SELECT version FROM zones WHERE seq = ?').get(seq)![0] === version
      ? write(work, ...rest)
      : Promise.reject(new LogUnavailable('PostgreSQL is away'));
  Object.assign(store, { write: failing });
  const { posts: made } = await applyBatch(ctx, id, { posts: posts(count) });
  t.equal(made.length, count, 'the edit has happened all the same');
  Object.assign(store, { write });
  t.equal(told(ctx).length, 0);
  t.ok(countStaged(ctx) > 0);
  return { ctx, id };
}

t.test('a write appends staged events that have happened before its own', async (t) => {
  const { ctx, id } = await untold(t);
  await createRecord(ctx, id, { type: 'A', name: 'late', content: '192.0.2.1' });
  const names = told(ctx).map(({ name }) => name);
  t.equal(names.length, MANY + 1);
  t.equal(names.at(-1), 'late.events.test A');
  t.equal(names[0], 'n0.events.test A');
  t.equal(countStaged(ctx), 0);
});

/** So many events that a write would append them for some tens of milliseconds. */
async function manyUntold(t: Test): Promise<{ readonly ctx: Context; readonly id: string }> {
  const { ctx, id } = await untold(t, openOneCopy, 2 * MANY);
  t.ok(countStaged(ctx) > 2 * FEW_PARTS - 1);
  return { ctx, id };
}

t.test('writes of an account come behind many staged events of its own, and append some of them', async (t) => {
  const { ctx, id } = await manyUntold(t);
  const before = countStaged(ctx);
  const { id: late } = await createRecord(ctx, id, { type: 'A', name: 'late', content: '192.0.2.1' });
  t.equal(countStaged(ctx), before - FEW_PARTS + 1, 'a bounded part, and its own event behind the others');
  await deleteRecord(ctx, id, late);
  await tellStaged(ctx);
  const all = told(ctx);
  t.equal(all.length, 2 * MANY + 2);
  t.same(
    all.slice(-2).map(({ kind, name }) => [kind, name]),
    [
      ['record.create', 'late.events.test A'],
      ['record.delete', 'late.events.test A'],
    ],
  );
  const times = all.map(({ at_us: at }) => at);
  t.same(
    times,
    [...times].sort((a, b) => a - b),
    'each has its own time',
  );
  t.ok(all.at(-1)!.change! > all.at(-2)!.change! && all.at(-2)!.change! > all.at(-3)!.change!, 'and its own change');
});

t.test('writes of other accounts do not wait for staged events', async (t) => {
  const { ctx } = await manyUntold(t);
  const before = countStaged(ctx);
  const account = await createAccount(ctx, { name: 'another' });
  const { id } = await createZone(ctx, { name: 'another.test', account: { id: account.id } });
  await createRecord(ctx, id, { type: 'A', name: 'early', content: '192.0.2.1' });
  t.equal(countStaged(ctx), before);
  t.match(told(ctx), [{ name: 'early.another.test A' }]);
  await tellStaged(ctx);
  t.equal(told(ctx).length, 2 * MANY + 1);
});

t.test('a zone that goes takes none of its events along, nor keeps other accounts waiting', async (t) => {
  const { ctx, id } = await manyUntold(t);
  const account = await createAccount(ctx, { name: 'another' });
  const { id: zone } = await createZone(ctx, { name: 'another.test', account: { id: account.id } });
  await deleteZone(ctx, id);
  const left = countStaged(ctx);
  t.ok(left > 1, 'the deletion comes behind them');
  await createRecord(ctx, zone, { type: 'A', name: 'early', content: '192.0.2.1' });
  t.equal(countStaged(ctx), left);
  t.equal(told(ctx).at(-1)?.name, 'early.another.test A');
  await ctx.store.write(() => pruneEdits(ctx.store, 1, ctx.clock.nowUs()));
  await tellStaged(ctx);
  t.equal(told(ctx).length, 2 * MANY + 1, 'when the journal loses its oldest edits, too');
});

t.test('events that a failover of PostgreSQL loses are printed, each once', async (t) => {
  let entries: readonly Entry[] = [];
  const { ctx, id } = await untold(
    t,
    (...how) => {
      const copies = openTwoCopies(...how);
      entries = copies.log.entries;
      return copies;
    },
    2 * MANY,
  );
  const { directory, close } = openOneCopy('lost', ctx.clock, ctx.random);
  t.teardown(close);
  const printed = async (): Promise<string[]> => {
    writeFileSync(join(directory, `cluster-lost-1-${entries.length}-0`), entries.map(printEntry).join(''));
    const { code, out, err } = await runCommand({ ZONEPLANE_DATA_DIR: directory }, 'cluster', 'lost');
    t.strictSame([code, err], [1, '']);
    rmSync(join(directory, `cluster-lost-1-${entries.length}-0`));
    return out.match(/^ +record\.\w+ (?:n\d+|late)\.events\.test A by .*$/gm) ?? [];
  };
  t.equal(new Set(await printed()).size, 2 * MANY, 'those that are stored');
  await createRecord(ctx, id, { type: 'A', name: 'late', content: '192.0.2.1' });
  t.ok(countStaged(ctx) > 0, 'its own event is behind them');
  await tellStaged(ctx);
  const all = await printed();
  const count = 2 * MANY + 1;
  t.strictSame([all.length, new Set(all).size], [count, count], 'and those that became rows of their own');
});

t.test('the job appends events that nobody has appended', async (t) => {
  const { ctx } = await untold(t);
  const { store, clock, log } = ctx;
  const signal = new AbortController().signal;
  await unusedRecordsJobs.handler({ store, clock, log, signal, requireLease() {} } as never, {} as never);
  t.equal(told(ctx).length, MANY);
  t.equal(countStaged(ctx), 0);
});

t.test('an edit that does not happen has no events', async (t) => {
  const { ctx } = await startControl(t);
  const { id } = await createZone(ctx, { name: 'events.test' });
  await applyBatch({ ...ctx, dryRun: true }, id, { posts: posts(MANY) });
  const stale = { ...ctx, precondition: { ifMatch: ['"another"'] } };
  t.match(await refusal(applyBatch(stale, id, { posts: posts(MANY) })), { status: 412 });
  await createRecord(ctx, id, { type: 'A', name: 'late', content: '192.0.2.1' });
  t.equal(told(ctx).length, 1);
  t.equal(countStaged(ctx), 0);
});
