/** Explains failures of the database and of files to an operator. */
import { AppError, AwaitedError, UserError } from '../../base/errors.js';
import { explainFileFailure } from '../../base/file-failure.js';
import { StoreBusy, StoreCorrupt, StoreFull } from '../../store/driver.js';
import { LogUnavailable, OutcomeUnknown, StoreRefused, WriteUnconfirmed } from '../../store/failures.js';
import { hasDatabase } from './data-directory.js';

/**
 * Why the admin process cannot start. On a full disk it waits: what is stored is answered meanwhile, by processes that need no room.
 * Only a first start has nothing to answer.
 */
export function explainStart(error: unknown, dataDir: string): unknown {
  if (error instanceof AppError) return new UserError(error.message);
  const explained = explainStoreFailure(error);
  const waits = error instanceof StoreFull && explained instanceof UserError && hasDatabase(dataDir);
  return waits ? new AwaitedError(explained.message, explained.remedy) : explained;
}

/** A UserError for a failure that an operator can fix; any other error unchanged. */
export function explainStoreFailure(error: unknown): unknown {
  if (error instanceof StoreRefused) {
    return new UserError(
      error.message,
      'Check the quota of this user, the limit on the size of files (`ulimit -f`), and the log of the kernel.',
    );
  }
  if (error instanceof StoreFull) {
    return new UserError(error.message, 'Free space on the file system of the data directory.');
  }
  if (error instanceof WriteUnconfirmed) {
    return new UserError(
      error.message,
      'Look into the log of the kernel, and whether the change was made before you try again.',
    );
  }
  if (error instanceof StoreCorrupt) {
    return new UserError(error.message, 'Stop the server and restore a backup of the data directory.');
  }
  if (error instanceof OutcomeUnknown) {
    return new UserError(
      `${error.message}; whether the change was stored is not known`,
      'Look whether it was made before you try again, when PostgreSQL answers.',
    );
  }
  if (error instanceof LogUnavailable) {
    return new UserError(
      error.message,
      'Start PostgreSQL, or mend the way to it. DNS, the edge and reads go on meanwhile.',
    );
  }
  if (error instanceof StoreBusy) {
    return new UserError(error.message, 'Try again when the other process has finished.');
  }
  return explainFileFailure(error);
}
