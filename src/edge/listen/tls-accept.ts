/**
 * Accepts TCP connections for TLS. It reads the client's first message, looks up the TLS context of the host, and starts the
 * handshake with that context. A client that asks for a host without a certificate gets the alert `handshake_failure`.
 *
 * A handshake costs the client nothing so far, but it costs the edge a signature. So handshakes start in turns, by the account of the host
 * and by client.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.js';
import { readClientHello } from '../../base/connections/client-hello.js';
import { readFirst } from '../../base/connections/first-octets.js';
import { clientNetwork, plainAddress } from '../../base/ip.js';
import { createTurnPace } from '../../base/pace.js';
import type { HostTls } from '../tls/contexts.js';

export type RefusedHandshake = 'unknown-host' | 'no-host' | 'not-tls' | 'too-slow' | 'failed';

export interface TlsAcceptOptions {
  /** Synchronous; undefined if the host has no certificate. */
  readonly findTls: (serverName: string) => HostTls | undefined;
  /** The number of the account of a host; 0: of nobody. */
  readonly accountOf: (serverName: string) => number;
  readonly onRefused: (why: RefusedHandshake) => void;
  readonly clock: Clock;
  /** Time until the handshake starts, milliseconds. */
  readonly helloMs?: number | undefined;
}

const HELLO_MS = 10_000;
/** Handshakes that start in a turn of the event loop. With a key of RSA, 4096 bits, each takes some milliseconds. */
const STARTS_A_TURN = 2;

/** Fatal alerts (RFC 8446 §6): record type 21, version, length 2, level 2, description. */
const HANDSHAKE_FAILURE = Buffer.of(21, 3, 3, 0, 2, 2, 40);
const PLAIN_HTTP = Buffer.from(
  'HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\nThis port speaks HTTPS.\n',
);

export function createTlsAcceptor(options: TlsAcceptOptions): (socket: Socket) => void {
  const { clock, helloMs = HELLO_MS } = options;
  const pace = createTurnPace(() => STARTS_A_TURN);
  return (socket) => {
    const refuse = (why: RefusedHandshake, last?: Buffer): void => {
      cancel();
      options.onRefused(why);
      if (last && socket.writable) socket.end(last, () => socket.destroy());
      else socket.destroy();
    };
    const cancel = clock.after(helloMs, () => refuse('too-slow'));
    socket.once('close', cancel);
    const start = (serverName: string, octets: Buffer): void => {
      if (socket.destroyed) return;
      const tls = options.findTls(serverName);
      if (!tls) {
        refuse('unknown-host', HANDSHAKE_FAILURE);
        return;
      }
      cancel();
      socket.off('close', cancel);
      socket.unshift(octets);
      tls.accept(socket);
    };
    readFirst(socket, (octets) => {
      const hello = readClientHello(octets);
      if (hello.kind === 'more') return false;
      if (hello.kind === 'alien') refuse('not-tls', isHttp(octets) ? PLAIN_HTTP : undefined);
      else if (hello.serverName === undefined) refuse('no-host', HANDSHAKE_FAILURE);
      else {
        const serverName = hello.serverName.replace(/\.$/, '');
        const client = clientNetwork(plainAddress(socket.remoteAddress));
        pace.wait(options.accountOf(serverName), client, () => start(serverName, octets));
      }
      return true;
    });
  };
}

function isHttp(octets: Buffer): boolean {
  return /^[A-Z]{3,8} /.test(octets.toString('latin1', 0, 9));
}
