/** Places that accounts share: directed cases, and random sequences beside a simple model. */
import t from 'tap';
import { steadyMs } from '../../src/base/clock.js';
import { createTurns, type Leave, type NoTurn, Place, type TurnLimits, type Turns } from '../../src/base/turns.js';
import { throwDice } from '../support/dice.js';
import { TestClock } from '../support/test-clock.js';

const LIMITS: TurnLimits = {
  all: { places: 4, waiting: 6 },
  each: [
    { places: 3, waiting: 4 },
    { places: 2, waiting: 3 },
  ],
  waitMs: 1000,
};

interface Asked {
  readonly classes: readonly string[];
  result: Leave | NoTurn | undefined;
}

function ask(turns: Turns, classes: readonly string[], signal?: AbortSignal): Asked {
  const asked: Asked = { classes, result: undefined };
  void turns.enter(classes, { signal }).then((result) => (asked.result = result));
  return asked;
}

const settled = (): Promise<void> => new Promise(setImmediate);
const has = ({ result }: Asked): boolean => typeof result === 'function';
const leave = ({ result }: Asked): void => (result as Leave)();

t.test('a class never holds more than its places, and others go ahead of those of it that wait', async (t) => {
  const turns = createTurns(LIMITS, new TestClock());
  const b = [1, 2, 3, 4].map((zone) => ask(turns, ['b', String(zone)]));
  const a = ask(turns, ['a', '1']);
  await settled();
  t.strictSame(b.map(has), [true, true, true, false]);
  t.ok(has(a), 'the fourth place is left for another account');
  leave(a);
  await settled();
  t.notOk(has(b[3]!));
  leave(b[0]!);
  leave(b[0]!);
  await settled();
  t.ok(has(b[3]!));
  t.equal(turns.held, 3, 'a place is freed once');
});

t.test('a place that becomes free goes to who holds fewest', async (t) => {
  const turns = createTurns({ ...LIMITS, all: { places: 2, waiting: 20 } }, new TestClock());
  const first = [ask(turns, ['b', '1']), ask(turns, ['b', '2'])];
  const later = [ask(turns, ['b', '3']), ask(turns, ['b', '4'])];
  const a = ask(turns, ['a', '1']);
  const c = ask(turns, ['c', '1']);
  await settled();
  leave(first[0]!);
  await settled();
  t.ok(has(a));
  leave(first[1]!);
  await settled();
  t.ok(has(c));
  t.strictSame(later.map(has), [false, false]);
});

t.test('waiting has a limit in number and in time', async (t) => {
  const clock = new TestClock();
  const turns = createTurns(LIMITS, clock);
  const b = Array.from({ length: 8 }, () => ask(turns, ['b', '1']));
  await settled();
  t.strictSame(b.map(has), [true, true, false, false, false, false, false, false]);
  t.strictSame(
    b.map(({ result }) => result === 'full'),
    [false, false, false, false, false, true, true, true],
  );
  clock.advance(1000);
  await settled();
  t.strictSame(
    b.slice(2, 5).map(({ result }) => result),
    ['late', 'late', 'late'],
  );
  t.equal(turns.waiting, 0);
  t.match(
    turns.samples('test').find(({ labels }) => labels.reason === 'late'),
    { name: 'turns_refused_total', value: 3 },
  );
});

t.test('who has most waiting makes room for another that comes', async (t) => {
  const each = LIMITS.each.map((bounds) => ({ ...bounds, waiting: 9 }));
  const turns = createTurns({ all: { places: 1, waiting: 4 }, each, waitMs: 1000 }, new TestClock());
  const b = Array.from({ length: 6 }, (_, i) => ask(turns, ['b', i < 4 ? '1' : '2']));
  await settled();
  t.strictSame(
    b.map(({ result }) => result === 'full'),
    [false, false, false, false, false, true],
    'an account makes no room for itself',
  );
  const a = [ask(turns, ['a', '1']), ask(turns, ['a', '1']), ask(turns, ['a', '1'])];
  await settled();
  t.strictSame(
    a.map(({ result }) => result === 'full'),
    [false, false, true],
    'as many as of the other',
  );
  t.strictSame(
    b.slice(1, 5).map(({ result }) => result === 'full'),
    [true, true, false, false],
    'of the zone in which most wait',
  );
  t.equal(turns.waiting, 4);
});

t.test('whoever has gone leaves the queue', async (t) => {
  const turns = createTurns({ ...LIMITS, all: { places: 1, waiting: 9 } }, new TestClock());
  const first = ask(turns, ['a', '1']);
  const gone = new AbortController();
  const second = ask(turns, ['a', '1'], gone.signal);
  const third = ask(turns, ['a', '1']);
  gone.abort();
  await settled();
  t.equal(second.result, 'gone');
  leave(first);
  await settled();
  t.ok(has(third));
  t.equal(ask(turns, ['a', '1'], gone.signal).result, undefined);
  await settled();
  t.equal(turns.waiting, 0);
});

t.test('who holds none need not wait until others end what they began', async (t) => {
  const turns = createTurns({ ...LIMITS, all: { places: 3, beyond: 2, waiting: 9 } }, new TestClock());
  const b = ['1', '2', '3', '4'].map((zone) => ask(turns, ['b', zone]));
  const a = [ask(turns, ['a', '1']), ask(turns, ['a', '2'])];
  const c = ask(turns, ['c', '1']);
  const d = ask(turns, ['d', '1']);
  await settled();
  t.strictSame(b.map(has), [true, true, true, false], 'alone, it has all places');
  t.strictSame(a.map(has), [true, false], 'one place of those beyond');
  t.strictSame([c, d].map(has), [true, false], 'those have an end, too');
  leave(b[0]!);
  await settled();
  t.strictSame([d, a[1]!, b[3]!].map(has), [true, false, false]);
});

t.test('after a while, who holds most gives back what it was given first', async (t) => {
  const clock = new TestClock();
  const limits = { all: { places: 6, waiting: 9 }, each: [{ places: 6, waiting: 9 }], waitMs: 5000, patienceMs: 500 };
  const turns = createTurns(limits, clock);
  const given: string[] = [];
  const hold = (name: string): Leave => {
    const leave = turns.enterNow([name.slice(0, 1)], {
      giveBack() {
        given.push(name);
        leave!();
      },
    });
    return leave!;
  };
  for (const name of ['b1', 'b2', 'c1', 'b3', 'b4', 'c2']) hold(name);
  t.equal(turns.enterNow(['a']), undefined, 'nothing is taken at once');
  const a = [1, 2, 3, 4].map(() => ask(turns, ['a']));
  clock.advance(499);
  await settled();
  t.strictSame(given, []);
  clock.advance(1);
  await settled();
  t.strictSame(given, ['b1', 'b2'], 'until others would hold no more than the newcomer');
  t.strictSame(a.map(has), [true, true, false, false]);
  const own = createTurns({ ...limits, each: [{ places: 2, waiting: 9 }] }, clock);
  for (let i = 0; i < 2; i++) own.enterNow(['b'], { giveBack: () => given.push('own') });
  ask(own, ['b']);
  clock.advance(600);
  t.equal(given.includes('own'), false, 'a class does not take from itself');
});

t.test('it takes back what waits for its client before what is still at work', async (t) => {
  const clock = new TestClock();
  const given: string[] = [];
  const bounds = { places: 3, waiting: 9 };
  const turns = createTurns({ all: bounds, each: [bounds], waitMs: 5000, patienceMs: 50 }, clock);
  for (const name of ['at work', 'unread', 'last']) {
    turns.enterNow(['b'], { giveBack: () => given.push(name), isUnread: () => name === 'unread' });
  }
  ask(turns, ['a']);
  clock.advance(60);
  t.strictSame(given, ['unread']);
});

t.test('everyone who waits gives up at their own time, whoever came and went before', async (t) => {
  const clock = new TestClock();
  const turns = createTurns({ ...LIMITS, all: { places: 1, waiting: 9 } }, clock);
  const first = ask(turns, ['a', '1']);
  const short = new AbortController();
  ask(turns, ['a', '1'], short.signal);
  clock.advance(300);
  const second = ask(turns, ['b', '1']);
  let shorter: Leave | NoTurn | undefined;
  turns.ask(['c', '1'], { waitMs: 200 }, (turn) => (shorter = turn));
  short.abort();
  clock.advance(199);
  t.equal(shorter, undefined);
  clock.advance(1);
  t.equal(shorter, 'late', 'a shorter wait ends before that of others');
  clock.advance(799);
  await settled();
  t.equal(second.result, undefined, 'the end of one wait does not end others');
  clock.advance(1);
  await settled();
  t.equal(second.result, 'late');
  const third = ask(turns, ['b', '1']);
  await settled();
  leave(first);
  await settled();
  t.ok(has(third));
  clock.advance(5000);
  t.strictSame([turns.waiting, turns.held], [0, 1], 'who has a place does not give up');
});

t.test('one place is taken, waited for and left again and again', async (t) => {
  const clock = new TestClock();
  const turns = createTurns({ ...LIMITS, all: { places: 1, waiting: 9 } }, clock);
  const nowMs = steadyMs(clock);
  const told: string[] = [];
  const given = { giveBack: () => void told.push('give back') };
  const place = new Place(given, { onTurn: () => void told.push('turn'), onNoTurn: (why) => void told.push(why) });
  for (const _ of [1, 2]) {
    t.ok(turns.take(place, ['a', '1']));
    t.equal(turns.held, 1);
    for (const _ of [1, 2]) turns.leave(place, nowMs);
    t.strictSame([turns.held, turns.waiting], [0, 0], 'it is left once');
    const other = turns.enterNow(['b', '1'])!;
    t.notOk(turns.take(place, ['a', '1']));
    turns.wait(place, ['a', '1'], nowMs);
    turns.leave(place, nowMs);
    other();
    t.strictSame([turns.held, turns.waiting, ...told.splice(0)], [0, 0], 'of a wait that was ended, nothing is told');
    const last = turns.enterNow(['b', '1'])!;
    turns.wait(place, ['a', '1'], nowMs);
    last();
    t.strictSame([turns.held, ...told.splice(0)], [1, 'turn']);
    turns.leave(place, nowMs);
  }
  turns.enterNow(['b', '1']);
  turns.wait(place, ['a', '1'], nowMs, 10);
  clock.advance(10);
  t.strictSame([turns.waiting, ...told], [0, 'late']);
});

t.test('random sequences keep what is promised', async (t) => {
  for (let seed = 1; seed <= 400; seed++) {
    const fault = await walk(seed, seed % 2 === 0 ? LIMITS : { ...LIMITS, all: { ...LIMITS.all, beyond: 2 } });
    if (fault) return t.fail(`seed ${seed}: ${fault}`);
  }
  t.pass();
});

/** What is wrong after a random sequence of entering, leaving, giving up and time that passes. */
async function walk(seed: number, limits: TurnLimits): Promise<string | undefined> {
  const { below } = throwDice(seed);
  const clock = new TestClock();
  const turns = createTurns(limits, clock);
  const all: (Asked & { readonly controller: AbortController; isOver: boolean })[] = [];
  for (let step = 0; step < 60; step++) {
    const act = below(10);
    const [one] = all
      .filter((asked) => !asked.isOver && (act < 8 ? has(asked) : asked.result === undefined))
      .slice(below(3));
    if (act < 5) {
      const controller = new AbortController();
      const classes = ['abc'[below(3)]!, '12'[below(2)]!];
      all.push(Object.assign(ask(turns, classes, controller.signal), { controller, isOver: false }));
    } else if (act === 9) clock.advance(below(400));
    else if (one && act === 8) one.controller.abort();
    else if (one) {
      one.isOver = true;
      leave(one);
    }
    await settled();
    const fault = faultOf(turns, limits, all);
    if (fault) return `step ${step}: ${fault}`;
  }
  return undefined;
}

/** The model: who holds and who waits, counted from outside. */
function faultOf(
  turns: Turns,
  { all: bounds, each }: TurnLimits,
  all: readonly (Asked & { readonly isOver: boolean })[],
): string | undefined {
  const held = all.filter((asked) => !asked.isOver && has(asked));
  const waiting = all.filter(({ result }) => result === undefined);
  if (turns.held !== held.length) return `${held.length} are held, not ${turns.held}`;
  if (turns.waiting !== waiting.length) return `${waiting.length} wait, not ${turns.waiting}`;
  const inClass = (list: readonly Asked[], classes: readonly string[]): number =>
    list.filter((asked) => classes.every((name, level) => asked.classes[level] === name)).length;
  const { places, beyond = 0 } = bounds;
  if (held.length > places + beyond) return 'more places are held than there are';
  if (waiting.length > bounds.waiting) return 'more wait than may';
  for (const { classes } of [...held, ...waiting]) {
    const paths = [classes.slice(0, 1), classes];
    for (const [level, path] of paths.entries()) {
      if (inClass(held, path) > each[level]!.places) return `${path} holds more than it may`;
      if (inClass(waiting, path) > each[level]!.waiting) return `more of ${path} wait than may`;
    }
  }
  const able = waiting.find(({ classes }) => {
    const counts = [classes.slice(0, 1), classes].map((path) => inClass(held, path));
    const isFirst = counts[0] === 0;
    return held.length < places + (isFirst ? beyond : 0) && counts.every((count, level) => count < each[level]!.places);
  });
  return able && `${able.classes} waits though there is a place`;
}
