/**
 * Counts the open connections of each client, and closes all of them when the edge stops. Beyond the bound for all clients, the one that has
 * most loses its oldest connection, so that nobody keeps others out by holding connections open.
 */
import type { Socket } from 'node:net';
import { LRUCache } from 'lru-cache';
import { type Clock, steadyMs } from '../../base/clock.js';
import { clientNetwork, plainAddress } from '../../base/ip.js';
import { FairCache } from '../../base/lists/fair-cache.js';
import { noteNewcomer } from '../../base/pace.js';
import { openFileLimit } from '../../base/process/open-files.js';
import { memoryLimit } from '../../base/process/resident-memory.js';
import type { FloodKind } from '../http2/frame-budget.js';
import { createSharedCounts, type SharedCounts, type SharedMemory } from '../shared/counts.js';

export interface Connections {
  /** False if the client has reached its limit, or floods where it `mayFlood`; the socket is then destroyed. */
  add(socket: Socket, mayFlood: boolean): boolean;
  /** Notes that a client's connection was ended because of a flood. After some of a kind, it is refused for a while. */
  noteFlood(client: string, kind: FloodKind): void;
  count(): number;
  /** Connections refused or ended since the start, because a client had too many, or because of its floods. */
  refused(): number;
  destroyAll(): void;
}

export interface ConnectionLimits {
  readonly clock: Clock;
  /** Connections of one network. */
  readonly mostOfOne: number;
  /** Of all together; default: {@link mostConnections}. */
  readonly most?: number;
  /** How long floods are remembered, and how long the network of a flooder is refused; milliseconds. */
  readonly penaltyMs: number;
  /** With other processes: what they count counts here, too. */
  readonly shared?: SharedMemory | undefined;
}

/** Of all clients, at all processes of an edge. */
const MOST_CONNECTIONS = 65_536;
/** An idle one over TLS takes nearly as many; without TLS, a sixth. */
const CONNECTION_OCTETS = 65_536;
const DEFAULT_FILE_LIMIT = 1024;

/** As many as a quarter of the memory and half of the files that may be open allow: the rest is for origins and everything else. */
function mostConnections(processes: number): number {
  const ofFiles = (openFileLimit() ?? DEFAULT_FILE_LIMIT) / 2;
  const ofMemory = memoryLimit() / 4 / CONNECTION_OCTETS;
  return Math.floor(Math.min(ofFiles, Math.min(MOST_CONNECTIONS, ofMemory) / processes));
}

/** Connections that a network may have ended by floods before it is refused. */
const MOST_FLOODS: Readonly<Record<FloodKind, number>> = { resets: 3, broken: 20 };
const MOST_FLOODERS = 10_000;

interface Flooder {
  readonly floods: Readonly<Record<FloodKind, number>>;
  readonly lastMs: number;
}

const NO_FLOODS: Flooder['floods'] = { resets: 0, broken: 0 };
const KINDS = ['resets', 'broken'] as const;

export function createConnections(limits: ConnectionLimits): Connections {
  const { clock, mostOfOne, penaltyMs, shared } = limits;
  const together = shared && countedTogether(shared, mostOfOne);
  const flooders = new LRUCache<string, Flooder>({ max: MOST_FLOODERS });
  let refused = 0;
  const most = limits.most ?? mostConnections(shared?.processes ?? 1);
  const open = new FairCache<string, Socket, Socket>(most, (socket) => {
    refused += 1;
    socket.destroy();
  });

  function isRefused(client: string): boolean {
    if (together?.floods.some((counts) => counts.all(client) >= counts.most)) return true;
    const known = flooders.get(client);
    if (!known || KINDS.every((kind) => known.floods[kind] < MOST_FLOODS[kind])) return false;
    if (steadyMs(clock) - known.lastMs < penaltyMs) return true;
    flooders.delete(client);
    return false;
  }

  return {
    noteFlood(address, kind) {
      const client = clientNetwork(address);
      const nowMs = steadyMs(clock);
      const known = flooders.get(client);
      const before = known && nowMs - known.lastMs < penaltyMs ? known.floods : NO_FLOODS;
      flooders.set(client, { floods: { ...before, [kind]: before[kind] + 1 }, lastMs: nowMs });
      const counts = together?.floods[KINDS.indexOf(kind)];
      counts?.add(client);
      if (counts) clock.after(penaltyMs, () => counts.give(client));
    },
    add(socket, mayFlood) {
      // From now until its end, whoever else listens: an error of a connection that nobody hears would end the process.
      socket.on('error', ignored);
      noteNewcomer();
      const client = clientNetwork(plainAddress(socket.remoteAddress));
      const isFull = open.sizeOf(client) >= mostOfOne || (mayFlood && isRefused(client));
      if (isFull || together?.connections.take(client) === false) {
        refused += 1;
        socket.destroy();
        return false;
      }
      socket.on('close', () => {
        open.delete(socket);
        together?.connections.give(client);
      });
      open.set(client, socket, socket);
      return !socket.destroyed;
    },
    count: () => open.count,
    refused: () => refused,
    destroyAll() {
      for (const socket of open.keys()) socket.destroy();
    },
  };
}

interface CountedTogether {
  readonly connections: SharedCounts;
  /** In the order of the kinds. */
  readonly floods: readonly SharedCounts[];
}

function countedTogether(shared: SharedMemory, mostOfOne: number): CountedTogether {
  return {
    connections: createSharedCounts(shared, 'connections', mostOfOne),
    floods: KINDS.map((kind) => createSharedCounts(shared, kind, MOST_FLOODS[kind])),
  };
}

/** The connection closes after it. */
function ignored(): void {}
