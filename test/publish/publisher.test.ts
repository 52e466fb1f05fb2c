/** When the publisher polls the store: the test sets the time, and commits come from another connection. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { DEFAULT_ENGINE_SETTINGS } from '../../src/answer/state.js';
import { silentLogger } from '../../src/base/log.js';
import { createZone } from '../../src/control/zones/zones.js';
import { type Publisher, startPublisher } from '../../src/publish/publisher.js';
import { createZoneSource, type ZoneSource } from '../../src/publish/source.js';
import { openStore } from '../../src/store/driver.js';
import { appendChange } from '../../src/store/log/changes.js';
import { migrate } from '../../src/store/migrate.js';
import { startControl } from '../control/fixture.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { openOneCopy } from '../support/two-copies.js';
import { writeNow } from '../support/write-now.js';

interface Watched {
  readonly clock: TestClock;
  readonly publisher: Publisher;
  /** One more change by another connection. */
  commit(): void;
  /** Looks at the store so far. */
  looks(): number;
}

function startWatched(t: Test, spoil: (source: ZoneSource) => ZoneSource = (source) => source): Watched {
  const directory = mkdtempSync(join(tmpdir(), 'zoneplane-publisher-'));
  const writer = openStore(directory);
  const clock = new TestClock();
  migrate(writer, clock, seededRandom(1));
  const reader = openStore(directory, { readonly: true });
  let looks = 0;
  const source = createZoneSource(reader, { nameServers: [], nameServerAddresses: [], edgeAddresses: [] });
  const counted = spoil({
    ...source,
    dataVersion() {
      looks++;
      return source.dataVersion();
    },
  });
  const publisher = startPublisher({
    source: counted,
    engine: DEFAULT_ENGINE_SETTINGS,
    clock,
    log: silentLogger(),
    seed: 5,
  });
  t.teardown(() => {
    publisher.close();
    for (const store of [reader, writer]) store.close();
    rmSync(directory, { recursive: true, force: true });
  });
  const change = { zone: 1, kind: 'zone-removed', complete: false, serialFrom: 1, serialTo: 1, rrs: [] } as const;
  return {
    clock,
    publisher,
    commit: () => writeNow(writer, () => appendChange(writer, { ...change, atUs: 1, actor: '', requestId: '' })),
    looks: () => looks,
  };
}

t.test('it sleeps until it is woken', async (t) => {
  const { clock, publisher, commit, looks } = startWatched(t);
  const before = looks();
  clock.advance(60_000);
  t.ok(looks() - before <= 60_000 / 500, `${looks() - before} looks in an idle minute`);
  commit();
  publisher.wake();
  t.equal(publisher.status().appliedChange, 1, 'no time passes until it is published');
  commit();
  publisher.wake();
  clock.advance(4);
  t.equal(publisher.status().appliedChange, 2, 'the next one follows closely');
});

t.test('a lost wake-up is recovered', async (t) => {
  const { clock, publisher, commit } = startWatched(t);
  commit();
  clock.advance(500);
  t.equal(publisher.status().appliedChange, 1);
});

t.test('many wake-ups cause few polls', async (t) => {
  const { clock, publisher, commit, looks } = startWatched(t);
  clock.advance(1000);
  const before = looks();
  for (let i = 0; i < 100; i++) {
    commit();
    publisher.wake();
  }
  t.equal(looks(), before + 1);
  clock.advance(4);
  t.equal(publisher.status().appliedChange, 100);
  t.equal(looks(), before + 2);
});

t.test('wake-ups do not speed up polls of an unreadable store', async (t) => {
  let isBroken = false;
  let attempts = 0;
  const { clock, publisher, commit } = startWatched(t, (source) => ({
    ...source,
    snapshot(read) {
      if (isBroken && attempts++ >= 0) throw new Error('disk I/O error');
      return source.snapshot(read);
    },
  }));
  isBroken = true;
  commit();
  for (let i = 0; i < 100; i++) publisher.wake();
  t.equal(attempts, 1);
  t.match(publisher.status().failure, /disk I\/O error/);
  clock.advance(60_000);
  t.ok(attempts > 10 && attempts < 30, `${attempts} attempts in a minute: they become rarer`);
  isBroken = false;
  clock.advance(5000);
  t.equal(publisher.status().appliedChange, 1);
  t.equal(publisher.status().failure, undefined);
});

t.test('a start loads zone after zone, each read once, into memory that has room for all', async (t) => {
  const { ctx } = await startControl(t, {}, openOneCopy);
  for (let i = 0; i < 150; i++) await createZone(ctx, { name: `zone${i}.example` });
  const source = createZoneSource(ctx.store, ctx.settings);
  const steps: string[] = [];
  const publisher = startPublisher({
    source: {
      ...source,
      zone(seq) {
        steps.push(`begun ${seq}`);
        return source.zone(seq);
      },
      *owners(zone) {
        yield* source.owners(zone);
        steps.push(`read ${zone.seq}`);
      },
    },
    engine: DEFAULT_ENGINE_SETTINGS,
    clock: new TestClock(),
    log: silentLogger(),
    seed: 5,
  });
  t.teardown(() => publisher.close());
  t.strictSame(
    steps,
    source.servedZones().flatMap((seq) => [`begun ${seq}`, `read ${seq}`]),
  );
  t.match(publisher.status(), { zones: 150, image: { zones: 150, generation: 1, garbageOctets: 0 } });
});
