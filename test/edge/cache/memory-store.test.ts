/** What stored responses take of the memory: all that they hold, so that no account has more than it seems. */
import t from 'tap';
import { directivesOf } from '../../../src/edge/cache/directives.js';
import { createMemoryStore } from '../../../src/edge/cache/memory-store.js';
import { type StoredResponse, storedHead, withBody } from '../../../src/edge/cache/stored-response.js';
import type { SelectingField } from '../../../src/edge/cache/vary.js';
import type { HeaderFields } from '../../../src/http/fields.js';

const MIB = 1 << 20;

function response(fields: HeaderFields, selecting: readonly SelectingField[] = [], zone = 1): StoredResponse {
  const head = storedHead({
    item: { zone, host: 'www.example.com', url: 'https://www.example.com/', ignoresQuery: false },
    purgesSeen: 0,
    always: '',
    status: 200,
    fields,
    directives: directivesOf(fields),
    lifetimeS: 60,
    selecting,
    exchange: { sentMs: 0, receivedMs: 0, receivedAtMs: 0 },
  });
  return withBody(head, [], 0);
}

t.test('fields that select, and tags, count', async (t) => {
  const store = createMemoryStore(MIB);
  const long = 'x'.repeat(100_000);
  for (let i = 0; i < 20; i++) store.put(1, `a${i}`, response({ vary: 'x-a' }, [['x-a', long]]));
  t.ok(store.count() <= 10, 'values that select');
  for (let i = 0; i < 20; i++) store.put(1, `b${i}`, response({ 'cache-tag': 'x,'.repeat(5000) }));
  t.ok(store.count() <= 10, 'many short tags');
  t.ok(store.octets() <= MIB);
});

t.test('sweeping takes a step for each URL, also while others are stored', async (t) => {
  const store = createMemoryStore(MIB);
  for (let i = 0; i < 100; i++) store.put(1, `k${i}`, response({}, [], 1 + (i % 2)));
  let steps = 0;
  for (const _ of store.sweep(({ item }) => item.zone === 1)) {
    steps++;
    if (steps > 200) break;
    store.put(2, 'k1', response({}, [], 2));
  }
  t.ok(steps <= 100, `${steps} steps`);
  t.equal(store.count(), 50);
});
