/** Purges that are as long as they may be: what is stored of them, and what the audit log says. */
import t from 'tap';
import { lastPurge, purgesAfter } from '../../src/store/edge/purges.js';
import { latestEvents } from '../support/rows.js';
import { install } from './installation.js';

t.test('items have a length, and an event tells the first of many long ones', async (t) => {
  const { call, createZone, store } = await install(t);
  const zone = await createZone('example.com');
  const purge = (body: object) => call('POST', `/zones/${zone}/purge_cache`, body);
  const prefix = (length: number): string => `example.com/${'x'.repeat(length - 12)}`;
  t.equal((await purge({ prefixes: [prefix(8192)] })).status, 200);
  const refused = await purge({ prefixes: [prefix(8193)] });
  t.equal(refused.status, 400);
  t.match(refused.text, /prefixes\[0\] is longer than 8192 characters/);
  const files = Array.from({ length: 100 }, (_, i) => `https://example.com/${i}${'x'.repeat(5000)}`);
  const before = lastPurge(store);
  t.equal((await purge({ files })).status, 200);
  t.strictSame(purgesAfter(store, before, 1)[0]!.items, files, 'all are purged');
  const { after } = latestEvents(store, 1)[0]!;
  t.ok(after!.length < 20_000);
  t.strictSame(JSON.parse(after!), { files: [...files.slice(0, 3), 'and 97 more'] });
  const few = ['https://example.com/a', { url: 'https://example.com/b', headers: { a: 'b' } }];
  await purge({ files: few });
  t.strictSame(JSON.parse(latestEvents(store, 1)[0]!.after!), { files: few });
  await purge({ purge_everything: true });
  t.strictSame(JSON.parse(latestEvents(store, 1)[0]!.after!), { purge_everything: true });
});
