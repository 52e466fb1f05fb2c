/** Scheduled jobs. */
export const JOBS = `
-- What is to be done, and when. Times are milliseconds since 1970. subject: whom the job is about, '' for nobody in particular.
-- set_at: when run_at was set, so that run_at can be moved when the clock is put back.
-- wanted_at: somebody wants it to run again at that time, said while it was running.
-- attempt: failures in a row. fence: counts who had it; a result is kept only of who has it still.
-- Numbers are never used again, so that a late result cannot hit a job that was made anew.
CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  run_at INTEGER NOT NULL,
  set_at INTEGER NOT NULL,
  wanted_at INTEGER,
  attempt INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  failed_at INTEGER,
  lease_owner TEXT,
  lease_until INTEGER,
  fence INTEGER NOT NULL DEFAULT 0,
  -- Store number of the account whose turn it takes; 0: the installation itself.
  account INTEGER NOT NULL DEFAULT 0,
  UNIQUE (kind, subject),
  CHECK ((lease_owner IS NULL) = (lease_until IS NULL))
) STRICT;
CREATE INDEX jobs_due ON jobs (kind, run_at, seq) WHERE lease_owner IS NULL;
CREATE INDEX jobs_leased ON jobs (seq) WHERE lease_owner IS NOT NULL;
CREATE INDEX jobs_in_order ON jobs (run_at, seq);
CREATE INDEX jobs_failing ON jobs (run_at, seq) WHERE attempt > 0;
CREATE INDEX jobs_by_account ON jobs (kind, account, run_at, seq) WHERE lease_owner IS NULL;
`;
