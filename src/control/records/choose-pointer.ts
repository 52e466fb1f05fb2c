/** Decides from the `ptr` of a request whether a PTR record is kept for an address record. */
import { Type } from '../../dns/codes.js';
import { isLinked } from '../../store/records/indexed-settings.js';
import type { RecordRow } from '../../store/records/records.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import { permitted, requireRecord, targetOfZone } from '../guard/access.js';
import type { Context } from '../kernel/context.js';
import { badBody } from '../kernel/errors.js';
import { isAddress, reverseOf } from '../rules/pointers.js';
import type { RecordInput } from './input.js';

/** The record after the edit. */
interface EditedRecord {
  readonly type: number;
  readonly name: string;
  readonly rdata: Uint8Array;
  readonly proxied: boolean;
  /** Whether name and data are as they were. */
  readonly isSame: boolean;
}

const POINTER = '/ptr';

/** Throws for records that can have no PTR record, and 403 when the actor may not edit the reverse zone. */
export function choosePointer(
  ctx: Context,
  zone: ZoneRow,
  { ptr }: RecordInput,
  edited: EditedRecord,
  kept: RecordRow | undefined,
  stored: RecordRow | undefined,
): boolean {
  const was = stored !== undefined && stored.type === edited.type && isLinked(stored);
  // Clients send back what they read, so `ptr` may be set here. A PTR record with a new name or data is no longer kept.
  if (edited.type === Type.ptr && (was || !ptr)) return was && edited.isSame && ptr !== false;
  const wanted = ptr ?? (kept !== undefined && was);
  if (!wanted) return false;
  if (!isAddress(edited.type)) throw badBody('ptr is for A and AAAA records', POINTER);
  if (edited.name.startsWith('*.')) throw badBody('ptr is not for wildcards: a PTR record names one host', POINTER);
  if (edited.proxied) {
    throw badBody('ptr is not for proxied records: their names answer with the addresses of the edge', POINTER);
  }
  const before = was ? reverseOf(ctx.store, zone.account, stored.rdata) : undefined;
  requireReverse(ctx, zone, edited, before?.zone.seq);
  return true;
}

/** Skips the check when the PTR record stays in its reverse zone `before`, where keeping it was already permitted. */
function requireReverse(
  { store, actor }: Context,
  zone: ZoneRow,
  { rdata }: EditedRecord,
  before: number | undefined,
): void {
  const reverse = reverseOf(store, zone.account, rdata);
  if (!reverse || reverse.zone.seq === before) return;
  requireRecord(permitted(actor, 'dns', 'write', targetOfZone(store, reverse.zone)), reverse.name, 'PTR');
}
