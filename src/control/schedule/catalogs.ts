/** Schedules the update of an account's catalogs in the write that may change their members. */
import { toHex } from '../../base/bytes.js';
import { schedule } from '../../jobs/schedule.js';
import { catalogsOfAccount } from '../../store/secondary/catalogs.js';
import type { Context } from '../kernel/context.js';

/** Brings a catalog in line with the zones of its account. The subject is the catalog's identifier. */
export const CATALOG_JOB = 'catalog';

/** Call inside a write. `account`: store number. */
export function planCatalogs({ store, clock }: Pick<Context, 'store' | 'clock'>, account: number): void {
  const nowMs = clock.nowMs();
  for (const { id } of catalogsOfAccount(store, account)) {
    schedule(store, { kind: CATALOG_JOB, subject: toHex(id), runAtMs: nowMs }, nowMs);
  }
}
