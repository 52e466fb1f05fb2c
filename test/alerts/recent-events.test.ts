/** Pages of events that destinations share: whatever others have read, each sees all that the log has behind its position. */
import t from 'tap';
import { RecentEvents, type Seen } from '../../src/alerts/recent-events.js';
import { IN_MEMORY, openStore, type Store } from '../../src/store/driver.js';
import { appendEvents } from '../../src/store/log/events.js';
import { newestEvent } from '../../src/store/log/events-query.js';
import { migrate } from '../../src/store/migrate.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';

const BLANK = {
  ...{ subject: null, name: null, zone: null, zone_name: null, actor_id: null, credential: null },
  ...{ credential_name: null, address: null, change: null, before: null, after: null },
  ...{ at_us: 1, actor: 'a', actor_kind: 'user', source: 'api', request_id: 'r' },
};

/** All that is seen from a position to the end, by as many readings as it takes. */
function readOn(recent: RecentEvents, seen: Seen, position: number, newest: number): number[] {
  const found: number[] = [];
  for (let at = position; at < newest; ) {
    const { events, upTo } = recent.behind(seen, at, newest);
    found.push(...events.map(({ seq }) => seq));
    at = upTo;
  }
  return found;
}

async function append(store: Store, accounts: readonly (number | null)[]): Promise<void> {
  const rows = accounts.map((account, i) => ({ ...BLANK, account, kind: `record.${i}` }));
  await store.write(() => appendEvents(store, rows));
}

t.test('at any positions, in any order, while the log grows', async (t) => {
  const random = seededRandom(7);
  const store = openStore(IN_MEMORY);
  t.after(() => store.close());
  migrate(store, new TestClock(), random);
  const below = (most: number): number => Buffer.from(random.bytes(4)).readUInt32BE() % most;
  const log: (number | null)[] = [];
  const recent = new RecentEvents(store);
  const first = newestEvent(store) + 1;
  for (let round = 0; round < 40; round++) {
    const more = Array.from({ length: below(150) }, () => [1, 1, 1, 2, 3, null][below(6)]!);
    log.push(...more);
    await append(store, more);
    const newest = newestEvent(store);
    for (let reader = 0; reader < 5; reader++) {
      const seen = { account: 1 + below(4), installation: below(2) === 1 };
      const position = reader === 0 ? newest - 1 : below(newest);
      const wanted = log.flatMap((account, i) => {
        const isSeen = account === seen.account || (seen.installation && account === null);
        return isSeen && first + i > position ? [first + i] : [];
      });
      t.strictSame(readOn(recent, seen, position, newest), wanted, JSON.stringify({ ...seen, position, newest }));
    }
  }
  const known = newestEvent(store);
  await append(store, [1]);
  const found = readOn(new RecentEvents(store), { account: 1, installation: false }, 0, known);
  t.ok(
    found.every((seq) => seq <= known),
    'nothing later than asked for',
  );
});

t.test('what is forgotten is read again', async (t) => {
  const store = openStore(IN_MEMORY);
  t.after(() => store.close());
  migrate(store, new TestClock(), seededRandom(1));
  const first = newestEvent(store) + 1;
  await append(
    store,
    Array.from({ length: 200 }, (_, account) => account),
  );
  const recent = new RecentEvents(store);
  for (let turn = 0; turn < 2; turn++) {
    const found = Array.from({ length: 200 }, (_, account) =>
      readOn(recent, { account, installation: false }, 0, first + 199),
    );
    t.strictSame(
      found,
      found.map((_, i) => [first + i]),
    );
  }
});
