/** The room for signatures and proofs of transfers, which accounts share. */
import t from 'tap';
import { createProofRoom } from '../../src/transfer/in/proof-room.js';

t.test('the account that has most loses its largest transfer', async (t) => {
  const room = createProofRoom(100);
  const dropped: string[] = [];
  const enter = (account: number, name: string) => room.enter(account, () => dropped.push(name));
  const own = enter(1, 'own');
  own.add(45);
  const [small, large] = [enter(2, 'small'), enter(2, 'large')];
  small.add(22);
  large.add(33);
  t.same(dropped, [], 'a hundred have room');
  small.add(1);
  t.same(dropped, ['large'], 'of the account that has most, the largest one');
  t.throws(() => large.add(1), /more than 100 signatures and proofs at once/);
  own.add(30);
  t.same(dropped, ['large'], 'which gave its room to the others');
  t.throws(() => own.add(10), /at once/, 'now this account has most');
  t.same(dropped, ['large', 'own']);
  small.add(77);
  small.release();
  enter(3, 'other').add(100);
  t.same(dropped, ['large', 'own'], 'what has ended leaves its room');
});

const never = new AbortController().signal;

t.test('what is being verified keeps its room', async (t) => {
  const room = createProofRoom(100);
  const settled = room.enter(1, () => t.fail('it has all its proofs'));
  settled.add(50);
  await settled.settle(never);
  const other = room.enter(2, () => {});
  t.throws(() => other.add(60), /at once/);
  settled.release();
  const later = room.enter(2, () => {});
  later.add(60);
  t.pass('there is room again');
});

t.test('an account has half of the room verified at once, and what waits makes room for others', async (t) => {
  const room = createProofRoom(100);
  const dropped: string[] = [];
  const enter = (account: number, name: string) => room.enter(account, () => dropped.push(name));
  const [first, second, third] = [enter(1, 'first'), enter(1, 'second'), enter(1, 'third')];
  first.add(50);
  await first.settle(never);
  second.add(30);
  third.add(20);
  const [waiting, also] = [second.settle(never), third.settle(never)];
  waiting.catch(() => {});
  const other = enter(2, 'other');
  other.add(25);
  t.same(dropped, ['second'], 'the room is full, and the account that has most loses what is not verified yet');
  await t.rejects(waiting, /at once/);
  await other.settle(never);
  const late = enter(3, 'late');
  late.add(5);
  const verified = late.settle(never);
  t.equal(await Promise.race([verified.then(() => 'verified'), also.then(() => 'also'), nextTurn()]), 'waits');
  first.release();
  await Promise.all([verified, also]);
  t.same(dropped, ['second'], 'both were verified when there was room');
});

t.test('whoever waits to be verified ends with the process', async (t) => {
  const room = createProofRoom(100);
  const [first, second] = [room.enter(1, () => {}), room.enter(1, () => {})];
  first.add(50);
  await first.settle(never);
  second.add(1);
  const ending = new AbortController();
  const waiting = second.settle(ending.signal);
  ending.abort();
  await t.rejects(waiting);
});

function nextTurn(): Promise<string> {
  return new Promise((resolve) => setImmediate(resolve, 'waits'));
}
