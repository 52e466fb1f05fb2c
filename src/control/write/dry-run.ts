/**
 * Dry runs: a write is done inside the transaction, looked at, and taken back. What whole zones would serve is compared with what
 * they serve; of single owners the draft knows the difference itself.
 */
import { Type } from '../../dns/codes.js';
import { servedOwners } from '../../serving/owner.js';
import { diffServed, rrsOf, type ServedRR, soaOf } from '../../serving/served-rr.js';
import { servingZone } from '../../serving/zone.js';
import type { ChangedRR } from '../../store/log/changes.js';
import { findZone } from '../../store/zones/zones.js';
import type { Context } from './context.js';
import type { ZoneOutcome } from './zone-outcome.js';

interface Rehearsed {
  readonly zones: readonly ZoneOutcome[];
}

/** Ends the part of the transaction that is taken back; never leaves this module. */
class TakenBack extends Error {}

/** Zones of more records than this are not compared as a whole. */
const MOST_COMPARED = 20_000;

/** Runs `run` inside an open write transaction and takes back all it did. The outcome has the differences of whole zones too. */
export function rehearse<Result extends Rehearsed>(ctx: Context, run: () => Result): Result {
  const { result, after } = takeBack(ctx, () => {
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

/** What `work` returns; everything it wrote is undone. To be called inside a write transaction. */
function takeBack<T>(ctx: Context, work: () => T): T {
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

interface OwnerServed {
  readonly ownerKey: Uint8Array;
  readonly rrs: readonly ServedRR[];
}

/** Everything a zone serves by owner; nothing for one that is not there; undefined when that is too much to compare. */
function servedBy(ctx: Context, { zone: seq }: ZoneOutcome): Map<string, OwnerServed> | undefined {
  const row = findZone(ctx.store, seq);
  const owners = new Map<string, OwnerServed>();
  if (!row || row.served === 0) return owners;
  if (row.record_count > MOST_COMPARED) return undefined;
  const zone = servingZone(row, ctx.settings);
  for (const owner of servedOwners(ctx.store, zone)) {
    const ownerKey = new Uint8Array(owner.ownerKey);
    const soa = ownerKey.length === 0 ? [soaOf(zone)] : [];
    owners.set(Buffer.from(ownerKey).toString('latin1'), { ownerKey, rrs: [...soa, ...rrsOf(owner)] });
  }
  return owners;
}

function compare(old: Map<string, OwnerServed>, fresh: Map<string, OwnerServed>): ChangedRR[] {
  const removed: ChangedRR[] = [];
  const added: ChangedRR[] = [];
  for (const [key, { ownerKey }] of new Map([...old, ...fresh])) {
    const diff = diffServed(old.get(key)?.rrs ?? [], fresh.get(key)?.rrs ?? []);
    for (const rr of diff.removed) removed.push({ op: 0, owner_key: ownerKey, ...rr });
    for (const rr of diff.added) added.push({ op: 1, owner_key: ownerKey, ...rr });
  }
  return [...removed.sort(soaFirst), ...added.sort(soaFirst)];
}

function soaFirst(a: ChangedRR, b: ChangedRR): number {
  return Number(b.type === Type.soa) - Number(a.type === Type.soa);
}
