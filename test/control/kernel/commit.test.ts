/** The only write path: all or nothing, serials without gaps, several writers at once. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import t from 'tap';
import { AppError } from '../../../src/base/errors.js';
import { commit } from '../../../src/control/kernel/commit.js';
import type { Context } from '../../../src/control/kernel/context.js';
import { applyBatch } from '../../../src/control/records/batch.js';
import { createRecord, deleteRecord, editRecord, listRecords } from '../../../src/control/records/records.js';
import { createZone, getZone } from '../../../src/control/zones/zones.js';
import { DATABASE_FILE } from '../../../src/store/driver.js';
import { LogUnavailable, OutcomeUnknown, StoreConflict } from '../../../src/store/failures.js';
import { changesAfter, lastChange, rrsOfChange } from '../../../src/store/log/changes.js';
import { findRecord } from '../../../src/store/records/records.js';
import { findZoneByName, updateZone } from '../../../src/store/zones/zones.js';
import { countRecords, latestEvents } from '../../support/rows.js';
import { openOneCopy } from '../../support/two-copies.js';
import { runSql } from '../../support/write-now.js';
import { startZone } from '../fixture.js';

/** Everything a commit could have touched. */
function stateOf(ctx: Context): unknown {
  const tables = ['zones', 'record_rows', 'changes', 'events'];
  return tables.map((table) => ctx.store.prepare(`SELECT * FROM ${table}`).all());
}

t.test('a failure at any step leaves nothing behind', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const made = await createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.1' });
  const before = stateOf(ctx);
  for (const step of ['INSERT ON record_rows', 'UPDATE ON zones', 'INSERT ON changes', 'INSERT ON events']) {
    runSql(ctx.store, `CREATE TRIGGER broken BEFORE ${step} BEGIN SELECT RAISE(ABORT, 'injected'); END`);
    await t.rejects(createRecord(ctx, zoneId, { type: 'A', name: 'b', content: '192.0.2.2' }), StoreConflict, step);
    await t.rejects(
      applyBatch(ctx, zoneId, { deletes: [{ id: made.id }], posts: [{ type: 'A', name: 'c', content: '192.0.2.3' }] }),
      StoreConflict,
      step,
    );
    runSql(ctx.store, 'DROP TRIGGER broken');
    t.same(stateOf(ctx), before, step);
  }
  runSql(ctx.store, "CREATE TRIGGER broken BEFORE DELETE ON record_rows BEGIN SELECT RAISE(ABORT, 'injected'); END");
  await t.rejects(deleteRecord(ctx, zoneId, made.id), StoreConflict);
  runSql(ctx.store, 'DROP TRIGGER broken');
  t.same(stateOf(ctx), before);
  await createRecord(ctx, zoneId, { type: 'A', name: 'b', content: '192.0.2.2' });
});

t.test('two processes write at once', async (t) => {
  const { ctx, zoneId, directory } = await startZone(t, {}, openOneCopy);
  const first = (await getZone(ctx, zoneId)).soa.serial;
  const each = 150;
  const script = fileURLToPath(new URL('./write-child.js', import.meta.url));
  const child = spawn(process.execPath, [script, directory, zoneId, String(each)], { stdio: 'inherit' });
  t.teardown(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  for (let i = 0; i < each; i++) {
    await createRecord(ctx, zoneId, { type: 'A', name: `parent-${i}`, content: '192.0.2.1' });
    // Gives way, so that the two really take turns.
    await new Promise((resolve) => setImmediate(resolve));
  }
  t.same(await ended, [0, null]);
  const zone = await getZone(ctx, zoneId);
  t.equal(zone.recordCount, 2 * each);
  t.equal(zone.soa.serial, first + 2 * each, 'no update was lost');
  t.equal((await listRecords(ctx, zoneId, {})).totalCount, 2 * each);
  const serials = changesAfter(ctx.store, 1, 1000).map(({ serial_from, serial_to }) => [serial_from, serial_to]);
  t.same(
    serials,
    Array.from({ length: 2 * each }, (_, i) => [first + i, first + i + 1]),
    'one after the other',
  );
});

t.test('writes that share a transaction', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const first = (await getZone(ctx, zoneId)).soa.serial;
  const create = (name: string, content = '192.0.2.1') => createRecord(ctx, zoneId, { type: 'A', name, content });
  const outcomes = await Promise.allSettled([
    create('a'),
    create('a'),
    create('b', 'nonsense'),
    applyBatch(ctx, zoneId, {
      posts: [
        { type: 'A', name: 'half', content: '192.0.2.1' },
        { type: 'CNAME', name: 'half', content: 'x.test' },
      ],
    }),
    ...Array.from({ length: 250 }, (_, i) => create(`many-${i}`)),
    create('c'),
  ]);
  const codes = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason.code] : []));
  t.same(codes, [81058, 9005, 81053], 'each is refused or done by itself');
  t.match(await getZone(ctx, zoneId), { recordCount: 252, soa: { serial: first + 252 } });
  const seq = findZoneByName(ctx.store, 'example.com')!.seq;
  t.equal(countRecords(ctx.store, seq), 252);

  runSql(
    ctx.store,
    "CREATE TRIGGER broken BEFORE INSERT ON record_rows WHEN new.name LIKE 'x%' BEGIN SELECT RAISE(ABORT, 'injected'); END",
  );
  const [one, broken, two] = await Promise.allSettled([create('one'), create('x1'), create('two')]);
  runSql(ctx.store, 'DROP TRIGGER broken');
  t.same([one?.status, broken?.status, two?.status], ['fulfilled', 'rejected', 'fulfilled'], 'a fault is not shared');
  t.match(await getZone(ctx, zoneId), { recordCount: 254, soa: { serial: first + 254 } });
  t.equal(latestEvents(ctx.store, 1000).filter(({ kind }) => kind === 'record.create').length, 254);
});

t.test('the writes of one account do not keep those of another waiting', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const as = (account: string) => ({ ...ctx, actor: { ...ctx.actor, accountIds: [account] } });
  const settled: string[] = [];
  const create = (account: string, name: string): Promise<unknown> =>
    createRecord(as(account), zoneId, { type: 'A', name, content: '192.0.2.1' }).then(() => settled.push(account));
  const writing = Array.from({ length: 150 }, (_, i) => create('b', `b${i}`));
  writing.push(create('a', 'a1'), create('a', 'a2'));
  await Promise.all(writing);
  t.strictSame(settled.slice(0, 5), ['b', 'a', 'b', 'a', 'b']);
});

t.test('others have their turn between transactions that take long', async (t) => {
  const { ctx, clock } = await startZone(t);
  const order: string[] = [];
  const write = (name: string): Promise<unknown> =>
    commit(ctx, () => {
      order.push(name);
      clock.advance(40);
      setImmediate(() => order.push('another'));
    });
  await Promise.all([write('first'), write('second'), write('third')]);
  t.strictSame(order.slice(0, 5), ['first', 'another', 'second', 'another', 'third']);
});

t.test('waiting for a writer', async (t) => {
  const { ctx, zoneId, directory } = await startZone(t);
  const other = new Database(join(directory, DATABASE_FILE));
  t.teardown(() => other.close());
  other.exec('BEGIN IMMEDIATE');
  const pending = createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.1' });
  let done = false;
  pending.then(() => {
    done = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  t.notOk(done, 'waits without holding up the event loop');
  other.exec('COMMIT');
  t.match(await pending, { name: 'a.example.com' });
});

t.test('what is requested while a write waits joins it', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const real = ctx.store.write;
  const turn = Promise.withResolvers<void>();
  let writes = 0;
  const write = async <T>(work: () => T): Promise<T> => {
    writes++;
    await turn.promise;
    return real(work);
  };
  Object.assign(ctx.store, { write });
  const create = (name: string) => createRecord(ctx, zoneId, { type: 'A', name, content: '192.0.2.1' });
  const first = create('first');
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  t.equal(writes, 1);
  const later = Array.from({ length: 5 }, (_, index) => create(`later${index}`));
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  turn.resolve();
  await Promise.all([first, ...later]);
  t.equal(writes, 1, 'one entry of the log for all of them');
  Object.assign(ctx.store, { write: real });
});

t.test('writes for which the log of a cluster does not answer', async (t) => {
  const { ctx, zoneId, clock } = await startZone(t);
  const real = ctx.store.write;
  /** What comes of each write; without an error it is stored. */
  const outcomes: { readonly error?: Error; readonly free: Promise<void> }[] = [];
  const waited: (number | undefined)[] = [];
  const write = async <T>(work: () => T, _timeoutMs?: number, waitedMs?: number): Promise<T> => {
    waited.push(waitedMs === undefined ? undefined : Math.round(waitedMs));
    const { error, free } = outcomes.shift()!;
    await free;
    ctx.store.capture(work);
    if (error) throw error;
    return real(work);
  };
  Object.assign(ctx.store, { write });
  const told: string[] = [];
  const create = (name: string): Promise<unknown> =>
    createRecord(ctx, zoneId, { type: 'A', name, content: '192.0.2.1' }).then(
      () => told.push(`${name} was stored`),
      ({ status, retryAfterSeconds, message }: AppError) =>
        told.push(`${name}: ${status}, ${retryAfterSeconds} s, ${message.split(',')[0]}`),
    );
  const first = Promise.withResolvers<void>();
  const now = Promise.resolve();
  outcomes.push({ error: new LogUnavailable('away'), free: first.promise }, { free: now });
  const writing = [create('a')];
  await new Promise(setImmediate);
  writing.push(create('b'), create('c'));
  clock.advance(1000);
  writing.push(create('d'));
  clock.advance(4000);
  first.resolve();
  await Promise.all(writing);
  const refused = '503, 10 s, The change was not stored';
  t.strictSame(told.splice(0), [`a: ${refused}`, `b: ${refused}`, `c: ${refused}`, 'd was stored']);
  t.strictSame(waited.splice(0), [0, 4000], 'each has the patience that is left to its first');
  outcomes.push({ error: new OutcomeUnknown('silent'), free: now }, { free: now });
  await Promise.all([create('e'), create('f')]);
  const unknown = '503, 10 s, It is not known whether the change was stored';
  t.strictSame(told, [`e: ${unknown}`, `f: ${unknown}`]);
});

t.test('many records in one change', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const posts = Array.from({ length: 3500 }, (_, i) => ({ type: 'A', name: `h${i}`, content: '192.0.2.1' }));
  await applyBatch(ctx, zoneId, { posts });
  const [change] = changesAfter(ctx.store, lastChange(ctx.store) - 1, 1);
  t.equal(change!.kind, 'rrs');
  t.equal(rrsOfChange(ctx.store, change!).length, 3500 + 2);
  const { items } = await listRecords(ctx, zoneId, { perPage: 5000 });
  const patches = items.map(({ id }) => ({ id, content: '192.0.2.2' }));
  const serial = (await getZone(ctx, zoneId)).soa.serial;
  await applyBatch(ctx, zoneId, { patches });
  const [large] = changesAfter(ctx.store, lastChange(ctx.store) - 1, 1);
  t.match(large, { kind: 'rrs', complete: 0, serial_from: serial, serial_to: serial + 1 });
  t.equal(rrsOfChange(ctx.store, large!).length, 2, 'more than 5,000 are not listed one by one');
});

t.test('records of very many octets are not listed either', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const { id } = await createRecord(ctx, zoneId, { type: 'TXT', name: 'a', content: 'x' });
  const { seq } = findZoneByName(ctx.store, 'example.com')!;
  const { seq: _, ...row } = findRecord(ctx.store, seq, Buffer.from(id, 'hex'))!;
  let made = 0;
  const add = async (count: number) => {
    await commit(ctx, (draft) => {
      for (let i = 0; i < count; i++) {
        const key = Buffer.alloc(16);
        key.writeUInt32BE(++made);
        const rdata = Buffer.concat([Buffer.alloc(250 * 256, 255), Buffer.from([4]), key.subarray(0, 4)]);
        draft.insertRecord({ ...row, id: key, rdata, rdata_key: key });
      }
    });
    return changesAfter(ctx.store, lastChange(ctx.store) - 1, 1)[0]!;
  };
  t.match(await add(10), { complete: 1 });
  const large = await add(265);
  t.match(large, { complete: 0 });
  t.equal(rrsOfChange(ctx.store, large).length, 2);
});

t.test('the version of a zone, and a serial at its limit', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const seq = findZoneByName(ctx.store, 'example.com')!.seq;
  await ctx.store.write(() => updateZone(ctx.store, seq, { serial: 4294967295 }));
  const { version } = await getZone(ctx, zoneId);
  const { id } = await createRecord(ctx, zoneId, { type: 'A', name: 'a', content: '192.0.2.1' });
  t.match(await getZone(ctx, zoneId), { version: version + 1, soa: { serial: 1 } }, 'zero is skipped');
  await editRecord(ctx, zoneId, id, { comment: 'x' });
  t.match(await getZone(ctx, zoneId), { version: version + 2, soa: { serial: 1 } });
  await editRecord(ctx, zoneId, id, { comment: 'x' });
  t.match(await getZone(ctx, zoneId), { version: version + 2 }, 'nothing changed');
});

t.test('several zones in one commit, and a refusal in its middle', async (t) => {
  const { ctx, zoneId } = await startZone(t);
  const second = await createZone(ctx, { name: 'example.net' });
  const seqs = ['example.com', 'example.net'].map((name) => findZoneByName(ctx.store, name)!.seq);
  const { zones } = await commit(ctx, (draft) => {
    for (const seq of seqs) {
      draft.setZone(seq, { paused: 1 });
      draft.noteZone(seq, 'settings');
    }
  });
  t.same(
    zones.map(({ zone }) => zone),
    seqs,
  );
  const before = stateOf(ctx);
  await t.rejects(
    commit(ctx, (draft) => {
      draft.setZone(seqs[0]!, { paused: 0 });
      throw new AppError('test', 400, 1, 'no');
    }),
    { message: 'no' },
  );
  t.same(stateOf(ctx), before);
  t.match(await getZone(ctx, second.id), { paused: true });
  t.match(await getZone(ctx, zoneId), { paused: true });
  t.match(latestEvents(ctx.store, 1), [{ kind: 'zone.create' }]);
  t.equal(countRecords(ctx.store, seqs[0]!), 0);
});

t.test('no other code writes the change log', async (t) => {
  const root = fileURLToPath(new URL('../../../../src/', import.meta.url));
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const users = files.filter((name) => /\b(appendChange|appendEvents)\(/.test(readFileSync(join(root, name), 'utf8')));
  t.same(users.sort(), [
    'control/kernel/log-rows.ts',
    'control/kernel/outbox.ts',
    'store/log/changes.ts',
    'store/log/events.ts',
  ]);
});
