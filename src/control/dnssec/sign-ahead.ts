/**
 * The parts in which the job signs a large zone. While one part is stored, threads make the signatures of the next one: a part is
 * gone through once to find out what is to be signed, and once more to store it.
 */
import { equalBytes } from '../../base/bytes.js';
import { servingZone, unsignedZone } from '../../serving/zone.js';
import type { DnssecZoneRow } from '../../store/dnssec/zones.js';
import type { ZoneRow } from '../../store/zones/zones.js';
import type { Context } from '../write/context.js';
import { signData } from './signing/sign-whole.js';
import { NO_ROWS } from './signing/signed-rows.js';
import { openSigningZone, type SigningZone } from './signing/signing-zone.js';
import { createStock } from './signing/stock.js';
import { buildChain } from './switch-denial.js';

/** Signatures made in one part, so that other writes do not wait for long. */
const SIGNATURES_AT_ONCE = 1000;
/** Owners in one part, many of which may need no signature. */
const OWNERS_AT_ONCE = 2000;

export interface AheadSigner {
  /** The context for the write of the part that begins where the row says, with its signatures. Begins the part after it. */
  prepared(zone: ZoneRow, row: DnssecZoneRow): Promise<Context>;
}

interface Part {
  readonly row: DnssecZoneRow;
  /** With the signatures, once they are made. */
  readonly ready: Promise<Context>;
  /** Where the part after it begins; undefined when there is none. */
  readonly next: Uint8Array | undefined;
}

/** `signal`: aborted when no other part is to follow. */
export function signAhead(ctx: Context, signal: AbortSignal): AheadSigner {
  let following: Part | undefined;
  return {
    async prepared(zone, row) {
      const part = following && isSamePlace(following.row, row) ? following : beginPart(ctx, zone, row);
      const context = await part.ready;
      following = part.next && !signal.aborted ? beginPart(ctx, zone, { ...row, cursor: part.next }) : undefined;
      return context;
    },
  };
}

function isSamePlace(a: DnssecZoneRow, b: DnssecZoneRow): boolean {
  const none = new Uint8Array(0);
  return a.phase === b.phase && a.next_denial === b.next_denial && equalBytes(a.cursor ?? none, b.cursor ?? none);
}

function beginPart(ctx: Context, zone: ZoneRow, row: DnssecZoneRow): Part {
  const { store, settings, zoneKeys } = ctx;
  // All of its signatures are left to the threads.
  const stock = createStock(0);
  const next = store.snapshot(() => {
    const serving = row.phase === 'signed' ? servingZone(store, zone, settings) : unsignedZone(zone, settings);
    const signing = openSigningZone({ ...ctx, stock }, zone, serving, false);
    return signing && signNext({ ...signing, rows: NO_ROWS }, row.cursor, partOf(signing));
  });
  const fill = async (): Promise<Context> => {
    if (zoneKeys) await stock.fill(zoneKeys.threads);
    return { ...ctx, stock };
  };
  const ready = fill();
  // A failure is thrown where the part is used.
  ready.catch(() => {});
  return { row, ready, next };
}

/** Signs the part from a cursor on: data, or the chain that is being made. Returns the next cursor; undefined at the end. */
export function signNext(
  signing: SigningZone,
  cursor: Uint8Array | null,
  isEnough: () => boolean,
): Uint8Array | undefined {
  const { phase, denial, next_denial: nextDenial } = signing.row;
  if (phase === 'data') return signData(signing, cursor ?? undefined, isEnough);
  return buildChain(signing, nextDenial ?? denial, cursor, isEnough);
}

/** Counts names; true when a part is large enough. */
export function partOf({ done }: SigningZone): () => boolean {
  let names = 0;
  return () => ++names >= OWNERS_AT_ONCE || done.signatures >= SIGNATURES_AT_ONCE;
}
