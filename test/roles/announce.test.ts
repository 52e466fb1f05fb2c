/** The first lines on a terminal. */
import t from 'tap';
import { breakLine } from '../../src/roles/announce.js';

t.test('lines break at words, below their text', async (t) => {
  const line = 'note     the name servers do not exist for anybody else; set --nameservers';
  t.same(breakLine(line, 200), [line]);
  t.same(breakLine(line, 40), [
    'note     the name servers do not exist',
    '         for anybody else; set',
    '         --nameservers',
  ]);
  const link = `web      http://127.0.0.1:8053/#${'x'.repeat(60)}`;
  t.same(breakLine(link, 40), [link], 'a link stays whole');
  t.same(breakLine(`${link} signs in once`, 40), [link, '         signs in once']);
  for (const width of [1, 5, 9, 10]) t.ok(breakLine(line, width).length > 0, 'it ends');
});
