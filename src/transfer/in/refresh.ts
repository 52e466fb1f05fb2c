/**
 * Keeps the copy of a secondary zone like the zone of its primaries (RFC 1034 §4.3.5): asks for the SOA, transfers what is
 * newer, goes to the next primary when one fails, and lets the copy expire when none answers for too long.
 */

import { steadyMs, untilSteady } from '../../base/clock.js';
import { OPERATOR } from '../../control/guard/actor.js';
import { refusedByPolicy, wrongAnswer } from '../../control/guard/peer-failures.js';
import type { Context, ContextBase } from '../../control/kernel/context.js';
import { expireZone, reviveZone } from '../../control/secondary/transferred.js';
import { serialIsAfter } from '../../dns/serial.js';
import { soaOf as servedSoa } from '../../serving/difference.js';
import { findSigning } from '../../serving/signing.js';
import { servingZone } from '../../serving/zone.js';
import { hasExpired } from '../../serving/zone-state.js';
import {
  findIncoming,
  type IncomingChange,
  type IncomingRow,
  noteIncoming,
  notePrimary,
  primariesOfZone,
} from '../../store/secondary/incoming.js';
import type { LinkedPeerRow } from '../../store/secondary/linked-peers.js';
import { findRemovedZone } from '../../store/secondary/removed-zones.js';
import { findZone, ZONE_DEFAULTS, type ZoneRow } from '../../store/zones/zones.js';
import type { Vault } from '../../vault/vault.js';
import { TransferFailed } from './failure.js';
import { fetchZone } from './fetch.js';
import type { IncomingCounts } from './metrics.js';
import { askSoa, type PrimaryContext, primaryOf, type SoaSight } from './primary.js';
import type { Soa } from './reading.js';

export interface RefreshParts {
  readonly base: ContextBase;
  readonly vault: Vault;
  /** Certificates of further authorities, PEM. */
  readonly authorities: string | undefined;
  readonly counts: IncomingCounts;
}

/** Seconds. */
const LEAST_REFRESH = 300;
const MOST_REFRESH = 2_419_200;
const LEAST_RETRY = 60;
const MOST_RETRY = 3600;
const LEAST_EXPIRE = 3600;
const MOST_EXPIRE = 31_536_000;
/** A part of the time between two checks by which zones differ, so that they are not all checked at once. */
const SPREAD = 0.1;
const SECOND_US = 1_000_000;
/** When tenants hear of failures after the beginning of a check, milliseconds: as late as of a server that says nothing. */
const FAILED_MS = 20_000;

export interface Checked {
  /** When the next check is due, milliseconds since 1970. */
  readonly nextMs: number;
  /** Stores the result; inside a write. */
  readonly write: () => void;
}

/**
 * Asks the primaries of a zone (store number), in their order, and transfers what is newer. `all`: even when one has nothing
 * newer, because another has sent NOTIFY. Resolves to undefined when the zone has no primaries.
 */
export async function checkZone(
  parts: RefreshParts,
  seq: number,
  all: boolean,
  signal: AbortSignal,
): Promise<Checked | undefined> {
  const { base, counts } = parts;
  const ctx: Context = { ...base, actor: OPERATOR, requestId: base.random.uuid(), source: 'transfer' };
  const context: PrimaryContext = { clock: base.clock, random: base.random, egress: base.egress, signal };
  const beganMs = steadyMs(base.clock);
  const failed: { readonly primary: LinkedPeerRow; readonly error: TransferFailed }[] = [];
  let sight: Sight | undefined;
  for (const primary of primariesOfZone(base.store, seq)) {
    const zone = findZone(base.store, seq);
    const row = findIncoming(base.store, seq);
    if (zone?.type !== 'secondary' || !row || findRemovedZone(base.store, seq)) return undefined;
    try {
      const seen = await visit(parts, ctx, context, zone, row, primary);
      sight ??= seen;
      counts.checks++;
      if (seen.isNewer || !(all || seen.isBehind)) break;
    } catch (error) {
      if (!(error instanceof TransferFailed)) throw error;
      counts.failed(error.fault);
      base.log.warn(
        { zone: zone.name, primary: primary.name, fault: error.fault, reason: error.message },
        'a primary failed',
      );
      failed.push({ primary, error });
    }
    if (signal.aborted) break;
  }
  // How long it took says whether the port is open.
  const isTold = failed.some(({ primary, error }) => primary.by_operator === 0 && error.fault !== 'policy');
  if (isTold) await untilSteady(base.clock, beganMs + FAILED_MS, signal);
  for (const { primary, error } of failed) await noteFailure(ctx, primary, error);
  const failures = failed.map(({ primary, error }) => `${primary.name}: ${failureText(error)}`);
  return conclude(ctx, seq, sight, failures);
}

/** What is stored of a failure, see guard/peer-failures.ts. */
function failureText({ fault, message }: TransferFailed): string {
  if (fault === 'unreachable') return message;
  return fault === 'policy' ? refusedByPolicy(message) : wrongAnswer(message);
}

interface Sight {
  /** Whether the zone has another version now. */
  readonly isNewer: boolean;
  /** Whether the primary has an older version than the stored one, so that another one may have a newer. */
  readonly isBehind: boolean;
  /** Seconds until the copy expires. */
  readonly expire: number;
  readonly notice: string | null;
}

/** Asks one primary, and transfers the zone when it has a newer version. Throws {@link TransferFailed}. */
async function visit(
  parts: RefreshParts,
  ctx: Context,
  context: PrimaryContext,
  zone: ZoneRow,
  row: IncomingRow,
  of: LinkedPeerRow,
): Promise<Sight> {
  const { store, log, settings } = ctx;
  const primary = primaryOf(store, parts.vault, of, parts.authorities);
  const seen = await askSoa(context, primary, zone.apex);
  const { soa } = seen;
  const { serial } = row;
  const isForced = row.forced === 1 || serial === null;
  if (!isForced && !serialIsAfter(soa.serial, serial)) {
    await noteSight(ctx, of, soa.serial);
    const isBehind = soa.serial !== serial;
    return { isNewer: false, isBehind, expire: expireOf(soa, seen), notice: olderNotice(of, soa.serial, serial) };
  }
  // Signatures are taken over as a whole.
  const mayDiffer = of.ixfr_enable === 1 && !isForced && findSigning(ctx.store, zone.seq).kind !== 'elsewhere';
  const stored = servedSoa(servingZone(store, zone, settings), serial ?? 0);
  const from = mayDiffer ? { ...stored, serial } : undefined;
  const noted = (newer: Soa, notice: string | null): IncomingChange => {
    const now = context.clock.nowUs();
    const expiresAt = now + expireOf(newer, seen) * SECOND_US;
    const ended = { serial: newer.serial, checked_at: now, transferred_at: now, expires_at: expiresAt };
    // One that was forced since then is still wanted.
    return { ...ended, ...(row.forced === 1 && { forced: 0 }), failures: 0, error: null, notice };
  };
  const fetched = await fetchZone(ctx, context, { zone, primary, from, stored: serial, since: row.modified_at, noted });
  parts.counts.transferred(fetched.kind, fetched.records);
  const { kind, records } = fetched;
  log.info(
    { zone: zone.name, primary: of.name, serial: fetched.soa.serial, from: serial, kind, records },
    'a zone was transferred from its primary',
  );
  await noteSight(ctx, of, fetched.soa.serial);
  const { notice = null } = findIncoming(store, zone.seq) ?? {};
  return { isNewer: kind !== 'current', isBehind: false, expire: expireOf(fetched.soa, seen), notice };
}

function olderNotice({ name }: LinkedPeerRow, theirs: number, ours: number): string | null {
  if (theirs === ours) return null;
  return `${name} has the serial ${theirs}, which is older than the ${ours} that was transferred; force a transfer to go back`;
}

/** Seconds until a copy expires: the SOA's EXPIRE, or less if the primary is a secondary itself (RFC 7314 §4). */
function expireOf({ expire }: Soa, { expire: left }: SoaSight): number {
  return Math.min(left ?? MOST_EXPIRE, Math.max(LEAST_EXPIRE, Math.min(MOST_EXPIRE, expire)));
}

/** What a check leaves to be stored. */
async function conclude(
  ctx: Context,
  seq: number,
  sight: Sight | undefined,
  failures: readonly string[],
): Promise<Checked | undefined> {
  const { store, clock } = ctx;
  const zone = findZone(store, seq);
  const row = findIncoming(store, seq);
  if (!zone || !row) return undefined;
  const now = clock.nowUs();
  if (!sight) {
    const expires = row.expires_at !== null && row.expires_at <= now;
    if (expires && !hasExpired(zone)) await expireZone(ctx, seq);
    const delay = retryMs(zone, row.failures);
    const untilExpiry = !expires && row.expires_at !== null ? (row.expires_at - now) / 1000 : delay;
    const nextMs = clock.nowMs() + Math.ceil(Math.min(delay, untilExpiry));
    const error = failures.join('; ') || 'it has no primaries';
    return checked(ctx, seq, nextMs, { failures: row.failures + 1, error });
  }
  if (hasExpired(zone)) await reviveZone(ctx, seq);
  const nextMs = clock.nowMs() + refreshMs(ctx, zone, row);
  const expiresAt = now + sight.expire * SECOND_US;
  const error = failures.length === 0 ? null : failures.join('; ');
  return checked(ctx, seq, nextMs, {
    checked_at: now,
    expires_at: expiresAt,
    failures: 0,
    error,
    notice: sight.notice,
  });
}

function checked({ store }: Context, seq: number, nextMs: number, change: IncomingChange): Checked {
  return { nextMs, write: () => noteIncoming(store, seq, { ...change, next_at: nextMs * 1000 }) };
}

/** Milliseconds until the next check: the setting of the zone, or REFRESH of the SOA, and up to a tenth more or less. */
function refreshMs({ random }: Context, { soa_refresh: refresh }: ZoneRow, row: IncomingRow): number {
  const seconds = row.refresh ?? Math.min(MOST_REFRESH, Math.max(LEAST_REFRESH, refresh ?? ZONE_DEFAULTS.refresh));
  const [octet] = random.bytes(1);
  return Math.round(seconds * 1000 * (1 - SPREAD + (2 * SPREAD * octet!) / 255));
}

/** Milliseconds until a failed check is repeated: a minute, then twice as long each time, up to RETRY of the SOA or an hour. */
function retryMs({ soa_retry: retry }: ZoneRow, failures: number): number {
  const most = Math.min(MOST_RETRY, Math.max(LEAST_RETRY, retry ?? ZONE_DEFAULTS.retry));
  return Math.min(most, LEAST_RETRY * 2 ** Math.min(failures, 10)) * 1000;
}

/** Writes what a primary answered, unless the same is stored. */
async function noteSight({ store, clock }: Context, of: LinkedPeerRow, serial: number): Promise<void> {
  if (of.serial === serial && of.error === null) return;
  await store.write(() => notePrimary(store, of, { serial }, clock.nowUs()));
}

async function noteFailure({ store, clock }: Context, of: LinkedPeerRow, error: TransferFailed): Promise<void> {
  const text = failureText(error);
  if (of.error !== text) await store.write(() => notePrimary(store, of, { error: text }, clock.nowUs()));
}
