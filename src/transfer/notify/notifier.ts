/**
 * Notifies the peers of zones of new serials once the DNS processes serve them, repeats this until the peers
 * acknowledge it, and asks what they serve. The stored serials of zones and peers suffice to begin again after a restart.
 */
import { steadyMs, unreadSince } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import { createTurns, type Turns } from '../../base/turns.js';
import type { Propagation } from '../../control/kernel/propagation.js';
import { serialIsAfter } from '../../dns/serial.js';
import { changesAfter, lastChange } from '../../store/log/changes.js';
import { enabledOutgoing, findOutgoing, outgoingModifiedAfter, peersOfZone } from '../../store/secondary/outgoing.js';
import { findServedZone } from '../../store/zones/zones.js';
import { createPeerTalk, type PeerTalk, type TalkOptions } from './peer-talk.js';
import { createTalks, type Talks } from './talks.js';

export interface NotifierOptions extends Omit<TalkOptions, 'turns' | 'propagation'> {
  readonly propagation: Propagation;
}

export interface Notifier {
  /** Something was committed. */
  wake(): void;
  /** A zone (store number) was transferred to this address. */
  transferred(zone: number, address: string): void;
  samples(): MetricSample[];
  close(): void;
}

/** Changes that are read at once. */
const MOST_CHANGES = 1000;
/** Milliseconds to wait for the DNS processes before asking again. */
const SERVED_LIMIT_MS = 60_000;
/** A zone with more changes in a second is busy: with n of them, its peers are told every n milliseconds. */
const BUSY_CHANGES = 20;
const SECOND_MS = 1000;
/**
 * Messages under way; the levels are accounts and peers. A place is kept for a time, which makes 500 a second in all, 400 for an
 * account and 50 for a peer. As many wait as there are zones with peers.
 */
const LIMITS = {
  all: { places: 80, waiting: Number.POSITIVE_INFINITY },
  each: [
    { places: 64, waiting: Number.POSITIVE_INFINITY },
    { places: 8, waiting: Number.POSITIVE_INFINITY },
  ],
  waitMs: 3_600_000,
} as const;

interface ZoneState {
  /** The newest change that peers must hear of. */
  change: number;
  /** Whether somebody waits until it is served, or until the peers may be told again. */
  isWaiting: boolean;
  /** When peers were told last, milliseconds. */
  toldAtMs: number;
  readonly rate: ChangeRate;
}

/** Changes in the second that began then (milliseconds), and in the one before. */
interface ChangeRate {
  sinceMs: number;
  changes: number;
  before: number;
}

interface State extends NotifierOptions {
  readonly zones: Map<number, ZoneState>;
  readonly talks: Talks;
  readonly turns: Turns;
  seenChange: number;
  /** Settings that were written until then have been read, microseconds since 1970. */
  seenModified: number;
  /** By zone: the stamp of the settings that were read. */
  readonly modified: Map<number, number>;
  closed: boolean;
}

/** Peers that were not in sync are told at once. */
export function startNotifier(options: NotifierOptions): Notifier {
  const { store, clock } = options;
  const context = { ...options, turns: createTurns(LIMITS, clock) };
  const state: State = {
    ...context,
    zones: new Map(),
    talks: createTalks((zone, peer) => createPeerTalk(context, zone, peer)),
    seenChange: lastChange(store),
    seenModified: 0,
    modified: new Map(),
    closed: false,
  };
  for (const zone of enabledOutgoing(store)) {
    const { modified_at: modifiedAt } = findOutgoing(store, zone)!;
    state.modified.set(zone, modifiedAt);
    state.seenModified = Math.max(state.seenModified, modifiedAt);
    if (hasStalePeer(state, zone)) tellSoon(state, zone, state.seenChange);
    else watchPeers(state, zone);
  }
  return {
    wake: () => look(state),
    transferred(zone, address) {
      for (const talk of peerTalks(state, zone)) if (talk.isAt(address)) talk.lookSoon();
    },
    samples: () => state.turns.samples('notify'),
    close() {
      state.closed = true;
      state.talks.endAll();
    },
  };
}

function hasStalePeer({ store }: State, zone: number): boolean {
  const { serial } = findServedZone(store, zone) ?? { serial: 0 };
  const { modified_at: modified, checked_at: checked } = findOutgoing(store, zone)!;
  if (checked === null || modified > checked) return true;
  return peersOfZone(store, zone).some((peer) => peer.serial === null || serialIsAfter(serial, peer.serial));
}

/** Reads what was committed since the last look. */
function look(state: State): void {
  const { store, clock, closed } = state;
  if (closed) return;
  for (;;) {
    const changes = changesAfter(store, state.seenChange, MOST_CHANGES);
    for (const { seq, zone, serial_from: before, serial_to: serial } of changes) {
      state.seenChange = seq;
      if (findOutgoing(store, zone)?.enabled !== 1) forget(state, zone);
      else if (serial !== null && serial !== before) tellSoon(state, zone, seq);
    }
    if (changes.length < MOST_CHANGES) break;
  }
  state.seenModified = unreadSince(clock, state.seenModified);
  for (const { zone, modifiedAt } of outgoingModifiedAfter(store, state.seenModified)) {
    state.seenModified = Math.min(modifiedAt, clock.nowUs());
    if (state.modified.get(zone) === modifiedAt) continue;
    state.modified.set(zone, modifiedAt);
    tellSoon(state, zone, state.seenChange);
  }
}

/** A zone that is gone, or is sent to nobody. */
function forget({ talks, zones, modified }: State, zone: number): void {
  talks.end(zone);
  zones.delete(zone);
  modified.delete(zone);
}

function tellSoon(state: State, zone: number, change: number): void {
  const nowMs = steadyMs(state.clock);
  let known = state.zones.get(zone);
  if (!known) {
    known = {
      change,
      isWaiting: false,
      toldAtMs: Number.NEGATIVE_INFINITY,
      rate: { sinceMs: nowMs, changes: 0, before: 0 },
    };
    state.zones.set(zone, known);
  }
  known.change = change;
  countChange(known.rate, nowMs);
  if (!known.isWaiting) void tellWhenServed(state, zone, known);
}

function countChange(rate: ChangeRate, nowMs: number): void {
  const passedMs = nowMs - rate.sinceMs;
  if (passedMs >= SECOND_MS) {
    rate.before = passedMs < 2 * SECOND_MS ? rate.changes : 0;
    rate.changes = 0;
    rate.sinceMs = nowMs;
  }
  rate.changes++;
}

/** Peers hear of a serial only when it is answered: they ask for it at once. */
async function tellWhenServed(state: State, zone: number, known: ZoneState): Promise<void> {
  const { propagation, clock } = state;
  known.isWaiting = true;
  const restMs = known.toldAtMs + betweenMs(known.rate) - steadyMs(clock);
  if (restMs > 0) await new Promise<void>((resolve) => void clock.after(restMs, resolve));
  while (!state.closed) {
    const { change } = known;
    const served = await propagation.whenServed({ change, zone }, SERVED_LIMIT_MS);
    if (served && change === known.change) break;
  }
  known.isWaiting = false;
  if (state.closed) return;
  known.toldAtMs = steadyMs(clock);
  for (const talk of peerTalks(state, zone)) talk.tell();
}

/** Milliseconds between two NOTIFY of a zone: none for a quiet one, a second for one with a thousand changes in a second. */
function betweenMs({ changes, before }: ChangeRate): number {
  const inSecond = Math.max(changes, before);
  return inSecond > BUSY_CHANGES ? Math.min(SECOND_MS, inSecond) : 0;
}

function watchPeers(state: State, zone: number): void {
  for (const talk of peerTalks(state, zone)) talk.watch();
}

/** What goes on with each peer of a zone that has an address. */
function peerTalks({ store, talks }: State, zone: number): PeerTalk[] {
  const peers = peersOfZone(store, zone).filter(({ ip }) => ip !== null);
  return talks.of(
    zone,
    peers.map(({ seq }) => seq),
  );
}
