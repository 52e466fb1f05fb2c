/** `doctor`: changes that were acknowledged and that the database no longer has. */
import type { Clock } from '../../base/clock.js';
import type { Store } from '../../store/driver.js';
import { clusterOf } from '../../store/meta.js';
import { findLostChanges, findNotedLoss, type LostChanges } from '../../store/state/newest-change.js';
import type { Finding } from '../../warnings/finding.js';
import { printInstant } from '../control.js';

/** For how long a loss is told after the start that noticed it. */
const TOLD_MS = 30 * 86_400_000;

const REMEDY =
  'Restore a newer backup, or make these changes again. A secondary with a higher serial takes no changes until it fetches its zones anew: `rndc retransfer`, `nsd-control force_transfer`, `knotc zone-retransfer`.';

/** `isRunning`: a server may commit between two looks. */
export function examineChanges(store: Store, clock: Clock, isRunning: boolean): Finding[] {
  // Nodes of a cluster have the log in PostgreSQL.
  if (clusterOf(store) !== undefined) return [];
  const loss = isRunning ? undefined : findLostChanges(store);
  if (loss) return [{ what: 'changes', verdict: 'fail', text: lossText(loss), remedy: REMEDY }];
  const noted = findNotedLoss(store);
  if (!noted || clock.nowMs() - noted.atMs > TOLD_MS) return [];
  const text = `${lossText(noted)}; noticed ${printInstant(noted.atMs * 1000)}`;
  return [{ what: 'changes', verdict: 'warn', text, remedy: REMEDY }];
}

function lossText({ found, known }: LostChanges): string {
  const which = known === found + 1 ? `change ${known} was` : `changes ${found + 1} to ${known} were`;
  return `${which} acknowledged and lost: the write-ahead log was removed or cut, or the database is an older copy`;
}
