/** Writes that take long: between their steps others read what was committed last, and wait with writes of their own. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { IN_MEMORY, type OpenOptions, openStore, type Store } from '../../src/store/driver.js';
import { beginWriteLog, writesOnTheirWay } from '../../src/store/log/write-log.js';
import { findMeta, putMeta } from '../../src/store/meta.js';
import { migrate } from '../../src/store/migrate.js';
import { HastyClock } from '../support/hasty-clock.js';
import { seededRandom } from '../support/seeded-random.js';

const clock = new HastyClock();

function open(t: Test, options: OpenOptions = {}): Store {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-steps-'));
  const store = openStore(directory, options);
  migrate(store, clock, seededRandom(3));
  t.teardown(() => {
    store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return store;
}

const STEPS = ['lost_changes', 'verified_bodies', 'last_account'] as const;

function* putEach(store: Store, between: (step: string) => void = () => {}): Generator<undefined, number> {
  for (const step of STEPS) {
    putMeta(store, step, 'here');
    yield;
    between(step);
  }
  return STEPS.length;
}

const seen = (store: Store): string[] => STEPS.filter((step) => findMeta(store, step) !== undefined);

t.test('nobody sees a step before the last one, and all see all of them afterwards', async (t) => {
  let commits = 0;
  const store = open(t, { onCommit: () => commits++ });
  const [before, state] = [commits, store.state()];
  const turns: string[][] = [];
  const watching = (async () => {
    for (; commits === before; await nextTurn()) turns.push(seen(store));
  })();
  const own = (writer: Store): Generator<undefined, number> =>
    putEach(writer, () => t.notSame(seen(writer), [], 'it sees what it has written itself'));
  t.equal(await store.writeInSteps(clock, own), STEPS.length);
  await watching;
  t.ok(turns.length > STEPS.length, 'others have their turns meanwhile');
  for (const turn of turns) t.same(turn, []);
  t.same(seen(store), STEPS);
  t.equal(commits, before + 1);
  t.not(store.state(), state, 'what was read before is not current any more');
});

t.test('writes of others wait for its end, and follow in their order', async (t) => {
  const store = open(t);
  const order: string[] = [];
  const note = async (name: string, written: Promise<unknown>): Promise<void> => {
    await written;
    order.push(name);
  };
  const first = note(
    'steps',
    store.writeInSteps(clock, (writer) => putEach(writer)),
  );
  const others = [
    note(
      'write',
      store.write(() => putMeta(store, 'lost_changes', 'later')),
    ),
    note(
      'steps again',
      store.writeInSteps(clock, (writer) => putEach(writer)),
    ),
    note(
      'dry run',
      store.dryRun(() => t.equal(findMeta(store, 'last_account'), 'here')),
    ),
  ];
  await Promise.all([first, ...others]);
  t.equal(order[0], 'steps');
  t.same([...order].sort(), ['dry run', 'steps', 'steps again', 'write']);
});

t.test('nobody waits between its steps on the thread that makes them', async (t) => {
  const store = open(t);
  const written = store.writeInSteps(clock, (writer) =>
    putEach(writer, () => t.throws(() => store.capture(() => {}), { message: /in steps/ })),
  );
  t.equal(await written, STEPS.length);
});

t.test('a failure in the last step leaves nothing, and others can write', async (t) => {
  const store = open(t);
  const failing = store.writeInSteps(clock, (writer) =>
    putEach(writer, (step) => {
      if (step === 'last_account') throw new Error('refused');
    }),
  );
  await t.rejects(failing, { message: 'refused' });
  t.same(seen(store), []);
  await store.write(() => putMeta(store, 'lost_changes', 'here'));
  t.same(seen(store), ['lost_changes']);
});

t.test('a handle that is closed between two steps leaves nothing', async (t) => {
  const store = open(t);
  const { path } = store;
  const closing = store.writeInSteps(clock, (writer) =>
    putEach(writer, (step) => {
      if (step === 'verified_bodies') store.close();
    }),
  );
  await t.rejects(closing);
  const again = openStore(join(path, '..'));
  t.same(seen(again), []);
  again.close();
});

t.test('a handle that is closed, or only reads, opens no other one to write', async (t) => {
  const store = open(t);
  const directory = join(store.path, '..');
  const reader = openStore(directory, { readonly: true });
  store.close();
  for (const one of [store, reader]) await t.rejects(one.writeInSteps(clock, (writer) => putEach(writer)));
  t.same(seen(reader), []);
  reader.close();
});

t.test('what is logged of it is one write', async (t) => {
  const store = open(t);
  await store.write(() => beginWriteLog(store, 'series'));
  const before = writesOnTheirWay(store, 0, 1 << 20).length;
  await store.writeInSteps(clock, (writer) => putEach(writer));
  t.equal(writesOnTheirWay(store, 0, 1 << 20).length, before + 1);
});

t.test('a database in memory has one handle: all steps are one write', async (t) => {
  const store = openStore(IN_MEMORY);
  migrate(store, clock, seededRandom(3));
  t.equal(await store.writeInSteps(clock, (writer) => putEach(writer)), STEPS.length);
  t.same(seen(store), STEPS);
  store.close();
});
