/** At each start: whether the database has lost changes that were acknowledged. */
import type { Clock } from '../../base/clock.js';
import type { Logger } from '../../base/log.js';
import type { Store } from '../../store/driver.js';
import { followNewestChange } from '../../store/state/newest-change.js';

/** Logs a loss. Returns the function to call after each commit. */
export async function watchForLostChanges(store: Store, clock: Clock, log: Logger): Promise<() => void> {
  const onFailure = (err: unknown): void => log.warn({ err }, 'the number of the newest change could not be written');
  const { loss, note } = await followNewestChange(store, clock.nowMs(), onFailure);
  if (loss) {
    log.error(
      loss,
      `changes ${loss.found + 1} to ${loss.known} were acknowledged and are lost: the write-ahead log of the database was removed or cut, or the database is an older copy; see \`zoneplane doctor\``,
    );
  }
  return note;
}
