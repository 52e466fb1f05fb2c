/** NOTIFY in the admin process, and what DNS processes ask and tell about transfers. */
import type { MetricSample } from '../../base/metrics.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { Propagation } from '../../control/kernel/propagation.js';
import { refreshSoon } from '../../control/schedule/refresh.js';
import { findOutgoing, noteTransferred } from '../../store/secondary/outgoing.js';
import { gatherZones } from '../../transfer/gathered-zones.js';
import { startNotifier } from '../../transfer/notify/notifier.js';
import { createUpdater } from '../../transfer/update/updater.js';
import { DNS_PURPOSES, printKeys } from '../../vault/delegate.js';
import type { MasterKeys } from '../../vault/master-key.js';
import type { Vault } from '../../vault/vault.js';
import type { TransferHearing } from '../process/acknowledgement.js';

export interface NotificationParts {
  readonly base: ContextBase;
  readonly vault: Vault;
  readonly propagation: Propagation;
  readonly masterKeys: MasterKeys;
}

export interface Notifications extends TransferHearing {
  /** Something was committed. */
  wake(): void;
  samples(): MetricSample[];
  close(): void;
}

export function startNotifications({ base, vault, propagation, masterKeys }: NotificationParts): Notifications {
  const { store, clock, random, log, egress, settings: serving } = base;
  const notifier = startNotifier({ store, vault, propagation, serving, clock, random, log, egress });
  const updater = createUpdater({ base, vault });
  const transferred = gatherZones(
    store,
    (zone) => noteTransferred(store, zone, clock.nowUs()),
    (reason) => log.warn({ reason }, 'the time of a transfer was not stored'),
  );
  return {
    wake: notifier.wake,
    answer: updater.answer,
    samples: () => [...updater.samples(), ...notifier.samples()],
    keys: () => printKeys(masterKeys, DNS_PURPOSES),
    transferred(zone, address) {
      notifier.transferred(zone, address);
      if (!findOutgoing(store, zone)) return;
      transferred(zone);
    },
    notified: gatherZones(
      store,
      (zone) => refreshSoon(base, zone),
      (reason) => log.warn({ reason }, 'a zone is not refreshed after NOTIFY'),
    ),
    close: notifier.close,
  };
}
