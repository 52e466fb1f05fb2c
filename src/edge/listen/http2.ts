/** HTTP/2 from clients, over TLS connections that others have accepted. Abuse of the protocol closes the connection. */
import type { TLSSocket } from 'node:tls';
import { type Clock, steadyMs } from '../../base/clock.js';
import type { FurtherRequests } from '../../base/connections/in-turns.js';
import type { OpenStreams } from '../exchange/open-streams.js';
import type { Stalls } from '../exchange/stalls.js';
import { ClientConnection } from '../http2/client-connection.js';
import type { ClientStream } from '../http2/client-stream.js';
import type { FloodKind } from '../http2/frame-budget.js';
import { createWindowShares } from '../http2/inbox-window.js';

const IDLE_MS = 60_000;
const CHECK_MS = 1000;
const PREFACE_MS = 5000;

export interface Http2ListenerOptions {
  readonly clock: Clock;
  readonly stalls: Stalls;
  readonly open: OpenStreams;
  /** Until the client's settings have come. */
  readonly prefaceMs?: number | undefined;
  readonly further: FurtherRequests;
  readonly onFault: (error: unknown) => void;
}

/** The client's side of a connection. */
export interface Http2Client {
  readonly network: string;
  readonly onRequest: (stream: ClientStream) => void;
  /** Called when the connection ends because its client broke the protocol, or reset stream after stream. */
  readonly onFlood: (kind: FloodKind) => void;
}

export interface Http2Listener {
  accept(socket: TLSSocket, client: Http2Client): void;
  /** Refuses new streams and finishes open ones. */
  drain(): void;
  close(): void;
}

export function createHttp2Listener(options: Http2ListenerOptions): Http2Listener {
  const { clock, stalls, open, prefaceMs = PREFACE_MS, further, onFault } = options;
  const shares = createWindowShares();
  const connections = new Set<ClientConnection>();
  const cancel = clock.every(CHECK_MS, () => {
    const nowMs = steadyMs(clock);
    for (const connection of connections) connection.checkTime(nowMs);
  });
  return {
    accept(socket, { network, onRequest, onFlood }) {
      const onClose = (): void => void connections.delete(connection);
      const times = { clock, prefaceMs, idleMs: IDLE_MS };
      const events = { onRequest, onFlood, onClose, onFault };
      const connection = new ClientConnection(socket, {
        ...{ ...times, ...events, client: network },
        ...{ shares, stalls, open, further },
      });
      connections.add(connection);
    },
    drain() {
      for (const connection of connections) connection.retire();
    },
    close: cancel,
  };
}
