/** The first step of the admin process: the store, which it alone writes, and the vault. */
import { messageOf } from '../base/errors.js';
import type { Lifecycle } from '../base/lifecycle.js';
import type { Logger } from '../base/log.js';
import { systemRandom } from '../base/random.js';
import { createZoneKeys } from '../control/dnssec/zone-keys.js';
import type { ZoneKeys } from '../control/kernel/zone-keys.js';
import { createAsideCheckpoints } from '../store/checkpoint/aside.js';
import { type OpenOptions, openStore, type Store } from '../store/driver.js';
import { migrate } from '../store/migrate.js';
import { reuseLog } from '../store/reused-log.js';
import { ALL_PURPOSES } from '../store/sealed-columns.js';
import { unlockVault } from '../vault/unlock.js';
import type { Vault } from '../vault/vault.js';
import { type ClusterMember, joinCluster } from './cluster/member.js';
import { requireNoCluster } from './cluster/standalone.js';
import { lockDataDirectory } from './lock.js';
import { masterKeysOf } from './process/control-base.js';
import type { RoleContext } from './process/role.js';
import { giveUpSpare } from './services/disk.js';
import { watchForLostChanges } from './services/lost-changes.js';

export interface OwnStore {
  readonly store: Store;
  readonly vault: Vault;
  readonly zoneKeys: ZoneKeys;
  /** In a cluster. */
  readonly member: ClusterMember | undefined;
  /** Has these called after each commit of this process, unless it has written nothing but objects. */
  onCommit(run: readonly (() => void)[]): void;
}

/**
 * Opens and migrates the store after taking the admin lock, and unlocks its vault. `onDiverged`: this process must start anew.
 */
export async function openOwnStore(
  options: RoleContext,
  lifecycle: Lifecycle,
  onDiverged: () => void,
): Promise<OwnStore> {
  const { settings, clock, log } = options;
  lifecycle.own('lock', lockDataDirectory(settings.dataDir, 'adminLock'), (part) => part.release());
  const afterCommit: (() => void)[] = [];
  let note = (): void => {};
  const onCommit = (isFollowed: boolean): void => {
    if (!isFollowed) return;
    note();
    for (const run of afterCommit) run();
  };
  const member =
    settings.cluster === undefined
      ? undefined
      : await joinCluster({ ...options, role: 'all', onCommit: () => onCommit(true), onDiverged }, settings.cluster);
  const opened = member?.store ?? openStore(settings.dataDir, optionsOf(options, onCommit));
  const store = lifecycle.own('store', opened, (part) => closeStore(part, log));
  if (member) lifecycle.own('replica', member, (part) => part.stop());
  else {
    requireNoCluster(store);
    migrate(store, clock, systemRandom);
    note = await watchForLostChanges(store, clock, log);
  }
  const keys = masterKeysOf(options);
  const vault = await unlockVault({
    ...{ store, keys, random: systemRandom, purposes: ALL_PURPOSES },
    isShared: member !== undefined,
  });
  const zoneKeys = createZoneKeys(() => vault);
  return { store, vault, zoneKeys, member, onCommit: (run) => void afterCommit.push(...run) };
}

function optionsOf(options: RoleContext, onCommit: (isFollowed: boolean) => void): OpenOptions {
  const room = reuseLog(() => giveUpSpare(options));
  return { onCommit, room, aside: createAsideCheckpoints(options.clock) };
}

/** Without free disk space, changes stay in the write-ahead log, where they are safe until the next start. */
function closeStore(store: Store, log: Logger): void {
  try {
    store.checkpoint();
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'the write-ahead log was not moved into the database');
  }
  store.close();
}
