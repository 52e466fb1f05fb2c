/** The log rows of a write: the change log for followers, the journal for undoing. */
import { appendChange, type ChangedRR, type ChangeKind, type SoaRR } from '../../store/log/changes.js';
import { appendEdit, type EditEvent, type EditKind, finishEdit } from '../../store/log/edits.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from './context.js';
import type { TouchedZone } from './touched-zone.js';

interface Serials {
  /** Undefined for a new or deleted zone. */
  readonly serialFrom: number | undefined;
}

interface LoggedChange extends Serials {
  /** Store number. */
  readonly zone: number;
  readonly kind: ChangeKind;
  readonly serial: number | undefined;
  readonly soaFrom?: SoaRR;
  readonly soaTo?: SoaRR;
  readonly complete: boolean;
  /** Removed records first, without SOAs. */
  readonly rrs: readonly ChangedRR[];
}

/** Returns the number of the change. `now`: microseconds since 1970, here and below. */
export function logChange({ store, actor, requestId }: Context, now: number, change: LoggedChange): number {
  const { serialFrom = null, serial = null } = change;
  return appendChange(store, { ...change, atUs: now, actor: actor.email, requestId, serialFrom, serialTo: serial });
}

interface LoggedEdit extends Serials {
  readonly version: number;
  readonly serial: number;
  /** Number of the change, if it changed anything for resolvers. */
  readonly change: number | undefined;
}

/** `row`: of the zone after the edit. */
export function logEdit(ctx: Context, now: number, touched: TouchedZone, row: ZoneRow, edit: LoggedEdit): void {
  const { actor, requestId, source, store } = ctx;
  const { before, undoable, edited } = touched;
  const logged = {
    zone: before.seq,
    version: edit.version,
    at_us: now,
    kind: kindOf(touched),
    complete: undoable ? 1 : 0,
    change: edit.change ?? null,
    serial_from: edit.serialFrom ?? null,
    serial_to: edit.serial,
    actor: actor.email,
    actor_kind: actor.kind,
    source,
    request_id: requestId,
    event: eventOf(before, row),
  };
  if (touched.stagedEdit === undefined) appendEdit(store, logged, undoable ? edited : []);
  else finishEdit(store, touched.stagedEdit, logged);
}

function kindOf({ kind = 'rrs', edited, undoable, stagedEdit }: TouchedZone): EditKind {
  const hasRecords = edited.length > 0 || !undoable || stagedEdit !== undefined;
  return kind === 'rrs' && !hasRecords ? 'settings' : EDIT_KINDS[kind];
}

function eventOf(before: ZoneRow, after: ZoneRow): EditEvent | null {
  if (before.served !== after.served) return after.served === 1 ? 'served' : 'withdrawn';
  if (before.signed === after.signed) return null;
  if (after.signed === SIGNED) return 'signed';
  if (before.signed === SIGNED) return 'unsigned';
  return after.signed === UNDER_WAY ? 'signing' : null;
}

/** `signed` of a zone. */
const SIGNED = 1;
const UNDER_WAY = 2;

const EDIT_KINDS: Readonly<Record<ChangeKind, EditKind>> = {
  'zone-added': 'added',
  'zone-removed': 'replaced',
  'zone-replaced': 'replaced',
  settings: 'settings',
  rrs: 'records',
};
