/** How the admin process keeps the write-ahead log of its database short, and closes the database. */
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import type { Lifecycle } from '../../base/lifecycle.js';
import type { Logger } from '../../base/log.js';
import { startCheckpoints } from '../../store/checkpoints/checkpoints.js';
import type { Store } from '../../store/driver.js';

/** Takes checkpoints out of commits. Returns what is to be called after each commit, also those of other processes. */
export function keepLogShort(store: Store, { clock, log }: { clock: Clock; log: Logger }, lifecycle: Lifecycle) {
  const checkpoints = startCheckpoints({ store, clock, log });
  lifecycle.own('checkpoints', checkpoints, (part) => part.stop());
  return () => checkpoints.noteCommit();
}

/** Without free disk space, changes stay in the write-ahead log, where they are safe until the next start. */
export function closeStore(store: Store, log: Logger): void {
  try {
    store.checkpoint();
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'the write-ahead log was not moved into the database');
  }
  store.close();
}
