/** Events of very large edits: stored before the edit, appended after it, and never lost. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { printEntry } from '../../../src/cluster/recent-entries.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { FEW_EVENTS } from '../../../src/control/kernel/staged-edits.js';
import { unusedRecordsJobs } from '../../../src/control/kernel/unused-records.js';
import { applyBatch, type BatchInput } from '../../../src/control/records/batch.js';
import { createRecord, listRecords } from '../../../src/control/records/records.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { LogUnavailable } from '../../../src/store/failures.js';
import { selectEvents } from '../../../src/store/log/events-query.js';
import type { Entry } from '../../../src/store/recording.js';
import { findZoneByName } from '../../../src/store/zones/zones.js';
import { runCommand } from '../../support/commands.js';
import { openOneCopy, openTwoCopies } from '../../support/two-copies.js';
import { refusal, startControl } from '../fixture.js';

/** More events than a write appends itself. */
const MANY = FEW_EVENTS + 20;

function posts(count: number): BatchInput['posts'] {
  return Array.from({ length: count }, (_, i) => {
    return { type: 'A', name: `n${i}`, content: `192.0.${i >> 8}.${i & 255}`, comment: 'same' };
  });
}

const countStaged = ({ store }: Context): number =>
  store.prepareTuples<[], [number]>('SELECT count(*) FROM staged_events').get()![0];

/** All events about records, as they happened. */
function told({ store }: Context): { readonly name: string | null }[] {
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
async function untold(t: Test, open = openTwoCopies): Promise<{ readonly ctx: Context; readonly id: string }> {
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
  const { posts: made } = await applyBatch(ctx, id, { posts: posts(MANY) });
  t.equal(made.length, MANY, 'the edit has happened all the same');
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

t.test('events that a failover of PostgreSQL loses are printed, each once', async (t) => {
  let entries: readonly Entry[] = [];
  const { ctx, id } = await untold(t, (...how) => {
    const copies = openTwoCopies(...how);
    entries = copies.log.entries;
    return copies;
  });
  const { directory, close } = openOneCopy('lost', ctx.clock, ctx.random);
  t.teardown(close);
  const printed = async (): Promise<string[]> => {
    writeFileSync(join(directory, `cluster-lost-1-${entries.length}-0`), entries.map(printEntry).join(''));
    const { code, out, err } = await runCommand({ ZONEPLANE_DATA_DIR: directory }, 'cluster', 'lost');
    t.strictSame([code, err], [1, '']);
    rmSync(join(directory, `cluster-lost-1-${entries.length}-0`));
    return out.match(/^ +record\.\w+ n\d+\.events\.test A by .*$/gm) ?? [];
  };
  t.equal(new Set(await printed()).size, MANY, 'those that are stored');
  await createRecord(ctx, id, { type: 'A', name: 'late', content: '192.0.2.1' });
  const all = await printed();
  t.strictSame([all.length, new Set(all).size], [MANY, MANY], 'and those that became rows of their own');
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
