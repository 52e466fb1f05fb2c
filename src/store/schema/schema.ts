/**
 * The tables of version 1.0. They never change here: what comes later is a migration.
 *
 * Instants (`…_at`, `at_us`) are microseconds since 1970 where nothing else is said. `seq` numbers never leave the installation;
 * identifiers (`id`) are the 16 octets that the API shows as 32 hexadecimal digits. A NULL in a settings column means the
 * service's default, so that a default that changes later changes everywhere.
 */
import type { Migration } from '../migrations/migration.js';
import { ACCOUNTS } from './accounts.js';
import { AUTHORITY } from './authority.js';
import { BUCKETS } from './buckets.js';
import { CERTIFICATES } from './certificates.js';
import { DNSSEC } from './dnssec.js';
import { EDGE } from './edge.js';
import { HOSTNAMES } from './hostnames.js';
import { JOBS } from './jobs.js';
import { LOG } from './log.js';
import { RECORDS } from './records.js';
import { TRANSFERS } from './transfers.js';
import { USAGE } from './usage.js';
import { ZONES } from './zones.js';

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
export const FIRST_SCHEMA: Migration = { version: 197, name: '1.0', sql: SUBJECTS.join('') };
