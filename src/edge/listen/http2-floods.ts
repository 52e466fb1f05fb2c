/**
 * Floods over HTTP/2: frames that ask for nothing, but cost work. SETTINGS and PING are counted. Of others, Node tells nothing; they
 * show in the octets that are neither a request nor its body. nghttp2 itself counts resets, and some frames, but by the ten thousand.
 */
import { constants, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Duplex } from 'node:stream';
import { type Clock, steadyMs } from '../../base/clock.js';

const WINDOW_MS = 10_000;
/** In ten seconds. Clients change settings when they start, and measure the way with PING while data flow. */
const MOST_SETTINGS = 100;
const MOST_PINGS = 1000;
const LOOK_MS = 1000;
/** Octets without a purpose that a connection may send at once, and then each second. */
const IDLE_OCTETS = 96 * 1024;
const IDLE_OCTETS_A_SECOND = 8 * 1024;
/** A request may have such a head. */
const OCTETS_OF_REQUEST = 16 * 1024;
/** Who reads much tells often that there is room for more: octets sent for one received. */
const SENT_FOR_ONE = 16;

export interface FloodWatch {
  watch(session: ServerHttp2Session, socket: Duplex, onFlood: () => void): void;
  noteRequest(stream: ServerHttp2Stream, session: ServerHttp2Session): void;
}

interface Watched {
  readonly socket: { readonly bytesRead: number; readonly bytesWritten: number };
  readonly end: () => void;
  /** Octets that have a purpose. */
  useful: number;
  read: number;
  written: number;
  idle: number;
}

export function createFloodWatch(clock: Clock): FloodWatch {
  const sessions = new Map<object, Watched>();
  let cancel: (() => void) | undefined;

  function look(): void {
    for (const watched of sessions.values()) {
      const { bytesRead, bytesWritten } = watched.socket;
      const received = bytesRead - watched.read - watched.useful - (bytesWritten - watched.written) / SENT_FOR_ONE;
      watched.idle = Math.max(0, watched.idle + received - IDLE_OCTETS_A_SECOND);
      Object.assign(watched, { read: bytesRead, written: bytesWritten, useful: 0 });
      if (watched.idle > IDLE_OCTETS) watched.end();
    }
  }

  return {
    watch(session, socket, onFlood) {
      const end = (): void => {
        if (session.destroyed) return;
        onFlood();
        session.destroy(new Error('a flood of frames'), constants.NGHTTP2_ENHANCE_YOUR_CALM);
      };
      const sides = socket as Duplex & Watched['socket'];
      const { bytesRead: read, bytesWritten: written } = sides;
      sessions.set(session, { socket: sides, end, useful: 0, read, written, idle: 0 });
      session.on('remoteSettings', counter(clock, MOST_SETTINGS, end));
      session.on('ping', counter(clock, MOST_PINGS, end));
      session.once('close', () => {
        sessions.delete(session);
        if (sessions.size > 0) return;
        cancel?.();
        cancel = undefined;
      });
      cancel ??= clock.every(LOOK_MS, look);
    },
    noteRequest(stream, session) {
      const watched = sessions.get(session);
      if (!watched) return;
      watched.useful += OCTETS_OF_REQUEST;
      if (stream.endAfterHeaders) return;
      const push = stream.push.bind(stream);
      // Listening for data would make it flow.
      stream.push = (chunk: Buffer | null, encoding) => {
        if (chunk) watched.useful += chunk.length;
        return push(chunk, encoding);
      };
    },
  };
}

function counter(clock: Clock, most: number, onMore: () => void): () => void {
  let sinceMs = steadyMs(clock);
  let count = 0;
  return () => {
    const nowMs = steadyMs(clock);
    if (nowMs - sinceMs >= WINDOW_MS) {
      sinceMs = nowMs;
      count = 0;
    }
    count += 1;
    if (count > most) onMore();
  };
}
