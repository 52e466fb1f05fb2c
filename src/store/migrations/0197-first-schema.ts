/**
 * The tables of version 1.0. They never change here: what comes later is a migration.
 *
 * Instants (`…_at`, `at_us`) are microseconds since 1970 where nothing else is said. `seq` numbers never leave the installation;
 * identifiers (`id`) are the 16 octets that the API shows as 32 hexadecimal digits. A NULL in a settings column means the
 * service's default, so that a default that changes later changes everywhere.
 */
import { ACCOUNTS } from '../schema/accounts.js';
import { AUTHORITY } from '../schema/authority.js';
import { BUCKETS } from '../schema/buckets.js';
import { CERTIFICATES } from '../schema/certificates.js';
import { DNSSEC } from '../schema/dnssec.js';
import { EDGE } from '../schema/edge.js';
import { HOSTNAMES } from '../schema/hostnames.js';
import { JOBS } from '../schema/jobs.js';
import { LOG } from '../schema/log.js';
import { RECORDS } from '../schema/records.js';
import { TRANSFERS } from '../schema/transfers.js';
import { USAGE } from '../schema/usage.js';
import { ZONES } from '../schema/zones.js';
import type { Steps } from './migration.js';

/** In the order in which the tables are made: triggers after what they watch. */
const SUBJECTS = [
  ACCOUNTS,
  ZONES,
  RECORDS,
  LOG,
  DNSSEC,
  TRANSFERS,
  CERTIFICATES,
  AUTHORITY,
  HOSTNAMES,
  BUCKETS,
  JOBS,
  EDGE,
  USAGE,
];

/** Smaller versions are those of previews, of which the last one had the same tables. */
export default { sql: SUBJECTS.join('') } satisfies Steps;
