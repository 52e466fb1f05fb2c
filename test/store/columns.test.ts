import t from 'tap';
import { column, columns, insertion } from '../../src/store/columns.js';

const PEER = columns({ id: column<number>(), name: column<string>(), port: column<number | null>() });

t.test('lists of a statement have the columns of a table in one order', async (t) => {
  t.equal(insertion('peers', PEER), 'INSERT INTO peers (id, name, port) VALUES (?, ?, ?)');
  t.strictSame(PEER.values({ port: null, name: 'a', id: 1 }), [1, 'a', null]);
});

t.test('an update sets some of them', async (t) => {
  const named = PEER.only('port', 'name');
  t.equal(named.assignments, 'port = ?, name = ?');
  t.strictSame(named.values({ name: 'a', port: 53 }), [53, 'a']);
  const numbered = PEER.without('name');
  t.equal(numbered.list, 'id, port');
  t.strictSame(numbered.values({ id: 1, port: 53 }), [1, 53]);
});

t.test('a name that is not a plain word is refused, because statements contain it', async (t) => {
  t.throws(() => columns({ 'a; b': column<number>() }), /plain names/);
});
