/**
 * Jobs on real stores with a clock set by the test: order, leases and fences, failures, long downtime, changes of the
 * clock.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { backoffMs, type JobContext, type JobKind, type JobKinds, type JobOutcome } from '../../src/jobs/kind.js';
import { createJobPlaces, rowsOfKind } from '../../src/jobs/places.js';
import { type Runner, startRunner } from '../../src/jobs/runner.js';
import { schedule, scheduleOnce } from '../../src/jobs/schedule.js';
import { IN_MEMORY, openStore, type Store } from '../../src/store/driver.js';
import { countOverdue, type JobRow, listJobs, type NewJob, removeJob } from '../../src/store/jobs.js';
import { catchUp, createLogWriter } from '../../src/store/log-writer.js';
import { migrate } from '../../src/store/migrate.js';
import { MemoryLog } from '../support/memory-log.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { openTwoCopies } from '../support/two-copies.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DONE: JobOutcome = { done: true };

/** Counts what falls due. */
class CountingClock extends TestClock {
  fired = 0;

  override after(delayMs: number, run: () => void): () => void {
    return super.after(delayMs, () => {
      this.fired++;
      run();
    });
  }
}

/** Its wall clock can be set; its steady one goes on. */
class SetClock extends TestClock {
  private setMs = 0;

  override nowMs(): number {
    return super.nowMs() + this.setMs;
  }

  set(ms: number): void {
    this.setMs += ms;
  }
}

/** What is written is replayed on a second copy, unless other processes are to write the same file: `directory` then. */
function openJobs(t: Test, directory?: string): Store {
  if (directory === undefined) {
    const { store, close } = openTwoCopies('jobs', new TestClock(), seededRandom(1));
    t.teardown(close);
    return store;
  }
  const store = openStore(directory);
  migrate(store, new TestClock(), seededRandom(1));
  t.teardown(() => store.close());
  return store;
}

function temporaryDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-jobs-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

function start(t: Test, store: Store, clock: TestClock, kinds: JobKinds, owner = 'one'): Runner {
  const runner = startRunner({ store, clock, kinds, owner, log: silentLogger() });
  t.teardown(() => runner.stop());
  return runner;
}

const findJob = (store: Store, kind: string, subject: string): JobRow | undefined =>
  listJobs(store, 100_000).find((row) => row.kind === kind && row.subject === subject);

const plan = (store: Store, clock: TestClock, ...jobs: NewJob[]): Promise<void> =>
  store.write(() => {
    for (const job of jobs) schedule(store, job, clock.nowMs());
  });

/** Everything that is ready to happen has happened. */
async function settle(): Promise<void> {
  for (let i = 0; i < 6; i++) await new Promise(setImmediate);
}

async function pass(clock: TestClock, ms: number, stepMs = SECOND): Promise<void> {
  await settle();
  for (let left = ms; left > 0; left -= stepMs) {
    clock.advance(Math.min(left, stepMs));
    await settle();
  }
}

/** A handler that waits until it is told what to do. */
function heldHandler() {
  const calls: { readonly context: JobContext; readonly end: (outcome: JobOutcome) => void }[] = [];
  const kind: JobKind = {
    handler: (context) => new Promise((end) => calls.push({ context, end })),
    limitMs: 10 * DAY,
  };
  return { calls, kind };
}

t.test('rows: one for each kind and subject, moved, kept, removed', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const now = clock.nowMs();
  await plan(store, clock, { kind: 'a', subject: 'x', runAtMs: now + 100 }, { kind: 'b', subject: 'x', runAtMs: now });
  await plan(store, clock, { kind: 'a', subject: 'x', runAtMs: now + 7.5 });
  await store.write(() => scheduleOnce(store, { kind: 'a', subject: 'x', runAtMs: now + 500 }, now));
  await store.write(() => scheduleOnce(store, { kind: 'a', subject: 'y', runAtMs: now + 500 }, now));
  t.match(listJobs(store, 10), [
    { kind: 'b', subject: 'x', run_at: now },
    { kind: 'a', subject: 'x', run_at: now + 8 },
    { kind: 'a', subject: 'y', run_at: now + 500 },
  ]);
  await store.write(() => removeJob(store, 'a', 'x'));
  t.equal(findJob(store, 'a', 'x'), undefined);
  t.equal(listJobs(store, 1).length, 1);
});

t.test('due jobs run by time; scheduling an earlier one wakes the runner', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const ran: string[] = [];
  const kind: JobKind = {
    atOnce: 1,
    async handler(_, subject) {
      ran.push(`${subject}@${clock.nowMs() - begin}`);
      return subject === 'twice' && ran.length < 8 ? { againAtMs: clock.nowMs() + 30 } : DONE;
    },
  };
  const begin = clock.nowMs();
  start(t, store, clock, { work: kind, other: kind });
  await settle();
  const job = (subject: string, ms: number): NewJob => ({ kind: 'work', subject, runAtMs: begin + ms });
  await plan(store, clock, job('late', 5000), job('second', 200), job('first', 100), job('twice', 10));
  await plan(store, clock, { ...job('unknown', 1), kind: 'unheard-of' });
  await pass(clock, 300, 1);
  t.same(ran.slice(0, 4), ['twice@10', 'twice@40', 'twice@70', 'first@100']);
  ran.length = 0;
  await plan(store, clock, job('third', 290), job('second', 280), job('first', 250));
  await pass(clock, 200, 1);
  t.same(
    ran.slice(0, 3).map((text) => text.split('@')[0]),
    ['first', 'second', 'third'],
  );
  await pass(clock, 5 * SECOND, 10);
  t.match(ran.at(-1), /^late@50\d\d$/);
  t.same(
    listJobs(store, 10).map(({ kind }) => kind),
    ['unheard-of'],
    'done jobs go; unknown ones are left alone',
  );
});

t.test('a kind limits concurrent runs', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const { calls, kind } = heldHandler();
  const other = heldHandler();
  start(t, store, clock, { slow: { ...kind, atOnce: 3 }, other: other.kind });
  const jobs = Array.from({ length: 10 }, (_, i) => ({ kind: 'slow', subject: `s${i}`, runAtMs: clock.nowMs() }));
  await plan(store, clock, ...jobs, { kind: 'other', subject: '', runAtMs: clock.nowMs() });
  await pass(clock, 3 * SECOND);
  t.equal(calls.length, 3);
  t.equal(other.calls.length, 1, 'a full kind holds nobody else up');
  calls[0]!.end(DONE);
  await pass(clock, 1);
  t.equal(calls.length, 4);
  for (let i = 1; i < 10; i++) {
    calls[i]!.end(DONE);
    await pass(clock, 1);
  }
  other.calls[0]!.end(DONE);
  await settle();
  t.same(listJobs(store, 10), []);
});

/** Jobs of accounts (store numbers), due now. */
const planFor = (store: Store, clock: TestClock, ...jobs: [account: number, subject: string][]): Promise<void> =>
  store.write(() => {
    const give = store.prepare<[account: number, subject: string]>('UPDATE jobs SET account = ? WHERE subject = ?');
    for (const [account, subject] of jobs) {
      schedule(store, { kind: 'slow', subject, runAtMs: clock.nowMs() }, clock.nowMs());
      give.run(account, subject);
    }
  });

t.test('accounts take turns at the places of a kind, and one that comes need not wait', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const running = new Map<string, () => void>();
  const began: string[] = [];
  const handler: JobKind['handler'] = (_, subject) =>
    new Promise((end) => {
      began.push(subject);
      running.set(subject, () => end(DONE));
    });
  start(t, store, clock, { slow: { handler, atOnce: 4, limitMs: 10 * DAY } });
  const many = (account: number, name: string): [number, string][] =>
    Array.from({ length: 20 }, (_, i) => [account, `${name}${i}`]);
  await planFor(store, clock, ...many(2, 'b'));
  await pass(clock, 2 * SECOND);
  t.same(began.splice(0), ['b0', 'b1', 'b2', 'b3'], 'alone, it has all places');
  await planFor(store, clock, ...many(3, 'c'), ...many(4, 'd'), ...many(5, 'e'));
  await pass(clock, 2 * SECOND);
  t.same(began.splice(0), ['c0', 'd0', 'e0'], 'one for each that comes');
  await planFor(store, clock, [1, 'a0'], [1, 'a1']);
  await pass(clock, 2 * SECOND);
  t.same(began.splice(0), ['a0'], 'three greedy neighbours keep nobody waiting');
  await planFor(store, clock, [6, 'f0']);
  await pass(clock, 2 * SECOND);
  t.same(began, [], 'those places have an end, too');
  running.get('b0')!();
  await pass(clock, 2 * SECOND);
  t.same(began.splice(0), ['f0'], 'the next turn is that of who holds none');
  for (const subject of ['b1', 'b2', 'b3', 'a0', 'f0']) running.get(subject)!();
  await pass(clock, 2 * SECOND);
  t.same(began.splice(0), ['b4', 'a1'], 'of those that hold none, who has waited longest since its last turn');
  for (const subject of ['c0', 'd0', 'e0', 'a1']) running.get(subject)!();
  await pass(clock, 2 * SECOND);
  t.same(began.splice(0).sort(), ['c1', 'd1', 'e1'], 'one each');
  for (let i = 0; i < 100 && running.size > 0; i++) {
    for (const [subject, end] of running) {
      running.delete(subject);
      end();
    }
    await pass(clock, SECOND);
  }
  t.same(listJobs(store, 10), []);
});

t.test('a job that has run for long ends when an account that has none waits and all places are taken', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const began: string[] = [];
  const ends: (() => void)[] = [];
  const handler: JobKind['handler'] = (_, subject) =>
    new Promise((end) => {
      began.push(subject);
      ends.push(() => end(DONE));
    });
  start(t, store, clock, { slow: { handler, atOnce: 2, limitMs: DAY } });
  const accounts = [2, 3, 4, 5].map((account): [number, string] => [account, `s${account}`]);
  await planFor(store, clock, ...accounts);
  await pass(clock, 2 * MINUTE);
  t.equal(began.length, 4, 'for as long as nobody waits, it has its time');
  await planFor(store, clock, [1, 'a']);
  await pass(clock, 3 * SECOND);
  t.equal(began.at(-1), 'a');
  t.match(listJobs(store, 10, 'failing'), [{ subject: 's2', last_error: /others waited/ }]);
  for (const end of ends) end();
});

t.test('more accounts than are looked at together all get their turns', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  await planFor(store, clock, ...Array.from({ length: 1200 }, (_, i): [number, string] => [i + 1, `s${i}`]));
  const places = createJobPlaces(rowsOfKind(store, 'slow'), 2);
  const choose = (): number[] => places.choose(new Map(), clock.nowMs()).map(({ account }) => account);
  t.same(
    [choose(), choose()],
    [
      [1, 2, 3, 4],
      [1001, 1002, 1003, 1004],
    ],
  );
  t.equal(places.nextAtMs(new Map([[1, 2]])), clock.nowMs());
});

t.test('an unexpected error is retried with growing delays, and its text is kept', async (t) => {
  const backoff = { firstMs: 5 * SECOND, mostMs: HOUR };
  const table: [failures: number, ms: number][] = [
    [0, 0],
    [1, 5_000],
    [2, 10_000],
    [3, 20_000],
    [10, 2_560_000],
    [11, 3_600_000],
    [1000, 3_600_000],
  ];
  for (const [failures, ms] of table) t.equal(backoffMs(backoff, failures, 16), ms, `${failures} failures`);
  t.ok(backoffMs(backoff, 11, 15) >= 0.9 * HOUR && backoffMs(backoff, 11, 15) < HOUR, 'jobs that failed together part');

  const store = openJobs(t);
  const clock = new TestClock();
  const at: number[] = [];
  const attempts: number[] = [];
  const begin = clock.nowMs();
  start(t, store, clock, {
    flaky: {
      backoff: { firstMs: 10 * SECOND, mostMs: 40 * SECOND },
      async handler({ attempt }) {
        at.push(clock.nowMs() - begin);
        attempts.push(attempt);
        if (at.length < 5) throw new Error(`no luck ${at.length} ${'!'.repeat(1000)}`);
        return { againAtMs: clock.nowMs() + DAY };
      },
    },
  });
  await plan(store, clock, { kind: 'flaky', subject: 'x', runAtMs: begin });
  await pass(clock, 15 * SECOND);
  const failing = listJobs(store, 10, 'failing');
  t.match(failing, [{ subject: 'x', attempt: 2, last_error: /^no luck 2 !/, lease_owner: null }]);
  t.equal(failing[0]!.last_error!.length, 500);
  await pass(clock, 3 * MINUTE);
  t.same(attempts, [0, 1, 2, 3, 4]);
  const rests = at.slice(1).map((ms, i) => Math.round((ms - at[i]!) / SECOND / 10) * 10);
  t.same(rests, [10, 20, 40, 40]);
  t.match(findJob(store, 'flaky', 'x'), { attempt: 0, last_error: null, failed_at: null }, 'success clears it');
});

t.test('a job scheduled while it runs, runs again', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const { calls, kind } = heldHandler();
  start(t, store, clock, { work: kind });
  const job = (ms: number) => ({ kind: 'work', subject: 'x', runAtMs: clock.nowMs() + ms });
  await plan(store, clock, job(0));
  await pass(clock, 1);
  await plan(store, clock, job(20));
  await pass(clock, 100, 10);
  t.equal(calls.length, 1, 'never twice at the same time');
  calls[0]!.end(DONE);
  await pass(clock, 1);
  t.equal(calls.length, 2);
  await plan(store, clock, job(50));
  calls[1]!.end({ againAtMs: clock.nowMs() + HOUR });
  await pass(clock, 100, 10);
  t.equal(calls.length, 3, 'the earlier of both times counts');
  await store.write(() => removeJob(store, 'work', 'x'));
  calls[2]!.end({ againAtMs: clock.nowMs() });
  await pass(clock, SECOND, 10);
  t.equal(calls.length, 3, 'one that was removed does not come back');
});

t.test('a lease that is not renewed expires, and the late result of its holder is refused', async (t) => {
  const store = openJobs(t, temporaryDirectory(t));
  const [stuckClock, clock] = [new TestClock(), new TestClock()];
  const [first, second] = [heldHandler(), heldHandler()];
  start(t, store, stuckClock, { work: first.kind }, 'stuck');
  await plan(store, stuckClock, { kind: 'work', subject: 'x', runAtMs: clock.nowMs() });
  stuckClock.advance(1);
  await settle();
  t.equal(first.calls.length, 1);
  const taken = findJob(store, 'work', 'x')!;

  const runner = start(t, store, clock, { work: second.kind }, 'other');
  await pass(clock, 29 * SECOND);
  t.equal(second.calls.length, 0, 'not before its length has passed on the own clock');
  await pass(clock, 3 * SECOND);
  t.equal(second.calls.length, 1);
  const now = findJob(store, 'work', 'x')!;
  t.match(now, { lease_owner: 'other', attempt: 1, last_error: /runner stopped renewing the lease/ });
  t.ok(now.fence > taken.fence);

  t.throws(() => first.calls[0]!.context.requireLease(), /taken over the job/);
  first.calls[0]!.end(DONE);
  await settle();
  t.same(findJob(store, 'work', 'x'), now, 'the late result changes nothing');
  second.calls[0]!.context.requireLease();
  second.calls[0]!.end(DONE);
  await settle();
  t.equal(findJob(store, 'work', 'x'), undefined);
  t.ok(runner.samples().some(({ labels, value }) => labels['result'] === 'done' && value === 1));

  await plan(store, clock, { kind: 'work', subject: 'x', runAtMs: clock.nowMs() });
  t.ok(findJob(store, 'work', 'x')!.seq > taken.seq, 'a late result cannot hit a job that was made anew');
});

t.test('a renewed lease stays, however long it takes and whatever the clocks show', async (t) => {
  const store = openJobs(t, temporaryDirectory(t));
  const clock = new SetClock();
  const other = new SetClock();
  other.set(-5 * HOUR);
  const [mine, theirs] = [heldHandler(), heldHandler()];
  start(t, store, clock, { work: mine.kind }, 'one');
  await plan(store, clock, { kind: 'work', subject: 'x', runAtMs: clock.nowMs() - 6 * HOUR });
  await pass(clock, SECOND);
  start(t, store, other, { work: theirs.kind }, 'two');
  for (let second = 0; second < 300; second++) {
    if (second === 100) clock.set(-HOUR);
    if (second === 200) clock.set(2 * HOUR);
    await pass(clock, SECOND);
    await pass(other, SECOND);
  }
  t.equal(theirs.calls.length, 0);
  t.notOk(mine.calls[0]!.context.signal.aborted);
  mine.calls[0]!.end(DONE);
  await settle();
  t.equal(findJob(store, 'work', 'x'), undefined);
});

t.test('a restarted process resumes its jobs at once, but not one that ends it each time', async (t) => {
  const store = openJobs(t, temporaryDirectory(t));
  const clock = new TestClock();
  await plan(store, clock, { kind: 'work', subject: 'x', runAtMs: clock.nowMs() });
  const rests: number[] = [];
  for (let life = 0; life < 4; life++) {
    // The life before ends without a word: its clock stands still.
    const frozen = new TestClock(clock.nowMs());
    const { calls, kind } = heldHandler();
    startRunner({ store, clock: frozen, kinds: { work: kind }, owner: 'one', log: silentLogger() });
    const begin = frozen.nowMs();
    while (calls.length === 0) await pass(frozen, 100, 100);
    rests.push(Math.round((frozen.nowMs() - begin) / 100) / 10);
    clock.advance(frozen.nowMs() - begin);
  }
  t.ok(rests[0]! < 0.5 && rests[1]! < 0.5, `first lives: ${rests}`);
  t.ok(rests[2]! >= 4.5 && rests[3]! >= 9, `later ones: ${rests}`);
  t.match(findJob(store, 'work', 'x'), { attempt: 3, last_error: 'the process ended while it ran' });
});

t.test('a run that takes too long is aborted', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const { calls, kind } = heldHandler();
  start(t, store, clock, { work: { ...kind, atOnce: 1, limitMs: MINUTE } });
  await plan(store, clock, { kind: 'work', subject: 'x', runAtMs: clock.nowMs() });
  await pass(clock, 62 * SECOND);
  t.ok(calls[0]!.context.signal.aborted);
  t.match(findJob(store, 'work', 'x'), { attempt: 1, last_error: 'the job took longer than 60 s', lease_owner: null });
  t.throws(() => calls[0]!.context.requireLease(), /taken over the job/);
  calls[0]!.end(DONE);
  await pass(clock, 10 * SECOND);
  t.equal(calls.length, 2, 'there is room for the next run');
  calls[1]!.end(DONE);
});

t.test('a stopping runner finishes its jobs, and begins no others', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const { calls, kind } = heldHandler();
  const runner = start(t, store, clock, { work: { ...kind, atOnce: 1 } });
  const jobs = ['a', 'b'].map((subject) => ({ kind: 'work', subject, runAtMs: clock.nowMs() }));
  await plan(store, clock, ...jobs);
  await pass(clock, SECOND);
  let stopped = false;
  const stopping = runner.stop().then(() => {
    stopped = true;
  });
  await pass(clock, SECOND);
  t.notOk(stopped);
  calls[0]!.end(DONE);
  await stopping;
  await pass(clock, 5 * SECOND);
  t.equal(calls.length, 1);
  t.match(listJobs(store, 10), [{ subject: 'b', lease_owner: null }]);
});

t.test('a job that waits for others does not hold up the end, and goes on after the next start', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  const { calls, kind } = heldHandler();
  const runner = start(t, store, clock, { work: { ...kind, atOnce: 1 } });
  await plan(store, clock, { kind: 'work', subject: 'a', runAtMs: clock.nowMs() });
  await pass(clock, SECOND);
  const stopping = runner.stop();
  await pass(clock, 3 * SECOND);
  await stopping;
  t.ok(calls[0]!.context.signal.aborted);
  t.match(findJob(store, 'work', 'a'), { attempt: 0, last_error: null });
  start(t, store, clock, { work: { ...kind, atOnce: 1 } });
  await pass(clock, MINUTE);
  t.equal(calls.length, 2);
  calls[1]!.end(DONE);
});

t.test('two runners on one database run each job once', async (t) => {
  const directory = temporaryDirectory(t);
  const clock = new TestClock();
  const ran = new Map<string, string[]>();
  const kindsOf = (owner: string): JobKinds => ({
    work: {
      atOnce: 8,
      async handler({ store, requireLease }, subject) {
        await store.write(requireLease);
        ran.set(subject, [...(ran.get(subject) ?? []), owner]);
        return DONE;
      },
    },
  });
  const stores = [openJobs(t, directory), openJobs(t, directory)];
  for (const [i, store] of stores.entries()) start(t, store, clock, kindsOf(`runner ${i}`), `runner ${i}`);
  await settle();
  await plan(
    stores[0]!,
    clock,
    ...Array.from({ length: 300 }, (_, i) => ({ kind: 'work', subject: String(i), runAtMs: clock.nowMs() })),
  );
  for (let i = 0; i < 500 && listJobs(stores[0]!, 1).length > 0; i++) await pass(clock, SECOND);
  t.equal(ran.size, 300);
  t.ok([...ran.values()].every((owners) => owners.length === 1));
  t.equal(new Set([...ran.values()].flat()).size, 2, 'both had a share');
});

t.test('runners on copies of one log run each job once, and the copies stay equal', async (t) => {
  const log = new MemoryLog();
  const clock = new TestClock();
  const ran: string[] = [];
  const stores = [1, 2].map((seed) => {
    const store = openStore(temporaryDirectory(t), { writer: (own) => createLogWriter(own, log, seededRandom(seed)) });
    t.teardown(() => store.close());
    return store;
  });
  for (const store of stores) migrate(store, clock, seededRandom(5));
  const kinds: JobKinds = {
    work: {
      async handler(_, subject) {
        ran.push(subject);
        if (subject === '3' && ran.filter((other) => other === '3').length === 1) throw new Error('once');
        return subject === '5' ? { againAtMs: clock.nowMs() + DAY } : DONE;
      },
    },
  };
  for (const [i, store] of stores.entries()) start(t, store, clock, kinds, `node ${i}`);
  await settle();
  for (const [i, store] of stores.entries()) {
    const subjects = Array.from({ length: 15 }, (_, n) => String(2 * n + i));
    await plan(store, clock, ...subjects.map((subject) => ({ kind: 'work', subject, runAtMs: clock.nowMs() })));
  }
  for (let i = 0; i < 60; i++) {
    await pass(clock, SECOND);
    for (const store of stores) await catchUp(store, log);
  }
  t.same(
    ran.map(Number).sort((a, b) => a - b),
    [...Array.from({ length: 30 }, (_, i) => i), 3].sort((a, b) => a - b),
    'and the one that failed twice',
  );
  t.match(listJobs(stores[0]!, 10), [{ subject: '5' }]);
  t.same(listJobs(stores[0]!, 10), listJobs(stores[1]!, 10));
});

t.test('after three days of downtime 2500 jobs are spread', { timeout: 240_000 }, async (t) => {
  // Five thousand writes: one copy is enough here, and in memory.
  const store = openJobs(t, IN_MEMORY);
  const clock = new TestClock();
  const perSecond = new Map<number, number>();
  const ran = new Set<string>();
  let begin = 0;
  const kinds: JobKinds = {
    recheck: {
      async handler(_, subject) {
        ran.add(subject);
        const second = Math.floor((clock.nowMs() - begin) / SECOND);
        perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
        return { againAtMs: clock.nowMs() + DAY };
      },
    },
    urgent: { handler: async () => DONE },
  };
  const count = 2500;
  const jobs = Array.from({ length: count }, (_, i) => ({
    kind: 'recheck',
    subject: String(i),
    runAtMs: clock.nowMs() + (i % 100) * 36 * SECOND,
  }));
  await plan(store, clock, ...jobs, { kind: 'urgent', subject: '', runAtMs: clock.nowMs() + DAY });
  clock.advance(3 * DAY);
  t.equal(countOverdue(store, 'recheck', clock.nowMs()), count);
  begin = clock.nowMs();
  const runner = start(t, store, clock, kinds);
  await pass(clock, 25 * SECOND, 200);
  t.equal(findJob(store, 'urgent', ''), undefined, 'one of another kind waits for nobody');
  const early = ran.size;
  t.ok(early > count * 0.08 && early < count * 0.12, `${early} in the first tenth`);

  await runner.stop();
  const left = countOverdue(store, 'recheck', clock.nowMs() + HOUR);
  start(t, store, clock, kinds);
  await pass(clock, 2 * SECOND, 200);
  t.ok(ran.size - early < 60, 'starting again does not bring them all at once');
  t.equal(left, count - early);
  await pass(clock, 250 * SECOND, 200);
  t.equal(ran.size, count, 'within 2500 tenths of a second');
  const most = Math.max(...perSecond.values());
  t.ok(most <= 40, `at most ${most} in a second`);
  t.equal(
    [...perSecond.values()].reduce((sum, some) => sum + some, 0),
    count,
    'each once',
  );
});

t.test('spreading is bounded, proportional, and the same on every copy', async (t) => {
  const spans: number[] = [];
  for (const count of [2, 50, 40_000]) {
    const store = openJobs(t);
    const clock = new TestClock();
    const jobs = Array.from({ length: count }, (_, i) => ({
      kind: 'work',
      subject: String(i),
      runAtMs: clock.nowMs() - 1,
    }));
    await plan(store, clock, ...jobs);
    start(t, store, clock, { work: { handler: async () => DONE } });
    await settle();
    spans.push(listJobs(store, count).at(-1)!.run_at - clock.nowMs());
  }
  t.ok(spans[0]! <= 200 && spans[1]! <= 5000 && spans[1]! > 4000, String(spans));
  t.ok(spans[2]! <= 30 * MINUTE && spans[2]! > 29 * MINUTE, String(spans));
});

t.test('a clock that is set back by an hour neither repeats jobs nor delays them by an hour', async (t) => {
  for (const restart of [false, true]) {
    const store = openJobs(t);
    const clock = new SetClock();
    const steady = (): number => clock.steadyUs() / 1000;
    const at: number[] = [];
    const kinds: JobKinds = {
      tenMinutes: {
        async handler() {
          at.push(steady());
          return { againAtMs: clock.nowMs() + 10 * MINUTE };
        },
      },
    };
    const runner = start(t, store, clock, kinds);
    await plan(store, clock, { kind: 'tenMinutes', subject: '', runAtMs: clock.nowMs() });
    await pass(clock, 35 * MINUTE, 10 * SECOND);
    t.equal(at.length, 4);
    if (restart) await runner.stop();
    clock.set(-HOUR);
    if (restart) start(t, store, clock, kinds);
    await pass(clock, 40 * MINUTE, 10 * SECOND);
    clock.set(HOUR);
    await pass(clock, 40 * MINUTE, 10 * SECOND);
    const rests = at.slice(1).map((ms, i) => Math.round((ms - at[i]!) / MINUTE));
    t.ok(
      rests.every((minutes) => minutes <= 16),
      `${rests}`,
    );
    t.ok(rests.filter((minutes) => minutes < 9).length <= 1, `only what the second change made due: ${rests}`);
  }
});

t.test('the runner survives failures of the store', async (t) => {
  const store = openJobs(t);
  const clock = new TestClock();
  let broken = false;
  const brittle: Store = Object.assign(Object.create(store), {
    write: <T>(work: () => T): Promise<T> => (broken ? Promise.reject(new Error('disk full')) : store.write(work)),
  });
  let ran = 0;
  start(t, brittle, clock, {
    work: {
      async handler() {
        broken = ++ran === 1;
        return DONE;
      },
    },
  });
  await plan(store, clock, { kind: 'work', subject: 'x', runAtMs: clock.nowMs() });
  await pass(clock, 20 * SECOND);
  t.equal(ran, 1);
  t.match(findJob(store, 'work', 'x'), { lease_owner: 'one' }, 'what came of it could not be written');
  broken = false;
  await pass(clock, 40 * SECOND);
  t.equal(ran, 2, 'when the lease has ended it runs again');
  t.equal(findJob(store, 'work', 'x'), undefined);
});

t.test('without jobs it looks seldom, and soon after a commit of another process', async (t) => {
  const directory = temporaryDirectory(t);
  const store = openJobs(t, directory);
  const other = openStore(directory);
  t.teardown(() => other.close());
  const clock = new CountingClock();
  const calls: string[] = [];
  const kinds: JobKinds = {
    work: {
      async handler(_, subject) {
        calls.push(subject);
        return DONE;
      },
    },
  };
  const runner = start(t, store, clock, kinds);
  await pass(clock, MINUTE);
  t.ok(clock.fired <= 8, `${clock.fired} looks in a minute`);
  await plan(other, clock, { kind: 'work', subject: 'said', runAtMs: clock.nowMs() });
  runner.wake();
  await pass(clock, SECOND, 100);
  t.strictSame(calls, ['said'], 'within a second');
  await plan(other, clock, { kind: 'work', subject: 'not said', runAtMs: clock.nowMs() });
  await pass(clock, 11 * SECOND);
  t.strictSame(calls, ['said', 'not said'], 'and some seconds later without a word');
});
