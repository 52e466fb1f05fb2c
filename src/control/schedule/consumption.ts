/** Schedules that a catalog zone of another server is followed, in the write that stored a version of it. */
import { toHex } from '../../base/bytes.js';
import { schedule } from '../../jobs/schedule.js';
import { findConsumedCatalogOfZone } from '../../store/secondary/consumed-catalogs.js';
import type { Context } from '../kernel/context.js';

/** Makes the members of a catalog zones here. The subject is the identifier of the catalog. */
export const CONSUMER_JOB = 'catalog_consumer';

/** Does nothing for a zone (store number) that is no such catalog. */
export function planConsumption({ store, clock }: Pick<Context, 'store' | 'clock'>, zone: number): void {
  const catalog = findConsumedCatalogOfZone(store, zone);
  const nowMs = clock.nowMs();
  if (catalog) schedule(store, { kind: CONSUMER_JOB, subject: toHex(catalog.id), runAtMs: nowMs }, nowMs);
}
