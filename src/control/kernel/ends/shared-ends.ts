/**
 * Edits of single records in a signed zone that the same actor requests in the same moment are one change for resolvers: one serial,
 * whose SOA is signed once, and one link of the chain for all new names between two old ones. Each has its own version, edit and
 * events. What each would add alone takes longer than the edit itself.
 *
 * Writes of one transaction share it. It ends before anything but such a write runs.
 */
import { AppError } from '../../../base/errors.js';
import { finished } from '../../../base/slices.js';
import { isSignedHere } from '../../../serving/signing.js';
import { signatureState } from '../../../serving/zone-state.js';
import type { PlannedEvent } from '../../../store/log/events.js';
import { findZone, updateZone, type ZoneRow } from '../../../store/zones/zones.js';
import type { Context } from '../context.js';
import type { EventEntry } from '../event.js';
import { logEdit } from '../log-rows.js';
import { logEvents } from '../outbox.js';
import type { TouchedZone } from '../touched-zone.js';
import type { ZoneOutcome } from '../zone-outcome.js';
import { finishZone } from './finish-zone.js';

/** Writes whose edits of a zone end together: signing what they changed takes some milliseconds then. */
const MOST_SHARED = 25;

/** A write was refused when it had written something, and cannot be undone by itself; only commit.ts sees this. */
export class Unfinished extends Error {}

/** What a write has done when its use case is done. */
export interface Written {
  readonly ctx: Context;
  readonly now: number;
  readonly zones: readonly TouchedZone[];
  readonly entries: readonly EventEntry[];
  readonly planned: readonly PlannedEvent[];
}

export interface SharedEnds {
  /** The zone as earlier writes found it that have not ended it, for one that is about to edit it; undefined without any. */
  earlier(ctx: Context, seq: number): TouchedZone | undefined;
  /** Takes a write. Its outcomes are known at the end. */
  add(written: Written): ZoneOutcome[];
  /** Ends all zones. Throws {@link Unfinished} when one of the writes is refused. */
  end(): void;
}

/** The edits of one write. `row`: of the zone after them. */
interface Edit extends Pick<Written, 'ctx' | 'now'> {
  readonly touched: TouchedZone;
  readonly row: ZoneRow;
  readonly outcomes: ZoneOutcome[];
}

/** Of the writes of one transaction. */
export function shareEnds(): SharedEnds {
  const open = new Map<number, Edit[]>();
  const unlogged: (() => void)[] = [];
  const close = (seq: number): void => {
    const edits = open.get(seq)!;
    open.delete(seq);
    endZone(edits);
  };
  return {
    earlier(ctx, seq) {
      const edits = open.get(seq);
      if (!edits) return undefined;
      if (edits.length < MOST_SHARED && isSameActor(edits[0]!.ctx, ctx)) return edits[0]!.touched;
      close(seq);
      return undefined;
    },
    add({ ctx, now, zones, entries, planned }) {
      const outcomes: ZoneOutcome[] = [];
      for (const touched of zones) {
        const { seq } = touched.before;
        const edits = open.get(seq);
        if (mayShare(touched))
          open.set(seq, [...(edits ?? []), { ctx, now, touched, outcomes, row: count(touched, ctx) }]);
        else if (edits) throw new Unfinished();
        else outcomes.push(finished(finishZone(ctx, now, touched)));
      }
      unlogged.push(() => logEvents(ctx, now, entries, outcomes, planned));
      return outcomes;
    },
    end() {
      for (const seq of [...open.keys()]) close(seq);
      for (const log of unlogged.splice(0)) log();
    },
  };
}

function isSameActor(a: Context, b: Context): boolean {
  const isSame = (key: 'email' | 'kind' | 'userId' | 'keyId'): boolean => a.actor[key] === b.actor[key];
  return a.source === b.source && isSame('email') && isSame('kind') && isSame('userId') && isSame('keyId');
}

/** Whether nothing but single records was edited, in a zone that this service signs. */
function mayShare({ before, serving, kind, complete, undoable, derived, ...touched }: TouchedZone): boolean {
  const { balanced, copy, replacement, stagedEdit, signing } = touched;
  const isPlain = kind === undefined && complete && undoable && !derived && balanced.length === 0 && !signing.keys;
  const isRows = copy === undefined && replacement === undefined && stagedEdit === undefined;
  return isPlain && isRows && signatureState(before) === 'served' && isSignedHere(serving.signing?.row);
}

/** Later writes see the zone's count and version. */
function count({ before: { seq }, records }: TouchedZone, { store }: Context): ZoneRow {
  const row = findZone(store, seq)!;
  const counted = { record_count: row.record_count + records, version: row.version + 1 };
  updateZone(store, seq, counted);
  return { ...row, ...counted };
}

function endZone(edits: readonly Edit[]): void {
  const { ctx } = edits.at(-1)!;
  const all = edits.map(({ touched }) => touched);
  const proxied = all.some((touched) => touched.proxied);
  const edited = all.flatMap((touched) => touched.edited);
  const outcome = refusingAll(() =>
    finished(finishZone(ctx, ctx.clock.nowUs(), { ...all[0]!, records: 0, proxied, edited }, true)),
  );
  const { change, serialFrom, serial } = outcome;
  for (const { ctx: own, now, touched, row, outcomes } of edits) {
    const { version } = row;
    logEdit(own, now, touched, row, { version, change, serialFrom, serial: serial! });
    outcomes.push({ ...outcome, version });
  }
}

/** Which of the writes is refused shows when they run one by one. */
function refusingAll<Value>(end: () => Value): Value {
  try {
    return end();
  } catch (error) {
    throw error instanceof AppError ? new Unfinished() : error;
  }
}
