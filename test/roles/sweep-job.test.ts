/** When bodies without an object are looked for. */
import t from 'tap';
import { silentLogger } from '../../src/base/log.js';
import { sweepJob } from '../../src/roles/sweep-job.js';
import { openStore } from '../../src/store/driver.js';
import { migrate } from '../../src/store/migrate.js';
import { seededRandom } from '../support/seeded-random.js';
import { TestClock } from '../support/test-clock.js';
import { runSql } from '../support/write-now.js';

const HOUR_MS = 3_600_000;

t.test('every hour while something waits to be removed, otherwise every day', async (t) => {
  const store = openStore(t.testdir());
  t.teardown(() => store.close());
  const clock = new TestClock();
  migrate(store, clock, seededRandom(1));
  let [sweeps, isDone] = [0, true];
  const sweep = async (): Promise<boolean> => {
    sweeps++;
    return isDone;
  };
  const job = sweepJob({ objects: { sweep }, store, sharesBodies: false });
  const context = {
    ...{ store, clock, log: silentLogger(), attempt: 0, signal: AbortSignal.timeout(60_000) },
    requireLease: () => {},
  };
  /** How often it looked, and milliseconds until the next run. */
  const run = async (): Promise<readonly [number, number]> => {
    const outcome = await job.handler(context, '');
    return [sweeps, 'againAtMs' in outcome ? outcome.againAtMs - clock.nowMs() : Number.NaN];
  };
  t.strictSame(await run(), [1, HOUR_MS], 'after a start');
  clock.advance(HOUR_MS);
  t.strictSame(await run(), [1, HOUR_MS]);
  runSql(store, "INSERT INTO blob_garbage (blob) VALUES ('00')");
  t.strictSame(await run(), [2, HOUR_MS], 'what was deleted meanwhile');
  isDone = false;
  t.strictSame(await run(), [3, HOUR_MS / 6], 'a backup is being made');
  runSql(store, 'DELETE FROM blob_garbage');
  clock.advance(23 * HOUR_MS);
  t.strictSame(await run(), [3, HOUR_MS]);
  clock.advance(HOUR_MS);
  t.strictSame(await run(), [4, HOUR_MS / 6], 'a day later');
});
