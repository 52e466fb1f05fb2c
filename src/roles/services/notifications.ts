/** NOTIFY in the admin process, and what DNS processes ask and tell about transfers. */
import { messageOf } from '../../base/errors.js';
import type { MetricSample } from '../../base/metrics.js';
import type { ContextBase } from '../../control/kernel/context.js';
import type { Propagation } from '../../control/kernel/propagation.js';
import { refreshSoon } from '../../control/schedule/refresh.js';
import { findOutgoing, noteTransferred } from '../../store/secondary/outgoing.js';
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
  return {
    wake: notifier.wake,
    answer: updater.answer,
    samples: () => [...updater.samples(), ...notifier.samples()],
    keys: () => printKeys(masterKeys, DNS_PURPOSES),
    transferred(zone, address) {
      notifier.transferred(zone, address);
      if (!findOutgoing(store, zone)) return;
      store
        .write(() => noteTransferred(store, zone, clock.nowUs()))
        .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'the time of a transfer was not stored'));
    },
    notified(zone) {
      store
        .write(() => refreshSoon(base, zone))
        .catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'a zone is not refreshed after NOTIFY'));
    },
    close: notifier.close,
  };
}
