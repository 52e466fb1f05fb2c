/**
 * What the replacement of a zone's records by a staged set changes. It is found out, and signed, before the write that gives the set to
 * the zone, in parts between which others get their turn.
 */
import { compareBytes } from '../../base/bytes.js';
import { addDifference, type Difference, rrsOf, type ServedRR } from '../../serving/difference.js';
import { flattenedInZone } from '../../serving/flattened.js';
import { hashedOwnerKey, servedHashedOwners } from '../../serving/hashed.js';
import { servedOwners } from '../../serving/owner.js';
import { type ServingZone, servingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { MOST_CHANGED_RRS } from '../../store/log/changes.js';
import { dropRecordSet } from '../../store/records/record-sets.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { StagedSignatures } from '../dnssec/signing/staged.js';
import { isCurrent, isSignedHere, stagedZone, stageSignatures } from '../dnssec/stage-signatures.js';
import { planRemoval } from '../records/unused-records.js';
import type { Context } from '../write/context.js';
import { inSlices } from '../write/staged-edits.js';
import { MOST_COMPARED, type Replacement } from '../write/touched-zone.js';

/** Larger differences are not logged: the write would take too long. A new name has four records when the zone is signed. */
const MOST_LOGGED = 2 * MOST_CHANGED_RRS;

/**
 * Finds it out for a zone that has not changed since `before` was read. `after`: its row as it will be, with the staged set.
 * `outdated`: the signatures of an earlier attempt.
 */
export async function planReplacement(
  ctx: Context,
  before: ZoneRow,
  after: ZoneRow,
  outdated: StagedSignatures | undefined,
): Promise<Replacement> {
  const { store, clock, settings } = ctx;
  const zone = servingZone(store, before, settings);
  const signatures = isSignedHere(zone) && ctx.zoneKeys ? await stageSignatures(ctx, after, outdated) : undefined;
  const staged = stagedZone(ctx, after, signatures?.set);
  const flattened = [zone, staged].flatMap((state) => flattenedInZone(store, state).map(({ ownerKey }) => ownerKey));
  const isLarge = before.record_count > MOST_COMPARED || after.record_count > MOST_COMPARED;
  // Without signatures of its own, a signed zone is signed in the write.
  const isKnown = !isLarge && (zone.signing === undefined || signatures !== undefined);
  const difference = isKnown ? await inSlices(clock, compare(store, zone, staged)) : undefined;
  return { before, difference, flattened, signatures };
}

/** Whether the write may use it. `after`: the zone's row as it will be. */
export function mayReplace(ctx: Context, after: ZoneRow, { signatures }: Replacement): boolean {
  return signatures === undefined || isCurrent(ctx, after, signatures);
}

/** Removes what was staged for a replacement that does not happen. */
export async function giveUpReplacement(ctx: Context, { signatures }: Replacement): Promise<void> {
  if (!signatures) return;
  await ctx.store.write(() => {
    if (!dropRecordSet(ctx.store, signatures.set)) planRemoval(ctx);
  });
}

interface Served {
  readonly ownerKey: Uint8Array;
  readonly rrs: readonly ServedRR[];
}

/** Undefined when there are more differences than are logged. */
function* compare(store: Store, before: ServingZone, after: ServingZone): Generator<undefined, Difference | undefined> {
  const difference: Difference = { removed: [], added: [] };
  for (const read of [ownersOf, hashedOwnersOf]) {
    const [old, fresh] = [read(store, before), read(store, after)];
    let [a, b] = [old.next(), fresh.next()];
    while (!a.done || !b.done) {
      const order = a.done ? 1 : b.done ? -1 : compareBytes(a.value.ownerKey, b.value.ownerKey);
      const { ownerKey } = (order <= 0 ? a.value : b.value) as Served;
      const [was, is] = [order <= 0 ? (a.value as Served).rrs : [], order >= 0 ? (b.value as Served).rrs : []];
      addDifference(difference, new Uint8Array(ownerKey), was, is);
      if (difference.removed.length + difference.added.length > MOST_LOGGED) return undefined;
      if (order <= 0) a = old.next();
      if (order >= 0) b = fresh.next();
      yield;
    }
  }
  return difference;
}

function* ownersOf(store: Store, zone: ServingZone): Generator<Served> {
  for (const owner of servedOwners(store, zone)) yield { ownerKey: owner.ownerKey, rrs: rrsOf(owner) };
}

function* hashedOwnersOf(store: Store, zone: ServingZone): Generator<Served> {
  for (const { hash, rrset } of servedHashedOwners(store, zone)) {
    const ownerKey = hashedOwnerKey(hash);
    yield { ownerKey, rrs: rrsOf({ ownerKey, records: [], rrsets: [rrset] }) };
  }
}
