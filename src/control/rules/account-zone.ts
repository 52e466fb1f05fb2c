/** Which zone of an account has a name. */
import type { Store } from '../../store/driver.js';
import { type ZoneRow, zonesOfName } from '../../store/zones/zones.js';

/** The account's closest zone at or above this name (lower-case ASCII, without the final dot). */
export function zoneAround(store: Store, account: number, name: string): ZoneRow | undefined {
  for (let at = name; ; at = at.slice(at.indexOf('.') + 1)) {
    const zone = zonesOfName(store, at).find((one) => one.account === account);
    if (zone || !at.includes('.')) return zone;
  }
}
