/** Lifecycle rules: when something is due, the sweep in slices, and what clocks, locks, uploads and other rules do to it. */
import { Readable } from 'node:stream';
import t, { type Test } from 'tap';
import { toHex } from '../../../src/base/bytes.js';
import { createBucket } from '../../../src/bucket/buckets.js';
import { createLocalStore } from '../../../src/bucket/local-store.js';
import { expiryOf, type LifecycleRule, planOf, UPLOAD_AGE, uploadAgeOf } from '../../../src/bucket/rules/lifecycle.js';
import { setRules } from '../../../src/bucket/rules/rule-sets.js';
import { LIFECYCLE_JOB } from '../../../src/control/schedule/lifecycle.js';
import { startRunner } from '../../../src/jobs/runner.js';
import { lifecycleJobs } from '../../../src/roles/lifecycle-jobs.js';
import { allAccounts } from '../../../src/store/access/accounts.js';
import { dueJobs, nextJobAt } from '../../../src/store/jobs.js';
import { allBuckets, usageOfBucket } from '../../../src/store/objects/buckets.js';
import { entriesFrom } from '../../../src/store/objects/objects.js';
import { startControl } from '../../control/fixture.js';
import { until } from '../../support/until.js';

const HOUR = 3_600_000;
const DAY = 86_400_000;

const rule = (id: string, prefix: string, days: number, more: Partial<LifecycleRule> = {}): LifecycleRule => ({
  ...{ id, enabled: true, conditions: { prefix } },
  deleteObjectsTransition: { condition: { type: 'Age', maxAge: days * 86_400 } },
  ...more,
});

t.test('when an object expires', async (t) => {
  const rules = [
    rule('all', '', 30),
    rule('logs', 'logs/', 7),
    rule('off', 'logs/', 1, { enabled: false }),
    rule('date', 'tmp/', 0, { deleteObjectsTransition: { condition: { type: 'Date', date: '1970-01-02' } } }),
  ];
  const at = (key: string) => expiryOf(planOf(rules), { key, uploadedAt: 0 });
  t.same(at('a'), { at: 30 * DAY * 1000, rule: 'all' });
  t.same(at('logs/a'), { at: 7 * DAY * 1000, rule: 'logs' });
  t.same(at('tmp/a'), { at: DAY * 1000, rule: 'date' });
  t.same(planOf([rule('a', 'b/', 1), rule('b', 'a', 1), rule('c', 'a/b', 1)]).prefixes, ['a', 'b/']);
  t.equal(uploadAgeOf(planOf(rules), 'a'), UPLOAD_AGE * 1e6, 'the default, where the rules name none');
});

async function prepare(t: Test) {
  const { ctx, clock } = await startControl(t);
  const { store } = ctx;
  const account = toHex(allAccounts(store)[0]!.id);
  await createBucket(ctx, account, { name: 'pictures', jurisdiction: 'default' });
  const { seq } = allBuckets(store)[0]!;
  const objects = createLocalStore({ ...ctx });
  const place = { accountId: account, name: 'pictures', jurisdiction: 'default' as const };
  const put = (key: string) =>
    objects.put(seq, key, Readable.from([Buffer.from(key)]), { httpMetadata: {}, limit: 1000 });
  const keys = () => entriesFrom(store, seq, '', 10_000).map(({ key }) => key);
  const sweep = async () => {
    let position = await objects.sweepByRules(seq, undefined, () => {});
    while (position) position = await objects.sweepByRules(seq, position, () => {});
  };
  return { ctx, clock, store, seq, objects, put, keys, sweep, place };
}

t.test('the sweep', async (t) => {
  const { ctx, clock, store, seq, objects, put, keys, sweep, place } = await prepare(t);
  for (const key of ['', 'logs/1', 'logs/2', 'logsx', 'z']) await put(key);
  await setRules(ctx, place, 'lifecycle', [rule('logs', 'logs/', 7)]);
  clock.advance(7 * DAY - 1000);
  await sweep();
  t.equal(keys().length, 5, 'nothing is due yet');
  clock.advance(2000);
  await put('logs/2');
  await sweep();
  t.same(keys(), ['', 'logs/2', 'logsx', 'z'], 'what was replaced is new');
  await setRules(ctx, place, 'lock', [{ id: 'l', enabled: true, prefix: 'logs', condition: { type: 'Indefinite' } }]);
  await setRules(ctx, place, 'lifecycle', [rule('all', '', 1)]);
  clock.advance(2 * DAY);
  await sweep();
  t.same(keys(), ['logs/2', 'logsx'], 'locks come first; the empty key is one like others');
  await setRules(ctx, place, 'lock', []);
  const cooling = { condition: { type: 'Age' as const, maxAge: 60 }, storageClass: 'InfrequentAccess' as const };
  const cool = { id: 'cool', enabled: true, conditions: { prefix: '' }, storageClassTransitions: [cooling] };
  await setRules(ctx, place, 'lifecycle', [cool]);
  await sweep();
  t.same(
    usageOfBucket(store, seq)
      .filter((row) => row.objects > 0)
      .map((row) => [row.storage_class, row.objects]),
    [['InfrequentAccess', 2]],
    'another class, and the sums know it',
  );
  clock.putBack(30 * DAY);
  await setRules(ctx, place, 'lifecycle', [rule('all', '', 1)]);
  await sweep();
  t.equal(keys().length, 2, 'objects of the future are not old');
  t.equal(await objects.sweepByRules(999, undefined, () => {}), undefined, 'a bucket that is not there');
});

t.test('rules that are replaced in the middle', async (t) => {
  const { ctx, clock, seq, objects, put, keys, place } = await prepare(t);
  for (let i = 0; i < 130; i++) await put(`k${String(i).padStart(3, '0')}`);
  await setRules(ctx, place, 'lifecycle', [rule('all', '', 1)]);
  clock.advance(2 * DAY);
  let position = await objects.sweepByRules(seq, undefined, () => {});
  position = await objects.sweepByRules(seq, position, () => {});
  t.equal(keys().length, 30, 'a hundred in one write');
  await setRules(ctx, place, 'lifecycle', [rule('some', 'k12', 1)]);
  while (position) position = await objects.sweepByRules(seq, position, () => {});
  t.equal(keys().length, 20, 'the others stay');
  await setRules(ctx, place, 'lifecycle', [rule('late', 'k11', 1)]);
  position = await objects.sweepByRules(seq, undefined, () => {});
  position = await objects.sweepByRules(seq, position, () => {});
  t.equal(position?.after, 'k119');
  await setRules(ctx, place, 'lifecycle', [rule('early', 'k105', 1)]);
  while (position) position = await objects.sweepByRules(seq, position, () => {});
  t.equal(keys().length, 9, 'a sweep begins again with other rules');
  position = await objects.sweepByRules(seq, undefined, () => {});
  await setRules(ctx, place, 'lifecycle', []);
  t.equal(await objects.sweepByRules(seq, position, () => {}), undefined);
  await setRules(ctx, place, 'lifecycle', [rule('all', '', 1)]);
  const taken = async () => {
    let at = await objects.sweepByRules(seq, undefined, () => {});
    while (at)
      at = await objects.sweepByRules(seq, at, () => {
        throw new Error('the lease is lost');
      });
  };
  await t.rejects(taken(), /lease/);
  t.equal(keys().length, 9, 'and nothing is written then');
});

t.test('uploads in parts', async (t) => {
  const { ctx, clock, seq, objects, sweep, place } = await prepare(t);
  const begin = (key: string) => objects.uploads.create(seq, key, { httpMetadata: {} });
  const open = () => objects.uploads.list(seq, '', undefined, 100).map(({ key }) => key);
  const abort = (days: number) => ({ condition: { type: 'Age' as const, maxAge: days * 86_400 } });
  for (const key of ['a', 'slow/b']) await begin(key);
  await setRules(ctx, place, 'lifecycle', [
    { id: 'slow', enabled: true, conditions: { prefix: 'slow/' }, abortMultipartUploadsTransition: abort(30) },
  ]);
  clock.advance(8 * DAY);
  await objects.sweep();
  t.same(open(), ['a', 'slow/b'], 'the rules of the bucket decide alone');
  await sweep();
  t.same(open(), ['slow/b'], 'the default for those that no rule names');
  clock.advance(23 * DAY);
  await sweep();
  t.same(open(), []);
  await begin('c');
  await setRules(ctx, place, 'lifecycle', []);
  clock.advance(8 * DAY);
  await objects.sweep();
  t.same(open(), []);
});

t.test('the job: an interval later, in turns, and not by a clock that is wrong', async (t) => {
  const { ctx, clock, store, seq, objects, put, keys, place } = await prepare(t);
  for (let i = 0; i < 5; i++) await put(`k${i}`);
  clock.advance(10 * DAY);
  await setRules(ctx, place, 'lifecycle', [rule('all', '', 1)]);
  const [job] = dueJobs(store, { kind: LIFECYCLE_JOB, account: 1, nowMs: clock.nowMs(), limit: 10 });
  t.equal(job?.subject, `bucket ${seq}`, 'it takes the turn of its account');
  const runner = startRunner({
    ...{ store, clock, log: ctx.log, owner: 'one' },
    kinds: { [LIFECYCLE_JOB]: lifecycleJobs(objects, HOUR) },
  });
  t.teardown(() => runner.stop());
  const runs = async (ms: number) => {
    clock.advance(ms);
    for (let i = 0; i < 20; i++) {
      clock.advance(10);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  };
  await runs(0);
  t.equal(keys().length, 5, 'the first look removes nothing');
  await runs(3 * DAY);
  t.equal(keys().length, 5, 'nor does one that comes days later than planned');
  clock.advance(HOUR);
  await until(() => {
    clock.advance(10);
    return keys().length === 0;
  });
  await put('new');
  await setRules(ctx, place, 'lifecycle', []);
  clock.advance(2 * HOUR);
  await until(() => {
    clock.advance(10);
    return nextJobAt(store, LIFECYCLE_JOB) === undefined;
  });
  t.same(keys(), ['new']);
});
