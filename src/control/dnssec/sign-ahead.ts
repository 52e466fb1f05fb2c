/**
 * The parts in which the job signs a large zone. A part is read once; threads make its signatures while the part before it is
 * stored. If the zone has changed when it is to be stored, it is read again then.
 */
import { isDeepStrictEqual } from 'node:util';
import { equalBytes } from '../../base/bytes.js';
import type { Clock } from '../../base/clock.js';
import { beginSlice, finished, inSlices, nextSlice } from '../../base/slices.js';
import { servingZone, unsignedZone } from '../../serving/zone.js';
import { type DnssecKeyRow, keysOfZone } from '../../store/dnssec/keys.js';
import type { DnssecZoneRow } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import { type PartEnd, signData } from './signing/sign-whole.js';
import { planSignatures } from './signing/signatures.js';
import { planRows, rowsOfZone } from './signing/signed-rows.js';
import { openSigningZone, type SigningZone } from './signing/signing-zone.js';
import { buildChain, needsAllBefore } from './switch-denial.js';

/** Signatures made in one part, so that other writes do not wait for long. */
const SIGNATURES_AT_ONCE = 1000;
/** Owners in one part, many of which may need no signature. */
const OWNERS_AT_ONCE = 2000;

export interface AheadSigner {
  /** The part that begins where the row says, with its signatures. Begins the part after it. */
  prepared(zone: ZoneRow, row: DnssecZoneRow): Promise<PreparedPart>;
}

export interface PreparedPart {
  /** For the write that stores it. */
  readonly ctx: Context;
  /** Stores the part inside a write. Returns the next cursor; undefined at the end. `zone`: its row then. */
  store(signing: SigningZone, zone: ZoneRow): Uint8Array | undefined;
}

interface Part {
  readonly prepared: PreparedPart;
  /** Where the part after it begins; undefined when there is none. */
  readonly end: PartEnd | undefined;
}

/** `signal`: aborted when no other part is to follow. */
export function signAhead(ctx: Context, signal: AbortSignal): AheadSigner {
  let following: { readonly row: DnssecZoneRow; readonly part: Promise<Part> } | undefined;
  return {
    async prepared(zone, row) {
      const cursor = row.cursor ? { cursor: row.cursor } : undefined;
      const isBegun = following && isSamePlace(following.row, row);
      const { prepared, end } = await (isBegun ? following!.part : preparePart(ctx, zone, row, cursor));
      following = undefined;
      if (!end || needsAllBefore(end.cursor) || signal.aborted) return prepared;
      const next = { ...row, cursor: end.cursor };
      following = { row: next, part: preparePart(ctx, zone, next, end) };
      // A failure is thrown where the part is used.
      following.part.catch(() => {});
      return prepared;
    },
  };
}

function isSamePlace(a: DnssecZoneRow, b: DnssecZoneRow): boolean {
  const none = new Uint8Array(0);
  return a.phase === b.phase && a.next_denial === b.next_denial && equalBytes(a.cursor ?? none, b.cursor ?? none);
}

/** What the signatures of a zone are made from, besides its records, and what tells whether these have changed. */
interface Basis {
  readonly zone: ZoneRow | undefined;
  readonly row: Partial<DnssecZoneRow>;
  readonly keys: readonly DnssecKeyRow[];
}

function basisOf(store: Store, zone: ZoneRow | undefined, row: DnssecZoneRow): Basis {
  // The parts themselves advance these.
  const { cursor, newest_inception, largest_ttl, ...rest } = row;
  return { zone, row: rest, keys: keysOfZone(store, row.zone) };
}

async function preparePart(
  ctx: Context,
  { seq }: ZoneRow,
  row: DnssecZoneRow,
  from: PartEnd | undefined,
): Promise<Part> {
  const { store, settings, clock, zoneKeys } = ctx;
  const signatures = planSignatures();
  const rows = planRows(store, seq);
  const read = store.snapshot(() => {
    const zone = findZone(store, seq);
    if (!zone) return undefined;
    const serving = row.phase === 'signed' ? servingZone(store, zone, settings) : unsignedZone(zone, settings);
    const signing = openSigningZone(ctx, zone, serving, false);
    return signing && { signing, basis: basisOf(store, zone, signing.row) };
  });
  const end = read && (await signInSlices(clock, { ...read.signing, row, rows, signatures }, signNext, from));
  const made = zoneKeys && (await signatures.fill(zoneKeys.threads));
  await inSlices(clock, rows.pack(false));
  const prepared: PreparedPart = {
    ctx: { ...ctx, signatures: made },
    store(signing, zone) {
      // What has not changed since it was read first has not changed between the slices.
      const isSame = isSamePlace(row, signing.row) && isDeepStrictEqual(read?.basis, basisOf(store, zone, signing.row));
      const { cursor } = signing.row;
      // The clock may have been put back meanwhile.
      if (!read || !isSame || read.signing.times.inception > signing.times.now)
        return signNext(signing, cursor ? { cursor } : undefined, partOf(signing))?.cursor;
      finished(rows.storeIn(rowsOfZone(store, seq)));
      const { done } = read.signing;
      signing.done.signatures += done.signatures;
      signing.done.largestTtl = Math.max(signing.done.largestTtl, done.largestTtl);
      return end?.cursor;
    },
  };
  return { prepared, end };
}

/** Signs the part from an end on: data, or the chain that is being made. Undefined at the end of it. */
function signNext(signing: SigningZone, from: PartEnd | undefined, isEnough: () => boolean): PartEnd | undefined {
  const { phase, denial, next_denial: nextDenial } = signing.row;
  if (phase === 'data') return signData(signing, from, isEnough);
  const cursor = buildChain(signing, nextDenial ?? denial, from?.cursor ?? null, isEnough);
  return cursor && { cursor };
}

/** Signs a part from an end on; undefined at the end of the zone. */
export type SignPart = (
  signing: SigningZone,
  from: PartEnd | undefined,
  isEnough: () => boolean,
) => PartEnd | undefined;

/** Signs a part in slices, each of which reads one state. Resolves to its end; undefined at the end of the zone. */
export async function signInSlices(
  clock: Clock,
  signing: SigningZone,
  sign: SignPart,
  from: PartEnd | undefined,
): Promise<PartEnd | undefined> {
  const isLarge = partOf(signing);
  for (let end = from; ; ) {
    const isOver = beginSlice(clock);
    let isWhole = false;
    const isEnough = (): boolean => {
      isWhole = isLarge();
      return isOver() || isWhole;
    };
    end = signing.store.snapshot(() => sign(signing, end, isEnough));
    if (!end || isWhole || needsAllBefore(end.cursor)) return end;
    await nextSlice();
  }
}

/** Counts names; true when a part is large enough. */
export function partOf({ done }: SigningZone): () => boolean {
  let names = 0;
  return () => ++names >= OWNERS_AT_ONCE || done.signatures >= SIGNATURES_AT_ONCE;
}
