/** All kinds of jobs, and the job runner of the admin process. */
import { OLD_DELIVERIES_JOB, oldDeliveriesJob } from '../alerts/old-deliveries.js';
import type { Clock } from '../base/clock.js';
import { messageOf } from '../base/errors.js';
import type { Logger } from '../base/log.js';
import type { ObjectStore } from '../bucket/object-store.js';
import { certificateJobs } from '../certs/issuance/jobs.js';
import { OWN_CERTIFICATE_JOB } from '../certs/own-certificate.js';
import { certifiedNamesJobs, zoneCertificateJobs } from '../certs/packs/job.js';
import { TICKET_SECRET_JOB, ticketSecretJob } from '../certs/ticket-secret.js';
import { CHANGED_POOLS_JOB, changedPoolsJob } from '../control/balancing/dependents.js';
import { consumerJob } from '../control/catalog-consumer/job.js';
import { REMOVED_ZONE_JOB, removedZoneJob } from '../control/catalog-consumer/removed.js';
import { catalogJob } from '../control/catalogs/job.js';
import { CERTIFIED_NAMES_JOB } from '../control/certificates/certified-names.js';
import { HOSTNAME_JOB } from '../control/certificates/drop.js';
import { ZONE_CERTIFICATE_JOB } from '../control/certificates/zone-certificate.js';
import { signingJob } from '../control/dnssec/job.js';
import { parentJob } from '../control/dnssec/watch.js';
import { FLATTENING_INDEX_JOB, flatteningIndexJob } from '../control/flatten/zone-index.js';
import type { ContextBase } from '../control/kernel/context.js';
import { UNUSED_RECORDS_JOB, unusedRecordsJobs } from '../control/kernel/unused-records.js';
import { ENDED_RECORDS_JOB, endedRecordsJob } from '../control/records/ending.js';
import { POINTERS_JOB, pointersJob } from '../control/reverse/job.js';
import { CATALOG_JOB } from '../control/schedule/catalogs.js';
import { CONSUMER_JOB } from '../control/schedule/consumption.js';
import { LIFECYCLE_JOB } from '../control/schedule/lifecycle.js';
import { PARENT_JOB, SIGNING_JOB } from '../control/schedule/signing.js';
import { planNewerSerials, RESTORED_ZONE_JOB, restoredZoneJob } from '../control/secondary/newer-serial.js';
import { ACCOUNT_ZONES_JOB, accountZonesJob } from '../control/zones/account-dns-settings.js';
import { DEVELOPMENT_MODE_JOB, developmentModeJobs } from '../control/zones/development-mode.js';
import { proofJob } from '../control/zones/proof-job.js';
import { PROOF_JOB } from '../control/zones/proof-schedule.js';
import type { HostnameServices } from '../hostnames/context.js';
import { hostnameJobs } from '../hostnames/job.js';
import type { JobKinds } from '../jobs/kind.js';
import { type Runner, startRunner } from '../jobs/runner.js';
import { scheduleOnce } from '../jobs/schedule.js';
import type { Store } from '../store/driver.js';
import { nextJobAt } from '../store/jobs.js';
import { checkAfterStart, incomingJobs } from '../transfer/in/jobs.js';
import type { RefreshParts } from '../transfer/in/refresh.js';
import type { ClusterMember } from './cluster/member.js';
import { SNAPSHOT_JOB, snapshotJob } from './cluster/snapshot-job.js';
import { lifecycleJobs } from './lifecycle-jobs.js';
import { endOwnCertificate, type OwnCertificateKeeper } from './services/own-certificate.js';
import { type SweepParts, sweepJob } from './sweep-job.js';

export interface JobParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly objects: ObjectStore;
  readonly sharesBodies: SweepParts['sharesBodies'];
  /** Between two sweeps of a bucket by its lifecycle rules. */
  readonly lifecycleMs: number;
  readonly base: ContextBase;
  readonly hostnames: HostnameServices;
  readonly dataDir: string;
  readonly ownCertificate: OwnCertificateKeeper | undefined;
  readonly incoming: RefreshParts;
  /** In a cluster. */
  readonly member: ClusterMember | undefined;
}

const HOUR_MS = 3_600_000;
/** The holder of the admin process's lock has this name. */
const OWNER = 'admin';

/** Every kind of job. */
function jobKinds(parts: JobParts): JobKinds {
  const { objects, base, hostnames, ownCertificate, incoming, member, dataDir, clock } = parts;
  return {
    [HOSTNAME_JOB]: hostnameJobs(base, hostnames),
    ...certificateJobs(hostnames.certificates),
    [OWN_CERTIFICATE_JOB]: ownCertificate?.job ?? endOwnCertificate(hostnames.certificates),
    [ACCOUNT_ZONES_JOB]: accountZonesJob(base),
    [ZONE_CERTIFICATE_JOB]: zoneCertificateJobs(hostnames.certificates),
    [CERTIFIED_NAMES_JOB]: certifiedNamesJobs(hostnames.certificates),
    [UNUSED_RECORDS_JOB]: unusedRecordsJobs,
    [FLATTENING_INDEX_JOB]: flatteningIndexJob(base),
    [DEVELOPMENT_MODE_JOB]: developmentModeJobs(base),
    [PROOF_JOB]: proofJob(base),
    [CHANGED_POOLS_JOB]: changedPoolsJob(base),
    [SIGNING_JOB]: signingJob(base),
    [PARENT_JOB]: parentJob(base),
    [CATALOG_JOB]: catalogJob(base),
    [POINTERS_JOB]: pointersJob(base),
    [ENDED_RECORDS_JOB]: endedRecordsJob(base),
    [CONSUMER_JOB]: consumerJob(base),
    [REMOVED_ZONE_JOB]: removedZoneJob(base),
    [RESTORED_ZONE_JOB]: restoredZoneJob(base),
    ...incomingJobs(incoming),
    ...(member && { [SNAPSHOT_JOB]: snapshotJob(member, dataDir, clock) }),
    [TICKET_SECRET_JOB]: ticketSecretJob(hostnames.certificates.vault, base.random),
    [LIFECYCLE_JOB]: lifecycleJobs(objects, parts.lifecycleMs),
    [OLD_DELIVERIES_JOB]: oldDeliveriesJob,
    /** Finds damaged bodies that nobody reads. */
    verify_bodies: {
      limitMs: HOUR_MS,
      async handler({ clock, signal }) {
        await objects.verify(signal);
        return { againAtMs: clock.nowMs() + HOUR_MS };
      },
    },
    sweep_objects: sweepJob(parts),
  };
}

/** Starts the runner and schedules the permanent jobs. */
export async function startJobs(parts: JobParts): Promise<Runner> {
  const { store, clock, log } = parts;
  const nowMs = clock.nowMs();
  const always = ['sweep_objects', 'verify_bodies', TICKET_SECRET_JOB, OLD_DELIVERIES_JOB];
  const permanent = [...always, ...(parts.member ? [SNAPSHOT_JOB] : [])];
  // A start that writes nothing succeeds on a full disk, too.
  const missing = permanent.filter((kind) => nextJobAt(store, kind) === undefined);
  const lostEntries = parts.member?.lostEntries === true;
  if (missing.length > 0 || lostEntries) {
    await store.write(() => {
      for (const kind of missing) scheduleOnce(store, { kind, subject: '', runAtMs: nowMs }, nowMs);
      if (lostEntries) planNewerSerials(store, nowMs);
    });
  }
  // While PostgreSQL is away, a node of a cluster must start all the same.
  const checked = checkAfterStart(parts.incoming);
  if (!parts.member) await checked;
  else checked.catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'secondary zones are not checked now'));
  const owner = parts.member ? `${OWNER} of ${parts.member.name}` : OWNER;
  return startRunner({ store, clock, log, owner, kinds: jobKinds(parts) });
}
