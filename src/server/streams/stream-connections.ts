/**
 * All stream connections of the process: how many may exist, and how long each may wait (RFC 7766 §6.2.3, §10).
 *
 * At the limit, the client that has most loses its longest idle connection. One timer watches all connections.
 */
import type { Socket } from 'node:net';
import type { TransportCode } from '../../answer/transport.js';
import { steadyMs } from '../../base/clock.js';
import { ofLargestClient } from '../clients.js';
import { Count } from '../counters.js';
import type { AnswerTurns } from '../turns/answer-turns.js';
import { PartialRoom } from './partial-frame.js';
import { StreamConnection, type StreamContext } from './stream-connection.js';

export interface StreamLimits {
  readonly connections: number;
  readonly connectionsPerClient: number;
  /** Octets of incomplete frames of one client, which may have half of what the others leave, and of all. */
  readonly partialPerClient: number;
  readonly partial: number;
  /** A connection without queries is closed after this many milliseconds. */
  readonly idleMs: number;
  /** The same while more than three quarters of the connections are in use. */
  readonly crowdedIdleMs: number;
  /** A frame must be complete within this time. */
  readonly frameMs: number;
  /** A peer that does not read its answers is dropped after this time. */
  readonly blockedMs: number;
  /** The same during a zone transfer. */
  readonly transferBlockedMs: number;
}

export const STREAM_LIMITS: StreamLimits = {
  connections: 1000,
  connectionsPerClient: 100,
  partialPerClient: 2 << 20,
  partial: 16 << 20,
  idleMs: 10_000,
  crowdedIdleMs: 2_000,
  frameMs: 10_000,
  blockedMs: 15_000,
  transferBlockedMs: 60_000,
};

/** Milliseconds that a connection closed by the server waits for the peer's end. */
const LINGER_MS = 2_000;
const SWEEP_MS = 500;

export class StreamConnections {
  private readonly all = new Set<StreamConnection>();
  private readonly perClient = new Map<string, number>();
  private readonly partials: PartialRoom;
  /** Set while there are connections. */
  private stopSweep: (() => void) | undefined;

  constructor(
    private readonly context: StreamContext,
    private readonly limits: StreamLimits,
    private readonly turns: AnswerTurns,
  ) {
    this.partials = new PartialRoom({ of: limits.partialPerClient, inAll: limits.partial });
  }

  get size(): number {
    return this.all.size;
  }

  /** Serves a connected socket until it closes. */
  accept(socket: Socket, transport: TransportCode): void {
    const { counts } = this.context;
    counts[Count.connectionAccepted]! += 1;
    const connection = new StreamConnection(socket, this.context, transport, this.turns, this.partials);
    const { network } = connection;
    const fromClient = this.perClient.get(network) ?? 0;
    if (fromClient >= this.limits.connectionsPerClient) {
      this.evict([...this.all].filter((one) => one.network === network));
    }
    if (this.all.size >= this.limits.connections) this.evict(ofLargestClient(this.all, ({ network: of }) => of));
    this.all.add(connection);
    this.stopSweep ??= this.context.clock.every(SWEEP_MS, () => this.sweep());
    this.perClient.set(network, (this.perClient.get(network) ?? 0) + 1);
    socket.once('close', () => this.forget(connection));
  }

  /** Ends all connections: what is written is still sent, for no more than `graceMs` milliseconds. */
  async close(graceMs: number): Promise<void> {
    this.stopSweep?.();
    const cancel = this.context.clock.after(graceMs, () => {
      for (const connection of this.all) connection.socket.destroy();
    });
    await Promise.all(
      [...this.all].map((connection) => {
        const closed = new Promise<void>((resolve) => connection.socket.once('close', () => resolve()));
        if (connection.socket.writableLength === 0) connection.socket.destroy();
        else connection.socket.destroySoon();
        return closed;
      }),
    );
    cancel();
  }

  private forget(connection: StreamConnection): void {
    if (!this.all.delete(connection)) return;
    if (this.all.size === 0) this.endSweeps();
    const { network } = connection;
    const left = (this.perClient.get(network) ?? 1) - 1;
    if (left > 0) this.perClient.set(network, left);
    else this.perClient.delete(network);
  }

  private endSweeps(): void {
    this.stopSweep?.();
    this.stopSweep = undefined;
  }

  /** Closes the longest idle of these connections; a busy one only if all are busy. */
  private evict(among: readonly StreamConnection[]): void {
    let chosen = among[0];
    for (const connection of among) if (goesBefore(connection, chosen!)) chosen = connection;
    if (!chosen) return;
    this.context.counts[Count.connectionEvicted]! += 1;
    this.drop(chosen);
  }

  private drop(connection: StreamConnection): void {
    connection.socket.destroy();
    this.forget(connection);
  }

  private sweep(): void {
    const now = steadyMs(this.context.clock);
    const { limits, all } = this;
    const idleMs = all.size > limits.connections * 0.75 ? limits.crowdedIdleMs : limits.idleMs;
    const passed = (since: number, ms: number): boolean => since > 0 && now - since >= ms;
    for (const connection of all) {
      const { activeAtMs, partialSinceMs, blockedSinceMs, closingSinceMs } = connection.times;
      if (passed(closingSinceMs, LINGER_MS)) {
        this.drop(connection);
      } else if (passed(blockedSinceMs, connection.isTransferring ? limits.transferBlockedMs : limits.blockedMs)) {
        this.context.counts[Count.connectionTimedOut]! += 1;
        this.drop(connection);
      } else if (
        closingSinceMs === 0 &&
        (passed(partialSinceMs, limits.frameMs) || (connection.idle && passed(activeAtMs, idleMs)))
      ) {
        this.context.counts[Count.connectionTimedOut]! += 1;
        connection.finish();
      }
    }
  }
}

function goesBefore(a: StreamConnection, b: StreamConnection): boolean {
  return a.idle === b.idle ? a.times.activeAtMs < b.times.activeAtMs : a.idle;
}
