/**
 * Dry runs: a write runs inside the transaction, its result is read, and it is undone. For whole zones, what they would
 * serve is compared with what they serve; for single owners the draft computes the difference itself.
 */
import { Type } from '../../dns/codes.js';
import {
  addDifference,
  copyServed,
  type Difference,
  diffCopies,
  type ServedCopy,
  type ServedRR,
  soaOf,
} from '../../serving/difference.js';
import { servingZone } from '../../serving/zone.js';
import type { ChangedRR } from '../../store/log/changes.js';
import { findServedZone } from '../../store/zones/zones.js';
import type { Context } from './context.js';
import type { ZoneOutcome } from './zone-outcome.js';

/** Records of a zone that are compared as a whole, in some milliseconds. */
const MOST_COMPARED = 500;

/** Ends the part of the transaction that is undone; never leaves this module. */
class TakenBack extends Error {}

/**
 * Runs `run` inside an open write transaction and undoes all its writes. The outcome also has the differences of whole
 * zones.
 */
export function runAndCompare<Result extends { readonly zones: readonly ZoneOutcome[] }>(
  ctx: Context,
  run: () => Result,
): Result {
  const { result, after } = undoAfter(ctx, () => {
    const done = run();
    return {
      result: done,
      after: done.zones.map((outcome) => (outcome.complete ? undefined : servedBy(ctx, outcome))),
    };
  });
  const zones = result.zones.map((outcome, i) => {
    const [old, fresh] = [outcome.complete ? undefined : servedBy(ctx, outcome), after[i]];
    return old && fresh ? { ...outcome, rrs: compare(old, fresh), complete: true } : outcome;
  });
  return { ...result, zones };
}

/** The result of `work`; everything it wrote is undone. Call inside a write transaction. */
function undoAfter<T>(ctx: Context, work: () => T): T {
  let done: { readonly value: T } | undefined;
  try {
    ctx.store.part(() => {
      done = { value: work() };
      throw new TakenBack();
    });
  } catch (error) {
    if (!(error instanceof TakenBack)) throw error;
  }
  return (done as { readonly value: T }).value;
}

interface Served {
  readonly copy: ServedCopy;
  /** Undefined for a zone that is not served. */
  readonly soa: ServedRR | undefined;
}

/** Everything that a zone serves; nothing for a missing zone; undefined when that is too much to compare. */
function servedBy({ store, settings }: Context, { zone: seq }: ZoneOutcome): Served | undefined {
  const row = findServedZone(store, seq);
  if (!row) return { copy: new Map(), soa: undefined };
  if (row.record_count > MOST_COMPARED) return undefined;
  const zone = servingZone(store, row, settings);
  return { copy: copyServed(store, zone), soa: { type: Type.soa, ...soaOf(zone) } };
}

/** Lists the SOA first, as in an incremental transfer (RFC 1995 §4). */
function compare(old: Served, fresh: Served): ChangedRR[] {
  const soa: Difference = { removed: [], added: [] };
  addDifference(soa, new Uint8Array(0), old.soa ? [old.soa] : [], fresh.soa ? [fresh.soa] : []);
  const { removed, added } = diffCopies(old.copy, fresh.copy);
  return [...soa.removed, ...removed, ...soa.added, ...added];
}
