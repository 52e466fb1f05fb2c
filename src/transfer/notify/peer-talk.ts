/** What goes on between us and one peer of one zone: NOTIFY until it is heard, then questions for its serial. */

import { equalBytes } from '../../base/bytes.js';
import { messageOf } from '../../base/errors.js';
import { parseIP, parsePeerAddress } from '../../base/ip.js';
import type { Logger } from '../../base/log.js';
import { serialIsAfter } from '../../dns/serial.js';
import { soaOf } from '../../serving/difference.js';
import { type ServingSettings, servingZone } from '../../serving/zone.js';
import type { Store } from '../../store/driver.js';
import {
  findOutgoing,
  notePeer,
  type PeerSight,
  peersOfZone,
  type ZonePeerRow,
} from '../../store/secondary/outgoing.js';
import { findTsigKey } from '../../store/secondary/tsig-keys.js';
import { findServedZone, type ZoneRow } from '../../store/zones/zones.js';
import type { Vault } from '../../vault/vault.js';
import { openKey } from '../keys.js';
import type { Turnstile } from '../turnstile.js';
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
/** Milliseconds between questions for the serial after NOTIFY was heard. */
const LOOKS = [1000, 5000, 30_000];
/** Milliseconds after a transfer: the peer still has to load it. */
const LOADING_LOOKS = [10, 100, 400, 1000, 5000, 30_000];
const HOUR_MS = 3_600_000;
const TIMEOUT_MS = 3000;
/** How long a place of the turnstile is kept, milliseconds. */
const PLACE_MS = 160;

export interface TalkOptions extends PeerContext {
  readonly store: Store;
  readonly vault: Vault;
  readonly serving: ServingSettings;
  readonly log: Logger;
  readonly turnstile: Turnstile;
}

export function createPeerTalk(context: TalkOptions, zone: number, seq: number): PeerTalk {
  const { clock } = context;
  let cancel = (): void => {};
  let closed = false;
  /** Counts what was begun, so that an older course ends when a newer one has begun. */
  let course = 0;

  const later = (ms: number, run: () => Promise<void>): void => {
    cancel();
    if (!closed) cancel = clock.after(ms, () => void guarded(run));
  };
  const guarded = async (run: () => Promise<void>): Promise<void> => {
    try {
      await run();
    } catch (error) {
      context.log.error({ zone, error: messageOf(error) }, 'a peer could not be told about a zone');
      later(HOUR_MS, () => notify(0));
    }
  };

  async function notify(attempt: number): Promise<void> {
    const mine = ++course;
    const found = findPeer(context, zone, seq);
    if (!found) return;
    const { row, peer, of } = found;
    const soa = soaOf(servingZone(context.store, row, context.serving));
    const failure = await paced(context, peer.address, () => notifyPeer(context, peer, row.apex, soa, TIMEOUT_MS));
    if (closed || mine !== course) return;
    if (!failure) {
      look(LOOKS, 0);
      return;
    }
    await note(context, of, failure);
    if (closed || mine !== course) return;
    later(REPEATS[attempt] ?? (row.soa_retry ?? RETRY_SECONDS) * 1000, () => notify(attempt + 1));
  }

  function look(delays: readonly number[], index: number): void {
    const delay = delays[index] ?? HOUR_MS;
    later(delay, async () => {
      const mine = ++course;
      const found = findPeer(context, zone, seq);
      if (!found) return;
      const { row, peer, of } = found;
      const sight = await paced(context, peer.address, () => askSerial(context, peer, row.apex, TIMEOUT_MS));
      if (closed || mine !== course) return;
      await note(context, of, sight);
      if (closed || mine !== course) return;
      const isBehind = !('serial' in sight) || serialIsAfter(row.serial, sight.serial);
      if (!isBehind) look([], 0);
      else if (delays[index] === undefined) await notify(0);
      else look(delays, index + 1);
    });
  }

  return {
    tell: () => {
      cancel();
      void guarded(() => notify(0));
    },
    watch: () => look([LOOKS[0]!], 0),
    lookSoon: () => look(LOADING_LOOKS, 0),
    isAt(address) {
      const theirs = parsePeerAddress(address);
      const ours = parseIP(findPeer(context, zone, seq)?.peer.address ?? '');
      return theirs !== undefined && ours !== undefined && equalBytes(theirs, ours);
    },
    close() {
      closed = true;
      cancel();
    },
  };
}

const RETRY_SECONDS = 2400;

interface Found {
  readonly row: ZoneRow;
  readonly peer: Peer;
  readonly of: ZonePeerRow;
}

/** The state of now; undefined when the zone is not transferred to the peer any more. Throws a VaultError. */
function findPeer({ store, vault }: TalkOptions, zone: number, seq: number): Found | undefined {
  const row = findServedZone(store, zone);
  const of = peersOfZone(store, zone).find((peer) => peer.seq === seq);
  if (!row || findOutgoing(store, zone)?.enabled !== 1 || !of?.ip) return undefined;
  const key = of.tsig === null ? undefined : findTsigKey(store, of.tsig);
  return { row, of, peer: { address: of.ip, port: of.port, key: key && openKey(vault, key) } };
}

async function paced<Result>(
  { turnstile, clock }: TalkOptions,
  address: string,
  run: () => Promise<Result>,
): Promise<Result> {
  const leave = await turnstile.enter(address);
  if (leave) clock.after(PLACE_MS, leave);
  return run();
}

/** Writes what a peer answered, unless it says the same as before and was written within the hour. */
async function note({ store, clock }: TalkOptions, of: ZonePeerRow, sight: PeerSight): Promise<void> {
  const now = clock.nowUs();
  const known = peersOfZone(store, of.zone).find(({ seq }) => seq === of.seq);
  const same =
    known && ('serial' in sight ? known.serial === sight.serial && known.error === null : known.error === sight.error);
  const outgoing = findOutgoing(store, of.zone);
  const isRecent = (outgoing?.checked_at ?? 0) > Math.max(outgoing?.modified_at ?? 0, now - HOUR_MS * 1000);
  if (!known || (same && isRecent)) return;
  await store.write(() => notePeer(store, of.zone, of.seq, sight, now));
}
