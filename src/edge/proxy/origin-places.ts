/**
 * Places for exchanges with origins, taken in turns: by client over all zones, so that nobody holds the connections of many, and by
 * account, zone and client. Whoever holds most gives back first when others wait.
 */
import { type Clock, steadyMs } from '../../base/clock.js';
import type { MetricSample } from '../../base/metrics.js';
import { openFileLimit } from '../../base/process/open-files.js';
import { createTurns, type Leave, type TurnBounds, type TurnHolder } from '../../base/turns.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { createSharedCounts, type SharedMemory } from '../shared/counts.js';
import { type Asked, createSharedPlaces } from '../shared/places.js';

/** Whose exchange it is. */
export interface OriginShare {
  /** Store numbers. */
  readonly account: number;
  readonly zone: number;
  /** {@link clientNetwork} of the client. */
  readonly network: string;
}

export interface OriginPlaces {
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
  const clients: Asked = shared
    ? createSharedPlaces({ own, ...countsOf(shared, kind, client), waitMs: PLACE_WAIT_MS, clock })
    : own;
  const zones = createTurns(
    {
      all: { places: all, waiting: waiting.all },
      each: [{ places: all, waiting: waiting.all }, { places: zone, waiting: waiting.zone }, ofClient],
      ...times,
    },
    clock,
  );
  return {
    enterNow(share, holder) {
      const leaveClient = clients.enterNow(ofClientAndZone(share), holder);
      if (!leaveClient) return undefined;
      const leaveZone = zones.enterNow(ofZone(share), holder);
      if (!leaveZone) leaveClient();
      return leaveZone && both(leaveZone, leaveClient);
    },
    ask(share, holder, done) {
      const sinceMs = steadyMs(clock);
      let cancel = (): void => {};
      const askZone = (leaveClient: Leave): void => {
        const leaveZone = zones.enterNow(ofZone(share), holder);
        if (leaveZone) {
          done(both(leaveZone, leaveClient));
          return;
        }
        const waitMs = PLACE_WAIT_MS - (steadyMs(clock) - sinceMs);
        const cancelZone = zones.ask(ofZone(share), { holder, waitMs }, (turn) => {
          if (typeof turn === 'function') {
            done(both(turn, leaveClient));
            return;
          }
          leaveClient();
          done(refusal('this zone'));
        });
        cancel = () => {
          cancelZone();
          leaveClient();
        };
      };
      const cancelClient = clients.ask(ofClientAndZone(share), { holder }, (turn) => {
        if (typeof turn === 'function') askZone(turn);
        else done(refusal('your address'));
      });
      return () => {
        cancelClient();
        cancel();
      };
    },
    samples: () => [...clients.samples(`${kind}-client`), ...zones.samples(kind)],
  };
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

function both(one: Leave, other: Leave): Leave {
  return () => {
    one();
    other();
  };
}

function ofClientAndZone({ network, zone }: OriginShare): string[] {
  return [network, String(zone)];
}

function ofZone({ account, zone, network }: OriginShare): string[] {
  return [String(account), String(zone), network];
}
