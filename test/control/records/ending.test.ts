/** Records that expire: what clients may say, and how they are removed; on two copies of the database. */
import t, { type Test } from 'tap';
import { importZone } from '../../../src/control/imports/zone.js';
import { ENDED_RECORDS_JOB, endedRecordsJob } from '../../../src/control/records/ending.js';
import { exportZone } from '../../../src/control/records/export.js';
import {
  applyBatch,
  createRecord,
  deleteRecord,
  editRecord,
  getRecord,
  listRecords,
  replaceRecord,
} from '../../../src/control/records/records.js';
import { listHistory, restoreZone } from '../../../src/control/zones/history.js';
import { createZone } from '../../../src/control/zones/zones.js';
import { listJobs } from '../../../src/store/jobs.js';
import { matchBehind, newestEvent, selectEvents } from '../../../src/store/log/events-query.js';
import { insertBucket } from '../../../src/store/objects/buckets.js';
import { type BucketDomainRow, insertBucketDomain, removeBucketDomain } from '../../../src/store/objects/domains.js';
import { countTurns } from '../../support/turns.js';
import { refusal, startZone } from '../fixture.js';

const HOUR_MS = 3_600_000;
const A = { type: 'A', name: 'www', content: '192.0.2.1' };

async function start(t: Test) {
  const fixture = await startZone(t);
  const { ctx, clock, zoneId } = fixture;
  const job = endedRecordsJob(ctx);
  const lease = { ...ctx, attempt: 0, signal: new AbortController().signal, requireLease() {} };
  return {
    ...fixture,
    inHours: (hours: number) => new Date(clock.nowMs() + hours * HOUR_MS).toISOString(),
    planned: () => listJobs(ctx.store, 10).find(({ kind }) => kind === ENDED_RECORDS_JOB),
    run: (subject = '1') => job.handler(lease, subject),
    names: async (zone = zoneId) =>
      (await listRecords(ctx, zone, { perPage: 1000 })).items.map(({ name }) => name.split('.')[0]),
  };
}

t.test('a record is removed at its end, with its PTR record, an event, and a way back', async (t) => {
  const { ctx, clock, zoneId, inHours, planned, run, names } = await start(t);
  const { id: reverse } = await createZone(ctx, { name: '2.0.192.in-addr.arpa' });
  const startMs = clock.nowMs();
  const ends = inHours(1);
  const made = await createRecord(ctx, zoneId, { ...A, ptr: true, expires_on: ends });
  t.equal(made.expiresAt, Date.parse(ends) * 1000);
  await createRecord(ctx, zoneId, { ...A, name: 'later', expires_on: inHours(2) });
  t.match(planned(), { run_at: startMs + HOUR_MS, subject: '1' });
  t.strictSame(await run(), { againAtMs: startMs + HOUR_MS }, 'before its time, nothing happens');
  clock.advance(HOUR_MS);
  const before = newestEvent(ctx.store);
  t.strictSame(await run(), { againAtMs: startMs + 2 * HOUR_MS }, 'the next one is planned');
  t.strictSame([await names(), await names(reverse)], [['later'], []]);
  const events = selectEvents(ctx.store, {
    conditions: [matchBehind(before, 'asc')],
    direction: 'asc',
    limit: 10,
    offset: 0,
  });
  t.match(
    events.map(({ kind, actor, source, account }) => [kind, actor, source, account]),
    [
      ['record.delete', 'end of records', 'service', 1],
      ['record.delete', 'end of records', 'service', 1],
    ],
  );

  const history = await listHistory(ctx, zoneId, {});
  const removal = history.items[0]!;
  t.equal(removal.actor.email, 'end of records');
  await restoreZone(ctx, zoneId, history.items[1]!.id);
  t.strictSame(await names(), ['later', 'www'], 'a restoration brings it back, with its end');
  t.ok(planned()!.run_at <= clock.nowMs(), 'which is over');
  await run();
  t.strictSame(await names(), ['later']);
});

t.test('what clients may send as the time of expiry', async (t) => {
  const { ctx, clock, zoneId, inHours, run } = await start(t);
  const refused = async (expires_on: unknown) => {
    const { status, pointer } = await refusal(createRecord(ctx, zoneId, { ...A, expires_on } as never));
    return [status, pointer];
  };
  for (const bad of [
    'tomorrow',
    '2026-13-01T00:00:00Z',
    '2026-01-01',
    '',
    '2200-01-01T00:00:00Z',
    '1999-01-01T00:00:00Z',
  ]) {
    t.strictSame(await refused(bad), [400, '/expires_on'], bad);
  }
  t.strictSame(await refused(inHours(0)), [400, '/expires_on'], 'now is not in the future');
  const { id } = await createRecord(ctx, zoneId, { ...A, expires_on: '2026-01-02T02:30:00.9+02:30' });
  const end = Date.UTC(2026, 0, 2) * 1000;
  const seen = async () => (await getRecord(ctx, zoneId, id)).expiresAt;
  t.equal(await seen(), end, 'to the second');
  await editRecord(ctx, zoneId, id, { comment: 'x' });
  t.equal(await seen(), end, 'an edit without it keeps it');
  await editRecord(ctx, zoneId, id, { expires_on: null });
  t.equal(await seen(), undefined);
  await editRecord(ctx, zoneId, id, { expires_on: '2026-01-02T00:00:00Z' });
  await replaceRecord(ctx, zoneId, id, A);
  t.equal(await seen(), undefined, 'a replacement without it has none');
  const batch = await applyBatch(ctx, zoneId, {
    patches: [{ id, expires_on: '2026-01-02T00:00:00Z' }],
    posts: [{ ...A, name: 'b', expires_on: '2026-01-03T00:00:00Z' }],
  });
  t.strictSame([batch.patches[0]!.expiresAt, batch.posts[0]!.expiresAt], [end, end + 86_400_000_000]);
  clock.advance(30 * HOUR_MS);
  await editRecord(ctx, zoneId, id, { comment: 'y', expires_on: '2026-01-02T00:00:00.000000Z' });
  t.equal(await seen(), end, 'what was read can be sent back, although it is over');
  await run();
  t.equal((await refusal(getRecord(ctx, zoneId, id))).status, 404);
});

t.test('very many records expire in the same second', async (t) => {
  const { ctx, clock, zoneId, inHours, planned, run, names } = await start(t);
  const posts = Array.from({ length: 180 }, (_, i) => ({ ...A, name: `n${i}`, expires_on: inHours(1) }));
  const { posts: made } = await applyBatch(ctx, zoneId, { posts });
  await editRecord(ctx, zoneId, made[7]!.id, { expires_on: null });
  clock.putBack(HOUR_MS);
  clock.advance(HOUR_MS);
  await run();
  t.equal((await names()).length, 180, 'a clock that was set back lets them stay');
  clock.advance(HOUR_MS);
  const serialsBefore = (await listHistory(ctx, zoneId, {})).items.length;
  t.ok((await countTurns(run)) >= 4, 'others have their turns between the writes');
  t.strictSame(await names(), ['n7']);
  t.equal((await listHistory(ctx, zoneId, {})).items.length - serialsBefore, 4, 'in writes of fifty');
  t.strictSame(await run(), { done: true });
  await deleteRecord(ctx, zoneId, made[7]!.id);
  t.strictSame(await run('99'), { done: true }, 'a zone that is gone');
  t.ok(planned(), 'the runner has the outcome');
});

t.test('a zone file has the time at which a record expires', async (t) => {
  const { ctx, zoneId, inHours, planned } = await start(t);
  await createRecord(ctx, zoneId, { ...A, comment: 'guest', tags: ['a:b'], expires_on: inHours(5) });
  let text = '';
  for await (const chunk of exportZone(ctx, zoneId, 'bind')) text += chunk;
  t.match(text, /; guest cf_tags=a:b,cf-proxied:false,expires=2026-01-01T05:00:00Z\n/);
  const { zoneId: copy, issues } = await importZone(ctx, {
    source: {
      text: `${text.replaceAll('example.com', 'copy.test')}\nbad.copy.test. 300 IN A 192.0.2.3 ; cf_tags=expires=soon\n`,
    },
    origin: 'copy.test',
  });
  const { items } = await listRecords(ctx, copy!, { types: ['A'] });
  t.strictSame(
    items.map(({ name, expiresAt, tags }) => [name, expiresAt, tags]),
    [
      ['bad.copy.test', undefined, []],
      ['www.copy.test', Date.UTC(2026, 0, 1, 5) * 1000, ['a:b']],
    ],
  );
  t.match(issues, [{ code: 'end-left-out' }]);
  t.ok(planned());
  let json = '';
  for await (const chunk of exportZone(ctx, zoneId, 'json')) json += chunk;
  t.equal(JSON.parse(json).records[0].expires_on, '2026-01-01T05:00:00Z');
});

t.test('a record that nobody may remove now stays, and does not hold up others', async (t) => {
  const { ctx, clock, zoneId, inHours, run, names } = await start(t);
  const { store } = ctx;
  const domain = { domain: 'shown.example.com', zone: 1 };
  await createRecord(ctx, zoneId, { ...A, name: 'shown', expires_on: inHours(1) });
  await createRecord(ctx, zoneId, { ...A, expires_on: inHours(1.5) });
  await store.write(() => {
    const place = { account: 1, jurisdiction: 'default', location: null } as const;
    const bucket = insertBucket(store, { ...place, name: 'assets', storage_class: 'Standard', created_at: 0 });
    insertBucketDomain(store, { ...domain, bucket, enabled: 1, min_tls: null, ciphers: '[]', created_at: 0 });
  });
  clock.advance(2 * HOUR_MS);
  t.strictSame([await run(), await names()], [{ againAtMs: clock.nowMs() + HOUR_MS }, ['shown']]);
  await store.write(() => removeBucketDomain(store, domain as BucketDomainRow));
  t.strictSame([await run(), await names()], [{ done: true }, []]);
});
