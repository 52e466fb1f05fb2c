/** HTTP/2 from clients, over TLS connections that others have accepted. Abuse of the protocol closes the connection. */
import {
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.js';
import { clientNetwork, plainAddress } from '../../base/ip.js';
import type { FloodKind } from './connections.js';
import { createFloodWatch } from './http2-floods.js';
import { createWindows, STREAM_WINDOW } from './http2-windows.js';

/** The head of a request. */
export interface Http2Head {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly stream: Pick<ServerHttp2Stream, 'endAfterHeaders'>;
}

export interface Http2Handlers {
  /** A usual request without a body. False: it has no answer at once, and nothing was done. */
  readonly onUsual: (head: Http2Head, stream: ServerHttp2Stream) => boolean;
  readonly onRequest: (message: Http2ServerRequest, response: Http2ServerResponse) => void;
  /** An extended CONNECT (RFC 8441), which opens a WebSocket. */
  readonly onConnect: (message: Http2ServerRequest, response: Http2ServerResponse) => void;
  /** Called when a connection ends because its client broke the protocol, or reset stream after stream. */
  readonly onFlood: (session: ServerHttp2Session, kind: FloodKind) => void;
}

const IDLE_MS = 60_000;
/** Milliseconds that a session may stay after it was asked to close, and until the client's settings have come. */
const LINGER_MS = 2000;
const PREFACE_MS = 5000;
const MOST_STREAMS = 100;
const MOST_HEADER_OCTETS = 16_384;
/** Pseudo-header fields are counted in addition to the others. */
const MOST_FIELDS = 108;
/** Streams that a client may reset in a burst, and per second (CVE-2023-44487). */
const RESET_BURST = 120;
const RESETS_A_SECOND = 33;
/** From this many resets of a connection on, requests are looked at twice. */
const SUSPECT_RESETS = 4;

export interface Http2Times {
  readonly clock: Clock;
  /** Until the client's settings have come. */
  readonly prefaceMs?: number | undefined;
}

export interface Http2Listener {
  /** Undefined if the connection is already closed. */
  accept(socket: Socket): ServerHttp2Session | undefined;
  /** Refuses new streams and finishes open ones. */
  close(): void;
}

const OPTIONS: ServerOptions = {
  settings: {
    maxConcurrentStreams: MOST_STREAMS,
    maxHeaderListSize: MOST_HEADER_OCTETS,
    initialWindowSize: STREAM_WINDOW,
    enableConnectProtocol: true,
    enablePush: false,
  },
  maxHeaderListPairs: MOST_FIELDS,
  maxSessionInvalidFrames: 50,
  maxSessionRejectedStreams: 50,
  maxSettings: 32,
  maxOutstandingPings: 10,
  maxSessionMemory: 10,
  streamResetBurst: RESET_BURST,
  streamResetRate: RESETS_A_SECOND,
};

export function createHttp2Listener(
  handlers: Http2Handlers,
  { clock, prefaceMs = PREFACE_MS }: Http2Times,
): Http2Listener {
  const server: Http2Server = createServer(OPTIONS);
  Object.assign(server, { timeout: IDLE_MS });
  const sessions = new Map<ServerHttp2Session, Duplex>();
  const floods = createFloodWatch(clock);
  const widen = createWindows();
  const { note, sift, resetsOf } = siftRequests(floods.noteRequest);
  for (const event of ['request', 'checkContinue'] as const) {
    server.on(event, (message, response) => sift(message, () => handlers.onRequest(message, response)));
  }
  server.on('connect', ((message: Http2ServerRequest, response: Http2ServerResponse) =>
    sift(message, () => handlers.onConnect(message, response))) as never);
  answerUsualFirst(server, handlers.onUsual, (stream) => {
    const session = sessionOf(stream);
    // Suspicious requests are left to Node's listener.
    if (!session || resetsOf(session) >= SUSPECT_RESETS) return false;
    note(stream, session);
    return true;
  });
  let latest: ServerHttp2Session | undefined;
  server.on('session', (session) => {
    latest = session;
    let isBroken = false;
    session.once('close', () => {
      if (resetsOf(session) >= RESET_BURST) handlers.onFlood(session, 'resets');
      else if (isBroken) handlers.onFlood(session, 'broken');
    });
    session.on('error', (error: NodeJS.ErrnoException) => {
      isBroken = error.code?.startsWith('ERR_HTTP2_') ?? false;
      session.destroy();
    });
  });
  server.on('sessionError', () => {});
  return {
    accept(socket) {
      latest = undefined;
      // Node creates the session before this call returns.
      server.emit('connection', socket);
      const session = latest as ServerHttp2Session | undefined;
      if (!session) return undefined;
      sessions.set(session, socket);
      session.once('close', () => sessions.delete(session));
      session.once('timeout', () => letGo(session, socket, clock));
      widen(session, clientNetwork(plainAddress(socket.remoteAddress)));
      floods.watch(session, socket, () => handlers.onFlood(session, 'broken'));
      // A client begins with its settings (RFC 9113 §3.4). If they do not come, the client may be gone: Node does not report a
      // reset that comes right after the handshake.
      endAfter(prefaceMs, ['remoteSettings', 'close'], session, socket, clock);
      pingUnlessAsked(prefaceMs, session, socket, clock);
      return session;
    },
    close() {
      for (const session of sessions.keys()) session.close();
    },
  };
}

/** A session is asked first, so that its client loses no request. */
function letGo(session: ServerHttp2Session, socket: Duplex, clock: Clock): void {
  session.close();
  endAfter(LINGER_MS, ['close'], session, socket, clock);
}

/** A session alone would wait for what it still has to write. */
function endAtOnce(session: ServerHttp2Session, socket: Duplex): void {
  session.destroy();
  socket.destroy();
}

/** Ends a connection unless one of these events comes in time. */
function endAfter(
  ms: number,
  events: readonly ('remoteSettings' | 'close')[],
  session: ServerHttp2Session,
  socket: Duplex,
  clock: Clock,
): void {
  const cancel = clock.after(ms, () => endAtOnce(session, socket));
  for (const event of events) session.once(event, cancel);
}

/**
 * Between its settings and its first request, a client's reset may go unnoticed, too. A ping shows it: a client that is there answers.
 * If a write was under way, the ping waits for it for ever.
 */
function pingUnlessAsked(ms: number, session: ServerHttp2Session, socket: Duplex, clock: Clock): void {
  let cancel = clock.after(ms, () => {
    if (session.closed || session.destroyed) return;
    cancel = clock.after(ms, () => endAtOnce(session, socket));
    session.ping(() => cancel());
  });
  for (const event of ['stream', 'close'] as const) session.once(event, () => cancel());
}

/**
 * Calls `handle` for requests. A client that resets stream after stream must not cost what answers cost: once it has reset
 * several, its requests wait until everything that came with them was read, and are left out if they were reset.
 */
function siftRequests(onRequest: (stream: ServerHttp2Stream, session: ServerHttp2Session) => void) {
  const resets = new WeakMap<object, number>();
  /** Node takes what is stored here and then handles the request in the usual way at once. */
  let latest: ServerHttp2Stream | undefined;
  const resetsOf = (session: object): number => resets.get(session) ?? 0;
  const note = (stream: ServerHttp2Stream, session: ServerHttp2Session): void => {
    if (stream === latest) return;
    latest = stream;
    onRequest(stream, session);
    stream.once('aborted', () => resets.set(session, resetsOf(session) + 1));
  };
  const sift = ({ stream }: Http2ServerRequest, handle: () => void): void => {
    const session = sessionOf(stream);
    if (!session) return;
    note(stream, session);
    if (resetsOf(session) < SUSPECT_RESETS) handle();
    else {
      setImmediate(() => {
        if (!stream.closed && !stream.destroyed) handle();
      });
    }
  };
  return { note, sift, resetsOf };
}

/** Undefined when it has ended. */
function sessionOf({ session }: ServerHttp2Stream): ServerHttp2Session | undefined {
  return session as ServerHttp2Session | undefined;
}

type OnStream = (
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  raw: readonly string[],
) => void;

/** Answers what can be answered without the requests and responses that Node makes of each stream. To be called last. */
function answerUsualFirst(
  server: Http2Server,
  onUsual: Http2Handlers['onUsual'],
  isAllowed: (stream: ServerHttp2Stream) => boolean,
): void {
  // Node's own listener, for those who listen to requests.
  const general = server.listeners('stream') as OnStream[];
  server.removeAllListeners('stream');
  const onStream: OnStream = (stream, headers, flags, raw) => {
    const isUsual = headers[':method'] === 'GET' && stream.endAfterHeaders && headers.expect === undefined;
    const head = { method: 'GET', headers, rawHeaders: raw, stream };
    if (isUsual && isAllowed(stream) && onUsual(head, stream)) return;
    for (const listener of general) listener.call(server, stream, headers, flags, raw);
  };
  server.on('stream', onStream as never);
}
