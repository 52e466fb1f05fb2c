/** Past states of a zone, as clients name them: by time, by change, by serial or by version. */
import type { AppError } from '../../base/errors.js';
import {
  type EditRow,
  findEditAt,
  findEditOfChange,
  findEditOfSerial,
  findEditOfVersion,
  historyKeptFrom,
} from '../../store/log/edits.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import { parseInstant, printInstant } from '../rules/instant.js';
import { zoneFailure } from '../rules/zone-failures.js';

type Unit = 'change' | 'serial' | 'version';

export interface AsOf {
  readonly unit: Unit | 'time' | 'number';
  /** Microseconds since 1970 of a time. */
  readonly value: number;
}

/**
 * `2026-01-31T12:00:00Z`, `change:7`, `serial:2026013101`, `version:3`, `time:…`, or a plain number. Throws 400 for
 * other text.
 */
export function parseAsOf(text: string): AsOf {
  const [, unit, digits] = /^(?:(change|serial|version):)?(\d{1,15})$/.exec(text) ?? [];
  if (digits !== undefined) return { unit: (unit as Unit | undefined) ?? 'number', value: Number(digits) };
  const value = parseInstant(text.replace(/^time:/, ''));
  if (value === undefined) throw zoneFailure('badAsOf', { text: text.slice(0, 64) });
  return { unit: 'time', value };
}

/**
 * The number of the last edit of that state; all later edits must be undone. Throws 404 with the reason when the state
 * is no longer kept. A plain number is a serial of the zone, otherwise a change.
 */
export function editAt(ctx: Context, zone: ZoneRow, { unit, value }: AsOf): number {
  if (unit === 'time') return editAtTime(ctx, zone, value);
  const edit =
    unit === 'number'
      ? (findEdit(ctx, zone, 'serial', value) ?? findEdit(ctx, zone, 'change', value))
      : findEdit(ctx, zone, unit, value);
  if (edit) return edit.seq;
  // A zone that was never edited since the journal began still has a serial and a version.
  const isSerial = unit === 'serial' || unit === 'number';
  if (isSerial ? value === zone.serial : unit === 'version' && value === zone.version) return Number.MAX_SAFE_INTEGER;
  const what = unit === 'number' ? 'serial or change' : unit;
  throw notKept(
    `The zone had no ${what} ${value} since ${printInstant(keptFrom(ctx, zone))}, the start of its kept history.`,
  );
}

/** The edit that created this serial (the last one), this change or this version. */
export function findEdit(ctx: Context, zone: ZoneRow, unit: Unit, value: number): EditRow | undefined {
  if (unit === 'change') return findEditOfChange(ctx.store, zone.seq, value);
  if (unit === 'serial') return findEditOfSerial(ctx.store, zone.seq, value);
  return findEditOfVersion(ctx.store, zone.seq, value);
}

function editAtTime(ctx: Context, zone: ZoneRow, atUs: number): number {
  if (atUs < zone.created_at) throw notKept(`The zone was created at ${printInstant(zone.created_at)}.`);
  const from = historyKeptFrom(ctx.store, zone.seq);
  if (atUs < from) throw notKept(`History is kept from ${printInstant(from)} on.`);
  return findEditAt(ctx.store, zone.seq, atUs)?.seq ?? 0;
}

function keptFrom(ctx: Context, zone: ZoneRow): number {
  return Math.max(zone.created_at, historyKeptFrom(ctx.store, zone.seq));
}

export function notKept(reason: string): AppError {
  return zoneFailure('notKept', { reason });
}
