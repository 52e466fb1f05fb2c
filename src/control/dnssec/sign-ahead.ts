/**
 * The parts in which the job signs a large zone. A part is read once; threads make its signatures while the part before it is
 * stored. If the zone has changed when it is to be stored, it is read again then.
 */
import { isDeepStrictEqual } from 'node:util';
import { equalBytes } from '../../base/bytes.js';
import { servingZone, unsignedZone } from '../../serving/zone.js';
import { type DnssecKeyRow, keysOfZone } from '../../store/dnssec/keys.js';
import type { DnssecZoneRow } from '../../store/dnssec/zones.js';
import type { Store } from '../../store/driver.js';
import { findZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../kernel/context.js';
import type { MadeSignatures } from '../kernel/zone-keys.js';
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
  readonly row: DnssecZoneRow;
  readonly ready: Promise<PreparedPart>;
  /** Where the part after it begins; undefined when there is none. */
  readonly end: PartEnd | undefined;
}

/** `signal`: aborted when no other part is to follow. */
export function signAhead(ctx: Context, signal: AbortSignal): AheadSigner {
  let following: Part | undefined;
  return {
    async prepared(zone, row) {
      const cursor = row.cursor ? { cursor: row.cursor } : undefined;
      const part = following && isSamePlace(following.row, row) ? following : beginPart(ctx, zone, row, cursor);
      const prepared = await part.ready;
      const { end } = part;
      const isNext = end !== undefined && !needsAllBefore(end.cursor) && !signal.aborted;
      following = isNext ? beginPart(ctx, zone, { ...row, cursor: end.cursor }, end) : undefined;
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

function beginPart(ctx: Context, { seq }: ZoneRow, row: DnssecZoneRow, from: PartEnd | undefined): Part {
  const { store, settings, zoneKeys } = ctx;
  const signatures = planSignatures();
  const rows = planRows(store, seq);
  const read = store.snapshot(() => {
    const zone = findZone(store, seq);
    if (!zone) return undefined;
    const serving = row.phase === 'signed' ? servingZone(store, zone, settings) : unsignedZone(zone, settings);
    const signing = openSigningZone(ctx, zone, serving, false);
    if (!signing) return undefined;
    const end = signNext({ ...signing, row, rows, signatures }, from, partOf(signing));
    return { end, done: signing.done, basis: basisOf(store, zone, signing.row), inception: signing.times.inception };
  });
  const prepare = (made: MadeSignatures | undefined): PreparedPart => ({
    ctx: { ...ctx, signatures: made },
    store(signing, zone) {
      const isSame = isSamePlace(row, signing.row) && isDeepStrictEqual(read?.basis, basisOf(store, zone, signing.row));
      const { cursor } = signing.row;
      // The clock may have been put back meanwhile.
      if (!read || !isSame || read.inception > signing.times.now)
        return signNext(signing, cursor ? { cursor } : undefined, partOf(signing))?.cursor;
      rows.storeIn(rowsOfZone(store, seq));
      signing.done.signatures += read.done.signatures;
      signing.done.largestTtl = Math.max(signing.done.largestTtl, read.done.largestTtl);
      return read.end?.cursor;
    },
  });
  const fill = async (): Promise<PreparedPart> => prepare(zoneKeys && (await signatures.fill(zoneKeys.threads)));
  const ready = fill();
  // A failure is thrown where the part is used.
  ready.catch(() => {});
  return { row, ready, end: read?.end };
}

/** Signs the part from an end on: data, or the chain that is being made. Undefined at the end of it. */
function signNext(signing: SigningZone, from: PartEnd | undefined, isEnough: () => boolean): PartEnd | undefined {
  const { phase, denial, next_denial: nextDenial } = signing.row;
  if (phase === 'data') return signData(signing, from, isEnough);
  const cursor = buildChain(signing, nextDenial ?? denial, from?.cursor ?? null, isEnough);
  return cursor && { cursor };
}

/** Counts names; true when a part is large enough. */
export function partOf({ done }: SigningZone): () => boolean {
  let names = 0;
  return () => ++names >= OWNERS_AT_ONCE || done.signatures >= SIGNATURES_AT_ONCE;
}
