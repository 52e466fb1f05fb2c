/** Holds as v4 clients read them (v4: §4). */
import type { ZoneHoldItem } from '../../control/zones/hold.js';
import { printOptionalTime } from '../times.js';
import type { ZoneHold } from './schema.js';

export function zoneHoldView(item: ZoneHoldItem): ZoneHold {
  return {
    hold: item.hold,
    hold_after: printOptionalTime(item.holdAfter),
    include_subdomains: item.includeSubdomains,
  };
}
