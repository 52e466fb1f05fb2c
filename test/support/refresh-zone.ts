/** A check of a secondary zone whose result is stored, as the jobs do it. */
import { checkZone } from '../../src/transfer/in/refresh.js';

/** Resolves to the time of the next check, milliseconds since 1970; undefined when the zone has no primaries. */
export async function refreshZone(...asked: Parameters<typeof checkZone>): Promise<number | undefined> {
  const checked = await checkZone(...asked);
  if (checked) await asked[0].base.store.write(checked.write);
  return checked?.nextMs;
}
