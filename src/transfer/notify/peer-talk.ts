/** Sends NOTIFY to one peer about one zone until the peer acknowledges it, then asks the peer for its serial. */

import { equalBytes } from '../../base/bytes.js';
import { messageOf } from '../../base/errors.js';
import { parseIP, parsePeerAddress } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import type { Turns } from '../../base/turns.js';
import type { Propagation } from '../../control/kernel/propagation.js';
import { serialIsAfter } from '../../dns/serial.js';
import { soaOf } from '../../serving/difference.js';
import { type ServingSettings, servingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import type { LinkedPeerRow, PeerSight } from '../../store/secondary/linked-peers.js';
import { findOutgoing, notePeer, peersOfZone } from '../../store/secondary/outgoing.js';
import { findTsigKey } from '../../store/secondary/tsig-keys.js';
import { findServedZone, ZONE_DEFAULTS, type ZoneRow } from '../../store/zones/zones.js';
import type { Vault } from '../../vault/vault.js';
import { openKey } from '../keys.js';
import { askSerial, notifyPeer, type Peer, type PeerContext } from './ask-peer.js';

export interface PeerTalk {
  /** There is a new serial. */
  tell(): void;
  /** Asks for its serial now and then. */
  watch(): void;
  /** It has just transferred the zone: asks for its serial at once. */
  lookSoon(): void;
  isAt(address: string): boolean;
  close(): void;
}

/** Milliseconds until NOTIFY is repeated (RFC 1996 §3.6); then the RETRY of the SOA. */
const REPEATS = [1000, 2000, 4000, 8000, 16_000];
/** Milliseconds between questions for the serial after the peer has acknowledged NOTIFY. */
const LOOKS = [1000, 5000];
/** Milliseconds until NOTIFY is sent again to a peer that acknowledged it but stays behind; then the RETRY of the SOA. */
const AGAIN = [0, 30_000];
/** Milliseconds after a transfer: the peer still has to load it. */
const LOADING_LOOKS = [10, 100, 400, 1000, 5000];
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 3000;
/** How long a place at a peer is kept, milliseconds. */
const PLACE_MS = 160;

export interface TalkOptions extends PeerContext {
  readonly store: Store;
  readonly vault: Vault;
  readonly serving: ServingSettings;
  readonly log: Logger;
  readonly turns: Turns;
  /** Hears when a peer has answered something new. */
  readonly propagation: Pick<Propagation, 'noteSecondary'>;
}

export function createPeerTalk(context: TalkOptions, zone: number, seq: number): PeerTalk {
  const course = createCourse(context, zone);
  /** Questions after a transfer have their own course, so that they never replace a NOTIFY that is to be repeated. */
  const looks = createCourse(context, zone);
  let isLooking = false;

  /** `attempt`: messages without an answer; `acknowledged`: those with one, while the peer stayed behind. */
  async function notify(attempt: number, acknowledged: number): Promise<void> {
    const goesOn = course.begin();
    const row = findServedZone(context.store, zone);
    const isAnswered = row && (await tellPeer(context, row, seq));
    if (!row || isAnswered === undefined || !goesOn()) return;
    if (isAnswered) look(LOOKS, 0, acknowledged);
    else course.later(REPEATS[attempt] ?? retryMs(row), () => notify(attempt + 1, acknowledged));
  }

  function look(delays: readonly number[], index: number, acknowledged: number): void {
    course.later(delays[index] ?? HOUR_MS, async () => {
      const goesOn = course.begin();
      const row = findServedZone(context.store, zone);
      const isBehind = row && (await lookAtPeer(context, row, seq));
      if (!row || isBehind === undefined || !goesOn()) return;
      if (!isBehind) look([], 0, 0);
      else if (delays[index + 1] !== undefined) look(delays, index + 1, acknowledged);
      // The peer's transfer failed or takes long. Without another NOTIFY it tries again only after its own RETRY.
      else course.later(AGAIN[acknowledged] ?? retryMs(row), () => notify(0, acknowledged + 1));
    });
  }

  function lookWhileLoading(index: number): void {
    const delay = LOADING_LOOKS[index];
    const row = findServedZone(context.store, zone);
    isLooking = delay !== undefined && row !== undefined && isKnownBehind(context, row, seq);
    if (delay === undefined || !isLooking) return;
    looks.later(delay, async () => {
      const current = findServedZone(context.store, zone);
      if (current) await lookAtPeer(context, current, seq);
      lookWhileLoading(index + 1);
    });
  }

  return {
    tell: () => course.later(0, () => notify(0, 0)),
    watch: () => look([LOOKS[0]!], 0, 0),
    lookSoon() {
      if (!isLooking) lookWhileLoading(0);
    },
    isAt(address) {
      const theirs = parsePeerAddress(address);
      const ours = parseIP(findPeer(context, zone, seq)?.peer.address ?? '');
      return theirs !== undefined && ours !== undefined && equalBytes(theirs, ours);
    },
    close() {
      course.close();
      looks.close();
    },
  };
}

/** One thing after the other: what is planned replaces what was planned before. */
interface Course {
  later(ms: number, run: () => Promise<void>): void;
  /** The returned function says whether nothing else has been planned or has begun since. */
  begin(): () => boolean;
  close(): void;
}

function createCourse({ clock, log }: TalkOptions, zone: number): Course {
  let cancel: (() => void) | undefined;
  let number = 0;
  let closed = false;
  const later: Course['later'] = (ms, run) => {
    cancel?.();
    if (closed) return;
    // What is still under way must not replace this by its next step.
    number++;
    cancel = clock.after(ms, () => {
      run().catch((error: unknown) => {
        log.error({ zone, error: messageOf(error) }, 'a peer could not be notified of a zone, or asked for its serial');
        later(MINUTE_MS, run);
      });
    });
  };
  return {
    later,
    begin() {
      const mine = ++number;
      return () => mine === number && !closed;
    },
    close() {
      closed = true;
      cancel?.();
    },
  };
}

/** Sends NOTIFY. Whether the peer acknowledged it; undefined when the zone does not go there any more. */
async function tellPeer(context: TalkOptions, row: ZoneRow, seq: number): Promise<boolean | undefined> {
  const found = findPeer(context, row.seq, seq);
  if (!found) return undefined;
  const { peer, of } = found;
  const soa = soaOf(servingZone(context.store, row, context.serving));
  const failure = await paced(context, row.account, peer, () => notifyPeer(context, peer, row.apex, soa, TIMEOUT_MS));
  if (failure) await note(context, of, failure);
  return failure === undefined;
}

/** Whether the last answer of a peer was behind, or there was none. */
function isKnownBehind({ store }: TalkOptions, { seq: zone, serial }: ZoneRow, seq: number): boolean {
  const known = peersOfZone(store, zone).find((peer) => peer.seq === seq);
  return known !== undefined && (known.serial === null || known.error !== null || serialIsAfter(serial, known.serial));
}

/** Asks for the serial and stores it. Whether the peer is behind; undefined as above. */
async function lookAtPeer(context: TalkOptions, row: ZoneRow, seq: number): Promise<boolean | undefined> {
  const found = findPeer(context, row.seq, seq);
  if (!found) return undefined;
  const { peer, of } = found;
  const sight = await paced(context, row.account, peer, () => askSerial(context, peer, row.apex, TIMEOUT_MS));
  await note(context, of, sight);
  return !('serial' in sight) || serialIsAfter(row.serial, sight.serial);
}

/** Milliseconds until NOTIFY is sent again to a peer that does not follow: the RETRY of the SOA, within bounds. */
function retryMs({ soa_retry: retry }: ZoneRow): number {
  return Math.min(HOUR_MS, Math.max(MINUTE_MS, (retry ?? ZONE_DEFAULTS.retry) * 1000));
}

interface Found {
  readonly peer: Peer;
  readonly of: LinkedPeerRow;
}

/** The state of now; undefined when the zone is not transferred to the peer any more. Throws a VaultError. */
function findPeer({ store, vault }: TalkOptions, zone: number, seq: number): Found | undefined {
  const of = peersOfZone(store, zone).find((peer) => peer.seq === seq);
  if (findOutgoing(store, zone)?.enabled !== 1 || !of?.ip) return undefined;
  const key = of.tsig === null ? undefined : findTsigKey(store, of.tsig);
  return {
    of,
    peer: {
      address: of.ip,
      port: of.port,
      by: of.by_operator === 1 ? 'operator' : 'tenant',
      key: key && openKey(vault, key),
    },
  };
}

async function paced<Result>(
  { turns, clock }: TalkOptions,
  account: number,
  { address, port }: Peer,
  run: () => Promise<Result>,
): Promise<Result> {
  const leave = await turns.enter([String(account), `${address} ${port}`]);
  if (typeof leave === 'function') clock.after(PLACE_MS, leave);
  return run();
}

/** Writes what a peer answered, unless it says the same as before and was written within the hour. */
async function note({ store, clock, propagation }: TalkOptions, of: LinkedPeerRow, sight: PeerSight): Promise<void> {
  const now = clock.nowUs();
  const known = peersOfZone(store, of.zone).find(({ seq }) => seq === of.seq);
  const same =
    known && ('serial' in sight ? known.serial === sight.serial && known.error === null : known.error === sight.error);
  const outgoing = findOutgoing(store, of.zone);
  const checkedAt = outgoing?.checked_at ?? 0;
  // A clock that was ahead has left later ones.
  const isRecent = checkedAt > Math.max(outgoing?.modified_at ?? 0, now - HOUR_MS * 1000) && checkedAt <= now;
  if (!known || (same && isRecent)) return;
  await store.write(() => notePeer(store, of.zone, of.seq, sight, now));
  propagation.noteSecondary();
}
