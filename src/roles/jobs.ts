/** The kinds of jobs there are, and the runner of the admin process. */
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { ObjectStore } from '../bucket/object-store.js';
import { certificateJobs } from '../certs/issuance/jobs.js';
import type { ContextBase } from '../control/write/context.js';
import { HOSTNAME_JOB } from '../hostnames/check.js';
import type { HostnameServices } from '../hostnames/context.js';
import { hostnameJobs } from '../hostnames/job.js';
import type { JobKinds } from '../jobs/kind.js';
import { type Runner, startRunner } from '../jobs/runner.js';
import { scheduleOnce } from '../jobs/schedule.js';
import type { Store } from '../store/driver.js';

export interface JobParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly objects: ObjectStore;
  readonly base: ContextBase;
  readonly hostnames: HostnameServices;
}

const DAY_MS = 86_400_000;
/** Whoever holds the lock of the admin process has this name. */
const OWNER = 'admin';

/** Every kind of job, in one place. */
function jobKinds({ objects, base, hostnames }: JobParts): JobKinds {
  return {
    [HOSTNAME_JOB]: hostnameJobs(base, hostnames),
    ...certificateJobs(hostnames.certificates),
    /** Files of bodies that belong to no object, left behind by crashes. */
    sweep_objects: {
      async handler({ clock }) {
        await objects.sweep();
        return { againAtMs: clock.nowMs() + DAY_MS };
      },
    },
  };
}

/** Starts it, with the jobs that are always there. */
export async function startJobs(parts: JobParts): Promise<Runner> {
  const { store, clock, log } = parts;
  const nowMs = clock.nowMs();
  await store.write(() => scheduleOnce(store, { kind: 'sweep_objects', subject: '', runAtMs: nowMs }, nowMs));
  return startRunner({ store, clock, log, owner: OWNER, kinds: jobKinds(parts) });
}
