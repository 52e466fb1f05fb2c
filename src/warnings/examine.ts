/**
 * Everything that needs somebody and that the database shows: the one source for `doctor`, the overview, `/readyz` and `/metrics`. What
 * only a process knows (resolvers, backups, other nodes) stands in the other files of this room.
 */
import { examineAlerts } from './alerts.js';
import { type Examined, type ExaminedSettings, examinedFor } from './asked.js';
import { examineCertificates } from './certificates.js';
import { examineSignedZones } from './dnssec.js';
import type { Finding } from './finding.js';
import { examineJobs } from './jobs.js';
import { examinePolicies } from './policies.js';
import { examineHeldBalancers, examinePools } from './pools.js';
import { examineConsumedCatalogs, examineSecondaries } from './secondaries.js';
import { examineShares } from './shares.js';
import { examineUpdateKeys } from './update-keys.js';
import { examineAccounts, examineSecondaryZones, examineZones } from './zones.js';

/** In the order in which they should be put right. */
const PARTS: readonly ((examined: Examined) => Finding[])[] = [
  examineSecondaryZones,
  examineAccounts,
  examineZones,
  examinePolicies,
  examineShares,
  examineJobs,
  examinePools,
  examineHeldBalancers,
  examineAlerts,
  examineSecondaries,
  examineConsumedCatalogs,
  examineUpdateKeys,
  examineCertificates,
  examineSignedZones,
];

/** What the actor may know of. Reads for long where there is much: not for the thread that edits. */
export function examineStore(
  asked: Pick<Examined, 'store' | 'actor'>,
  settings: ExaminedSettings,
  nowUs: number,
): Finding[] {
  const examined = examinedFor(asked, settings, nowUs);
  return asked.store.snapshot(() => PARTS.flatMap((part) => part(examined)));
}
