/** The log rows of a write: the change log for followers, the journal for undoing. */
import { isAnswered, signatureState } from '../../serving/zone-state.js';
import { appendChange, type ChangeKind, type NewChange, type SoaRR } from '../../store/log/changes.js';
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
  readonly rrs: NewChange['rrs'];
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
  if (isAnswered(before) !== isAnswered(after)) return isAnswered(after) ? 'served' : 'withdrawn';
  const [was, is] = [signatureState(before), signatureState(after)];
  if (was === is) return null;
  switch (is) {
    case 'served':
      return 'signed';
    case 'changing':
      return was === 'served' ? 'unsigned' : 'signing';
    case 'none':
      return was === 'served' ? 'unsigned' : null;
  }
}

const EDIT_KINDS: Readonly<Record<ChangeKind, EditKind>> = {
  'zone-added': 'added',
  'zone-removed': 'replaced',
  'zone-replaced': 'replaced',
  settings: 'settings',
  rrs: 'records',
};
