/** Jobs about hostnames: the next check, a look at one that is active, the end of one that moved. */
import { HOSTNAME_JOB } from '../control/certificates/drop.js';
import { OPERATOR } from '../control/guard/actor.js';
import { commit } from '../control/kernel/commit.js';
import type { ContextBase } from '../control/kernel/context.js';
import type { JobContext, JobKind, JobOutcome } from '../jobs/kind.js';
import { checkByJobs, findHostname } from '../store/hostnames/hostnames.js';
import { findZone } from '../store/zones/zones.js';
import { nextState } from './activation.js';
import { checkBySchedule, checkHostname } from './check.js';
import type { HostnameContext, HostnameServices } from './context.js';
import { discardHostname } from './hostnames.js';

const DONE: JobOutcome = { done: true };

export function hostnameJobs(base: ContextBase, hostnames: HostnameServices): JobKind {
  const contextOf = (): HostnameContext => ({
    ...base,
    hostnames,
    actor: OPERATOR,
    requestId: base.random.uuid(),
    source: 'service',
  });
  return {
    atOnce: 8,
    overduePerSecond: 20,
    limitMs: 60_000,
    followJobs: (store) => checkByJobs(store, HOSTNAME_JOB),
    handler: (job, id) => runJob(contextOf(), job, id),
  };
}

/** The row says what to do; the job only says when to look. */
async function runJob(ctx: HostnameContext, job: JobContext, id: string): Promise<JobOutcome> {
  const row = findHostname(ctx.store, id);
  if (!row || row.next_check_ms === null) return DONE;
  const due = row.next_check_ms <= ctx.clock.nowMs();
  if (row.state === 'moved') {
    if (!due) return { againAtMs: row.next_check_ms };
    await expire(ctx, job, id);
    return DONE;
  }
  if (due) {
    const waits = await checkBySchedule(ctx, id, job.requireLease);
    if (waits) return { againAtMs: waits.nextMs, write: waits.write };
  } else await checkHostname(ctx, id, { planned: false, fresh: true, guard: job.requireLease });
  const nextMs = findHostname(ctx.store, id)?.next_check_ms ?? null;
  return nextMs === null ? DONE : { againAtMs: nextMs };
}

async function expire(ctx: HostnameContext, job: JobContext, id: string): Promise<void> {
  await commit(ctx, (draft) => {
    job.requireLease();
    const row = findHostname(ctx.store, id);
    const zone = row && findZone(ctx.store, row.zone);
    if (zone && nextState(row.state, 'expired') === 'gone') discardHostname(ctx, draft, zone, row);
  });
}
