/** How far the copy of a zone from other primaries is. */
import { hasExpired } from '../../serving/zone-state.js';
import type { IncomingRow } from '../../store/secondary/incoming.js';
import type { ZoneRow } from '../../store/zones/zones.js';

/** `waiting`: nothing was transferred yet. `expired`: the copy is too old to be answered. `failing`: the last check failed. */
export const TRANSFER_STATES = ['waiting', 'current', 'failing', 'expired'] as const;

export type TransferState = (typeof TRANSFER_STATES)[number];

/** `row`: undefined where no primaries were named yet. */
export function transferStateOf({ expired }: Pick<ZoneRow, 'expired'>, row: IncomingRow | undefined): TransferState {
  if (!row || row.serial === null) return 'waiting';
  if (hasExpired({ expired })) return 'expired';
  return row.error === null ? 'current' : 'failing';
}
