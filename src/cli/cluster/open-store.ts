/** The database for commands that write: in a cluster, they read and write what all nodes have. */
import type { Clock } from '../../base/clock.js';
import { silentLogger } from '../../base/log.js';
import { systemRandom } from '../../base/random.js';
import type { Settings } from '../../config/schema.js';
import { requireNoCluster } from '../../roles/cluster/standalone.js';
import { openStore, type Store } from '../../store/driver.js';
import { migrate } from '../../store/migrate.js';
import { followNewestChange } from '../../store/state/newest-change.js';

export interface OpenForCommand {
  readonly store: Store;
  close(): Promise<void>;
}

/** Opens and migrates it. Throws a UserError when it cannot be used. */
export async function openForCommand(
  settings: Settings,
  clock: Clock,
  onCommit: () => void = () => {},
): Promise<OpenForCommand> {
  if (settings.cluster !== undefined) {
    const { openCopyOfCommand } = await import('../../roles/cluster/member.js');
    const { store, log } = await openCopyOfCommand(settings, settings.cluster, clock, silentLogger(), { onCommit });
    return {
      store,
      async close() {
        await log.close();
        store.close();
      },
    };
  }
  let note = (): void => {};
  const store = openStore(settings.dataDir, {
    onCommit() {
      note();
      onCommit();
    },
  });
  try {
    requireNoCluster(store);
    migrate(store, clock, systemRandom);
    note = (await followNewestChange(store, clock.nowMs(), () => {})).note;
  } catch (error) {
    store.close();
    throw error;
  }
  return { store, close: async () => store.close() };
}
