/**
 * The signatures of records that a signed zone is to get: made and stored in a set of their own, in parts, before the zone gets
 * the records. The write that gives them to the zone only signs its SOA.
 */
import { isDeepStrictEqual } from 'node:util';
import { betweenWrites, finished, inSlices, nextSlice } from '../../base/slices.js';
import { isSignedHere } from '../../serving/signing.js';
import { type ServingZone, servingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import { type Place, placeOfSet } from '../../store/records/places.js';
import { stageRecordSet, touchRecordSet } from '../../store/records/record-sets.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import { stagedZone } from '../kernel/replacement.js';
import type { StagedSignatures } from '../kernel/touched-zone.js';
import { planRemovalOfAbandoned } from '../kernel/unused-records.js';
import { type SignPart, signInSlices } from './sign-ahead.js';
import { type PartEnd, signData } from './signing/sign-whole.js';
import { planSignatures } from './signing/signatures.js';
import { type PlannedRows, planRows, rowsOfZone } from './signing/signed-rows.js';
import { openSigningZone } from './signing/signing-zone.js';
import { buildChain, needsAllBefore } from './switch-denial.js';

/** The zone has ceased to be signed while its signatures were made. */
class SigningEnded extends Error {}

function requireSignedHere(zone: ServingZone): ServingZone {
  if (!isSignedHere(zone.signing?.row)) throw new SigningEnded();
  return zone;
}

/**
 * What signatures are made from besides records: settings, keys, the kind of denial. A serial and the progress of jobs do not
 * count.
 */
export function basisOfSignatures({ facts, edge, hosts, hostAddresses, signing }: ServingZone): unknown {
  const { denial, next_denial, multi_signer, delete_form, signals, iterations, salt, opt_out, phase } = signing!.row;
  const { serial: _, ...soa } = facts.soa;
  return {
    served: [{ ...facts, soa }, edge, hosts, hostAddresses],
    how: [denial, next_denial, multi_signer, delete_form, signals, iterations, salt, opt_out, phase],
    keys: signing!.keys,
  };
}

/**
 * Signs the records that a zone will have. `row`: as the zone will be; `reader`: a handle that shows its set of records as it
 * will be. `before`: what was signed in this way earlier and has become outdated, or nothing. Signatures that still fit are kept;
 * the first time, those of the zone. Undefined for a zone that is not signed here, or ceases to be so meanwhile; what was stored until
 * then is removed later.
 */
export async function stageSignatures(
  ctx: Context,
  row: ZoneRow,
  before: StagedSignatures | undefined,
  reader: Store,
): Promise<StagedSignatures | undefined> {
  if (!ctx.zoneKeys || !isSignedHere(servingZone(ctx.store, row, ctx.settings).signing?.row)) return undefined;
  try {
    return await signStaged(ctx, row, before, reader);
  } catch (error) {
    if (error instanceof SigningEnded) return undefined;
    throw error;
  }
}

async function signStaged(
  ctx: Context,
  row: ZoneRow,
  before: StagedSignatures | undefined,
  reader: Store,
): Promise<StagedSignatures> {
  const set = before?.set ?? (await ctx.store.write(() => beginSet(ctx)));
  const zone = requireSignedHere(stagedZone(ctx, row, set));
  const basis = basisOfSignatures(zone);
  const staging: Staging = { ctx, reader, row, set, kept: before ? placeOfSet(set) : row.seq };
  const { denial, next_denial: next } = zone.signing!.row;
  await walk(staging, signData);
  for (const kind of next && next !== denial ? [denial, next] : [denial]) {
    await walk(staging, (signing, from, isEnough) => {
      const cursor = buildChain(signing, kind, from?.cursor ?? null, isEnough);
      return cursor && { cursor };
    });
  }
  return { set, basis };
}

function beginSet(ctx: Context): number {
  planRemovalOfAbandoned(ctx);
  return stageRecordSet(ctx.store, ctx.clock.nowUs());
}

interface Staging {
  readonly ctx: Context;
  readonly reader: Store;
  readonly row: ZoneRow;
  readonly set: number;
  readonly kept: Place;
}

interface Part {
  readonly rows: PlannedRows;
  readonly end: PartEnd | undefined;
  /** When its signatures are made. */
  readonly ready: Promise<unknown>;
}

/** While a part is stored, the next one is read, and threads sign it. */
async function walk(staging: Staging, sign: SignPart): Promise<void> {
  let part: Part | undefined = await beginPart(staging, sign, undefined);
  while (part) part = await storePart(staging, sign, part);
}

/** Stores a part. Resolves to the one after it, which has begun meanwhile. */
async function storePart(staging: Staging, sign: SignPart, { rows, end, ready }: Part): Promise<Part | undefined> {
  const { ctx, row, set } = staging;
  const { store, clock } = ctx;
  await ready;
  const stored = store.write(() => {
    for (const staged of [set, row.record_set]) touchRecordSet(store, staged, clock.nowUs());
    finished(rows.storeIn(rowsOfZone(store, placeOfSet(set))));
  });
  const following =
    end && !needsAllBefore(end.cursor) ? nextSlice().then(() => beginPart(staging, sign, end)) : undefined;
  // Nobody closes the reader while it reads.
  await Promise.allSettled([stored, following]);
  await stored;
  await betweenWrites();
  return (await following) ?? (end && beginPart(staging, sign, end));
}

async function beginPart(
  { ctx, reader, row, set, kept }: Staging,
  sign: SignPart,
  from: PartEnd | undefined,
): Promise<Part> {
  const { zoneKeys, clock } = ctx;
  const signatures = planSignatures();
  const rows = planRows(reader, placeOfSet(set));
  const reading = { ...ctx, store: reader };
  const signing = reader.snapshot(() => {
    const zone = requireSignedHere(stagedZone(reading, row, set));
    // While another key is beginning to sign everything, nothing is left to be done here.
    const isExact = zone.signing!.row.walk !== null;
    return openSigningZone(reading, row, zone, isExact)!;
  });
  const own = { ...signing, row: { ...signing.row, zone: placeOfSet(set) }, rows, kept, signatures };
  const end = await signInSlices(clock, own, sign, from);
  const filled = zoneKeys ? signatures.fill(zoneKeys.threads) : Promise.resolve();
  const ready = filled.then(() => inSlices(clock, rows.pack(false)));
  // A failure is thrown where the part is used.
  ready.catch(() => {});
  return { rows, end, ready };
}

/** Whether they may be given to the zone as it is, inside the write that gives it the records. `row`: as the zone will be. */
export function isCurrent(ctx: Context, row: ZoneRow, { set, basis }: StagedSignatures): boolean {
  const zone = stagedZone(ctx, row, set);
  return isSignedHere(zone.signing?.row) && isDeepStrictEqual(basisOfSignatures(zone), basis);
}
