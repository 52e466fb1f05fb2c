/** What several edge processes count together, and the places that they give out together. */
import t from 'tap';
import { createTurns, type Leave } from '../../../src/base/turns.js';
import { createSharedCounts, KEY_OCTETS, PART_OCTETS, partOffset } from '../../../src/edge/shared/counts.js';
import { createSharedPlaces } from '../../../src/edge/shared/places.js';
import { seededRandom } from '../../support/seeded-random.js';
import { TestClock } from '../../support/test-clock.js';
import { sharedMemory } from './memory.js';

t.test('a bound is that of all processes together', async (t) => {
  const memory = sharedMemory(3);
  const [first, second, third] = memory.map((own) => createSharedCounts(own, 'connections', 4));
  t.same(
    [first, first, second, third, second, first].map((counts) => counts!.take('192.0.2.1')),
    [true, true, true, true, false, false],
  );
  t.ok(second!.take('192.0.2.2'), 'another name has its own');
  first!.give('192.0.2.1');
  t.ok(third!.take('192.0.2.1'), 'a place that one process frees is there for another');
  t.same([first!.own('192.0.2.1'), third!.own('192.0.2.1'), second!.all('192.0.2.1')], [1, 2, 4]);
  const other = createSharedCounts(memory[0]!, 'resets', 1);
  t.equal(other.all('192.0.2.1'), 0, 'another table counts for itself');
});

t.test('one process may have all of it', async (t) => {
  const [first, second] = sharedMemory(2).map((own) => createSharedCounts(own, 'requests', 32));
  t.same(new Set(Array.from({ length: 32 }, () => first!.take('2001:db8::/64'))), new Set([true]));
  t.notOk(second!.take('2001:db8::/64'));
});

t.test('the part of a process that has ended is cleared', async (t) => {
  const [first, second] = sharedMemory(2).map((own) => ({ own, counts: createSharedCounts(own, 'connections', 2) }));
  for (const { counts } of [first!, second!]) t.ok(counts.take('192.0.2.1'));
  t.notOk(second!.counts.take('192.0.2.1'));
  new Uint8Array(second!.own.words.buffer, partOffset(0), PART_OCTETS).fill(0);
  t.ok(second!.counts.take('192.0.2.1'), 'what it held is free');
  t.notOk(second!.counts.take('192.0.2.1'), 'and what the other holds is not');
  t.equal(second!.own.words.byteLength, KEY_OCTETS + 2 * PART_OCTETS);
});

t.test('names that share words with others are seldom refused, and none has more than the bound', async (t) => {
  const [first, second] = sharedMemory(2).map((own) => createSharedCounts(own, 'requests', 2));
  const random = seededRandom(5);
  const names = Array.from({ length: 3000 }, () => random.bytes(4).join('.'));
  let refused = 0;
  for (const name of names) if (!first!.take(name) || !second!.take(name)) refused++;
  t.ok(refused < 30, `${refused} of 3,000 clients that use all they may`);
  for (const name of names.slice(0, 100)) t.notOk(first!.take(name));
});

/** Places for one client in each of two processes. */
function twoPlaces(most: number) {
  const clock = new TestClock();
  const processes = sharedMemory(2).map((own) =>
    createSharedPlaces({
      own: createTurns(
        { all: { places: 100, waiting: 100 }, each: [{ places: most, waiting: 100 }], waitMs: 1000 },
        clock,
      ),
      held: createSharedCounts(own, 'requests', most),
      waiting: createSharedCounts(own, 'waiting requests', Number.POSITIVE_INFINITY),
      ...{ waitMs: 1000, processes: 2, clock },
    }),
  );
  const taken: Leave[] = [];
  const told: string[] = [];
  const ask = (process: number, name = ''): (() => void) =>
    processes[process]!.ask(['client'], {}, (turn) => {
      told.push(typeof turn === 'function' ? `${name || process}` : `${name || process} ${turn}`);
      if (typeof turn === 'function') taken.push(turn);
    });
  return { clock, processes, taken, told, ask };
}

t.test('who waits in one process gets a place that another one frees', async (t) => {
  const { clock, processes, taken, told, ask } = twoPlaces(2);
  for (const _ of [1, 2]) taken.push(processes[0]!.enterNow(['client'])!);
  t.equal(processes[1]!.enterNow(['client']), undefined);
  ask(1, 'a');
  ask(1, 'b');
  clock.advance(100);
  t.same(told, []);
  taken.shift()!();
  taken.shift()!();
  clock.advance(10);
  t.same(told, ['a', 'b'], 'in the order in which they came');
  for (const leave of taken) leave();
  t.ok(processes[0]!.enterNow(['client']) && processes[0]!.enterNow(['client']), 'all are free again');
});

t.test('a process with more than its part leaves places to one in which somebody waits', async (t) => {
  const { clock, processes, taken, told, ask } = twoPlaces(4);
  for (const _ of [1, 2, 3, 4]) taken.push(processes[0]!.enterNow(['client'])!);
  ask(0);
  ask(1);
  taken.shift()!();
  t.same(told, [], 'the one that waits in the same process does not get it at once');
  t.equal(processes[0]!.enterNow(['client']), undefined, 'nor does one that comes later');
  clock.advance(5);
  taken.shift()!();
  clock.advance(5);
  t.same(told.sort(), ['0', '1'], 'but nothing stays free while somebody waits');
});

t.test('nobody waits for longer than the limit, and who leaves takes nothing with it', async (t) => {
  const { clock, processes, taken, told, ask } = twoPlaces(1);
  taken.push(processes[0]!.enterNow(['client'])!);
  ask(1, 'late');
  const leave = ask(1, 'gone');
  leave();
  clock.advance(1010);
  t.same(told, ['late late']);
  taken.shift()!();
  const place = processes[1]!.enterNow(['client']);
  t.ok(place, 'its place is free');
  place!();
  place!();
  const [one, two] = [processes[0]!.enterNow(['client']), processes[1]!.enterNow(['client'])];
  t.ok(one && !two, 'to leave twice frees one place');
});
