/**
 * Places for exchanges with origins, taken in turns: by client over all zones, so that nobody holds the connections of many, and by
 * account, zone and client. Whoever holds most gives back first when others wait.
 */
import { type Clock, steadyMs } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import { openFileLimit } from '../../base/process/open-files.js';
import { createTurns, type Leave, Place, type PlaceTurns, type TurnBounds, type TurnHolder } from '../../base/turns.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { createSharedCounts, type SharedMemory } from '../shared/counts.js';
import { createSharedPlaces, placeTurnsOf } from '../shared/places.js';

/** Whose exchange it is. */
export interface OriginShare {
  /** Store numbers. */
  readonly account: number;
  readonly zone: number;
  /** {@link clientNetwork} of the client. */
  readonly network: string;
}

/** Is told what became of the wait for a place. `nowMs`: steady milliseconds. */
export interface OriginPlaceEvents {
  onPlace(nowMs: number): void;
  onNoPlace(failure: Failure): void;
}

export interface OriginPlaces {
  /** For whoever takes one place after another. */
  placeFor(holder: TurnHolder, events: OriginPlaceEvents): ExchangePlace;
  /** A place that is there at once; undefined if whoever asks has to wait. */
  enterNow(share: OriginShare, holder: TurnHolder): Leave | undefined;
  /** Calls `done` once. Returns what ends the wait, of which `done` hears nothing. */
  ask(share: OriginShare, holder: TurnHolder, done: (place: Leave | Failure) => void): () => void;
  samples(): MetricSample[];
}

export interface OriginPlaceLimits {
  /** The label of the metrics. */
  readonly kind: 'origin' | 'websocket';
  readonly all: number;
  readonly zone: number;
  /** Of one client, over all zones. */
  readonly client: number;
}

/** The longest wait, and what clients that got no place are told to wait. */
const PLACE_WAIT_MS = 5000;
/** Then the class that holds most gives back. */
const PATIENCE_MS = 500;
/** How many of a zone, and of a client, may wait. */
const MOST_WAITING_OF_ZONE = 2048;
const MOST_WAITING_OF_CLIENT = 512;
const MOST_PLACES = 8192;
const DEFAULT_FILE_LIMIT = 1024;

/** Half of the files that may be open is for clients and everything else. */
const ALL = Math.min(MOST_PLACES, Math.floor((openFileLimit() ?? DEFAULT_FILE_LIMIT) / 2));

/** For requests. */
export const REQUEST_PLACES: OriginPlaceLimits = { kind: 'origin', all: ALL, zone: Math.min(1024, ALL), client: 32 };
/** For WebSockets, which stay for as long as both sides want. */
export const WEB_SOCKET_PLACES: OriginPlaceLimits = {
  kind: 'websocket',
  all: ALL,
  zone: Math.min(4096, ALL),
  client: 256,
};

/**
 * `shared`: with other processes. The clients of a zone are spread over them, so each process has its part of the places of zones; what
 * one client does may fall on one of them, so its places are counted by all together.
 */
export function createOriginPlaces(
  clock: Clock,
  { kind, client, ...limits }: OriginPlaceLimits,
  shared?: SharedMemory,
): OriginPlaces {
  const partOf = (most: number): number => Math.max(1, Math.floor(most / (shared?.processes ?? 1)));
  const [all, zone] = [partOf(limits.all), partOf(limits.zone)];
  const waiting = {
    all: partOf(MOST_PLACES),
    zone: partOf(MOST_WAITING_OF_ZONE),
    client: partOf(MOST_WAITING_OF_CLIENT),
  };
  const ofClient: TurnBounds = { places: client, waiting: waiting.client };
  const times = { waitMs: PLACE_WAIT_MS, patienceMs: PATIENCE_MS };
  const unbounded = { places: Number.POSITIVE_INFINITY, waiting: waiting.all };
  const own = createTurns({ all: unbounded, each: [ofClient, ofClient], ...times }, clock);
  const together = shared && { own, ...countsOf(shared, kind, client), waitMs: PLACE_WAIT_MS, clock };
  const clients = together ? placeTurnsOf(createSharedPlaces(together), clock) : own;
  const zones = createTurns(
    {
      all: { places: all, waiting: waiting.all },
      each: [{ places: all, waiting: waiting.all }, { places: zone, waiting: waiting.zone }, ofClient],
      ...times,
    },
    clock,
  );
  const placeFor = (holder: TurnHolder, events: OriginPlaceEvents): ExchangePlace =>
    new ExchangePlace(clients, zones, clock, holder, events);
  return {
    placeFor,
    enterNow(share, holder) {
      const place = placeFor(holder, NOBODY);
      return place.take(share) ? () => place.leave(steadyMs(clock)) : undefined;
    },
    ask(share, holder, done) {
      const leave = (): void => place.leave(steadyMs(clock));
      const place = placeFor(holder, { onPlace: () => done(leave), onNoPlace: done });
      place.wait(share, steadyMs(clock));
      return () => {
        if (!place.isHeld) leave();
      };
    },
    samples: () => [...clients.samples(`${kind}-client`), ...zones.samples(kind)],
  };
}

/** Is told nothing, because a place was there at once. */
const NOBODY: OriginPlaceEvents = { onPlace() {}, onNoPlace() {} };

/** A place of one exchange after another: among those of its client, and then among those of its zone. */
export class ExchangePlace {
  private readonly ofClient: Place;
  private readonly ofZone: Place;
  private share: OriginShare = { account: 0, zone: 0, network: '' };
  /** Of that share. */
  private clientClasses: readonly string[] = [];
  private zoneClasses: readonly string[] = [];
  private sinceMs = 0;

  constructor(
    private readonly clients: PlaceTurns,
    private readonly zones: PlaceTurns,
    private readonly clock: Clock,
    holder: TurnHolder,
    private readonly events: OriginPlaceEvents,
  ) {
    this.ofClient = new Place(holder, {
      onTurn: (nowMs) => this.waitInZone(nowMs),
      onNoTurn: () => events.onNoPlace(refusal('your address')),
    });
    this.ofZone = new Place(holder, {
      onTurn: (nowMs) => events.onPlace(nowMs),
      onNoTurn: () => this.refuseInZone(),
    });
  }

  get isHeld(): boolean {
    return this.ofZone.isHeld;
  }

  /** Takes a place that is there at once. It must be neither held nor waited for. */
  take(share: OriginShare): boolean {
    this.use(share);
    if (!this.clients.take(this.ofClient, this.clientClasses)) return false;
    if (this.zones.take(this.ofZone, this.zoneClasses)) return true;
    this.clients.leave(this.ofClient, steadyMs(this.clock));
    return false;
  }

  /** The same, but waits for it. It is told once, perhaps at once. */
  wait(share: OriginShare, nowMs: number): void {
    this.use(share);
    this.sinceMs = nowMs;
    this.clients.wait(this.ofClient, this.clientClasses, nowMs);
  }

  /** Frees it, or ends the wait, of which nothing is told. */
  leave(nowMs: number): void {
    this.zones.leave(this.ofZone, nowMs);
    this.clients.leave(this.ofClient, nowMs);
  }

  private use(share: OriginShare): void {
    const { account, zone, network } = this.share;
    if (share.zone === zone && share.account === account && share.network === network) return;
    this.share = share;
    this.clientClasses = [share.network, String(share.zone)];
    this.zoneClasses = [String(share.account), String(share.zone), share.network];
  }

  private waitInZone(nowMs: number): void {
    const waitMs = PLACE_WAIT_MS - (nowMs - this.sinceMs);
    this.zones.wait(this.ofZone, this.zoneClasses, nowMs, waitMs);
  }

  private refuseInZone(): void {
    this.clients.leave(this.ofClient, steadyMs(this.clock));
    this.events.onNoPlace(refusal('this zone'));
  }
}

function countsOf(shared: SharedMemory, kind: OriginPlaceLimits['kind'], most: number) {
  const what = kind === 'origin' ? 'requests' : 'WebSockets';
  return {
    held: createSharedCounts(shared, what, most),
    waiting: createSharedCounts(shared, `waiting ${what}`, Number.POSITIVE_INFINITY),
    processes: shared.processes,
  };
}

/** The failure of an exchange that others' needs have ended, too. */
export function refusal(whose: string): Failure {
  return failureOf('overloaded', `the connections to origins that ${whose} may have are in use`);
}
