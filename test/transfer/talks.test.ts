/** Talks with peers end when nobody needs them. */
import t from 'tap';
import type { PeerTalk } from '../../src/transfer/notify/peer-talk.js';
import { createTalks } from '../../src/transfer/notify/talks.js';

t.test('talks begin and end with the peers of their zone', async (t) => {
  const opened: string[] = [];
  const closed: string[] = [];
  const talks = createTalks((zone, peer) => {
    opened.push(`${zone} ${peer}`);
    return { close: () => void closed.push(`${zone} ${peer}`) } as unknown as PeerTalk;
  });
  const first = talks.of(1, [7, 8]);
  talks.of(11, [7]);
  t.strictSame(opened, ['1 7', '1 8', '11 7']);
  t.equal(talks.of(1, [8, 9])[0], first[1], 'who stays is talked with as before');
  t.strictSame(closed, ['1 7'], 'the other zone has the same peer still');
  talks.end(1);
  t.strictSame(closed, ['1 7', '1 8', '1 9']);
  talks.end(1);
  talks.end(2);
  t.strictSame(talks.of(11, []), []);
  t.strictSame(closed.slice(3), ['11 7']);
  talks.of(1, [7]);
  talks.endAll();
  t.strictSame(closed.slice(4), ['1 7']);
  t.equal(opened.length, 5);
});
