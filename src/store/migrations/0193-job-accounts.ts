/** Whose turn a job takes: accounts share the places of each kind of job. */
import { ACCOUNT_OF_SUBJECT } from '../subject-account.js';
import type { Migration } from './migration.js';

export const jobAccounts: Migration = {
  version: 193,
  name: 'job-accounts',
  sql: `
-- Store number of the account; 0: the installation itself.
ALTER TABLE jobs DROP COLUMN priority;
ALTER TABLE jobs ADD COLUMN account INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET account = ${ACCOUNT_OF_SUBJECT};
CREATE INDEX jobs_by_account ON jobs (kind, account, run_at, seq) WHERE lease_owner IS NULL;
`,
};
