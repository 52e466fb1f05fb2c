/** What `job list` and `doctor` say about jobs, on a data directory with jobs that wait, run and fail. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { SystemClock } from '../../src/base/clock.js';
import { systemRandom } from '../../src/base/random.js';
import { schedule } from '../../src/jobs/schedule.js';
import { openStore } from '../../src/store/driver.js';
import { failJob, leaseJob, listJobs } from '../../src/store/jobs.js';
import { migrate } from '../../src/store/migrate.js';
import { type Outcome, runCommand } from '../support/commands.js';

const DATA = mkdtempSync(join(tmpdir(), 'zoneplane-cli-job-'));
t.teardown(() => rmSync(DATA, { recursive: true, force: true }));

const run = (...args: readonly string[]): Promise<Outcome> =>
  runCommand({ ZONEPLANE_DATA_DIR: DATA, ZONEPLANE_RESOLVER_UPSTREAMS: '' }, ...args);

t.test('lists, failures and what doctor makes of them', async (t) => {
  t.match(await run('job', 'list'), { code: 1, err: /there is no database/ });
  const store = openStore(DATA);
  t.teardown(() => store.close());
  const clock = new SystemClock();
  migrate(store, clock, systemRandom);
  t.match(await run('job', 'list'), { code: 0, out: 'Nothing is planned.\n' });
  t.match(await run('job', 'list', '--failed'), { code: 0, out: 'No job failed last time.\n' });
  t.match((await run('doctor')).out, /^ok {4}jobs +none failed last time$/m);

  const nowMs = clock.nowMs();
  await store.write(() => {
    schedule(store, { kind: 'renew', subject: 'app.example.com', runAtMs: nowMs - 1000 }, nowMs);
    const lease = (kind: string) =>
      leaseJob(store, listJobs(store, 10).find((job) => job.kind === kind)!, { owner: 'x', untilMs: nowMs + 1000 });
    const taken = lease('renew');
    failJob(store, taken, { text: 'the authority \u001b[31msaid no', runAtMs: nowMs + 60_000 }, nowMs);
    schedule(store, { kind: 'sweep', subject: '', runAtMs: nowMs + 120_000 }, nowMs);
    schedule(store, { kind: 'check', subject: 'b', runAtMs: nowMs - 500 }, nowMs);
    schedule(store, { kind: 'poll', subject: 'c', runAtMs: nowMs - 500 }, nowMs);
    lease('poll');
  });
  const { out } = await run('job', 'list');
  const lines = out.trimEnd().split('\n');
  t.match(lines, [
    /^kind +subject +due +state +failures +last error$/,
    /^check +b +\d{4}-.*Z +due +0 +-$/,
    /^poll +c +.*running +0 +-$/,
    /^renew +app\.example\.com +.* failed +1 +the authority \\x1b\[31msaid no$/,
    /^sweep +- +.* waiting +0 +-$/,
  ]);
  t.same(JSON.parse((await run('job', 'list', '--failed', '--json')).out), [
    {
      kind: 'renew',
      subject: 'app.example.com',
      due_on: new Date(nowMs + 60_000).toISOString().replace(/\.\d+/, ''),
      state: 'failed',
      failures: 1,
      failed_on: new Date(nowMs).toISOString().replace(/\.\d+/, ''),
      last_error: 'the authority \u001b[31msaid no',
    },
  ]);
  t.match(await run('job', 'list', '--limit', '2'), { code: 0, err: 'There are more. See them with --limit 20.\n' });
  t.match(await run('job', 'list', '--limit', '0'), { code: 2, err: /Expected a number from 1/ });
  t.match(
    (await run('doctor')).out,
    /^warn {2}jobs +renew of app\.example\.com failed 1 time in a row: the authority \\x1b\[31msaid no\n +It is tried again at .*Z; see `zoneplane job list --failed`\.$/m,
  );
});
