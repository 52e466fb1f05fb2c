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

t.test('what is being verified keeps its room', async (t) => {
  const room = createProofRoom(100);
  const settled = room.enter(1, () => t.fail('it has all its proofs'));
  settled.add(90);
  settled.settle();
  const other = room.enter(2, () => {});
  t.throws(() => other.add(20), /at once/);
  settled.release();
  const later = room.enter(2, () => {});
  later.add(20);
  t.pass('there is room again');
});
