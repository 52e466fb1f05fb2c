/** DNS over TLS (RFC 7858): the frames of TCP inside TLS 1.2 or later. */
import type { Socket } from 'node:net';
import { createServer } from 'node:tls';
import { Transport } from '../answer/transport.js';
import { messageOf, UserError } from '../base/errors.js';
import { sampleReports } from './guard.js';
import { listen, STREAM_OPTIONS, type StreamListener, type StreamListenOptions } from './tcp.js';

export interface TlsCredentials {
  /** PEM: the certificate, then those of the authorities between it and the root. */
  readonly certificate: string | Uint8Array;
  /** PEM. */
  readonly key: string | Uint8Array;
}

export interface TlsListenOptions extends StreamListenOptions {
  readonly credentials: TlsCredentials;
}

export interface TlsListener extends StreamListener {
  /** New connections get this certificate. Throws a UserError if it and the key do not fit. */
  renew(credentials: TlsCredentials): void;
}

const HANDSHAKE_MS = 5_000;
/** Handshakes under way at once; the oldest gives way. */
const HANDSHAKES = 500;

/** Rejects with a ListenError, or with a UserError if certificate and key cannot be used. */
export async function startTls(options: TlsListenOptions): Promise<TlsListener> {
  const { connections, log } = options;
  const admit = sampleReports();
  const server = usable('DNS over TLS', () =>
    createServer({
      ...STREAM_OPTIONS,
      ...contextOf(options.credentials),
      ALPNProtocols: ['dot'],
      minVersion: 'TLSv1.2',
      handshakeTimeout: HANDSHAKE_MS,
    }),
  );
  const handshakes = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const peer = nameOf(socket);
    handshakes.set(peer, socket);
    socket.once('close', () => handshakes.delete(peer));
    if (handshakes.size <= HANDSHAKES) return;
    const [oldest] = handshakes.values();
    oldest?.destroy();
  });
  server.on('secureConnection', (socket) => {
    handshakes.delete(nameOf(socket));
    connections.accept(socket, Transport.tls);
  });
  server.on('tlsClientError', (error) => {
    const seen = admit();
    if (seen !== undefined) log.debug({ error: error.message, seen }, 'a TLS handshake failed');
  });
  const listener = await listen(server, options, 'TLS');
  return {
    ...listener,
    renew: (credentials) => usable('DNS over TLS', () => server.setSecureContext(contextOf(credentials))),
    close: () => {
      listener.close();
      for (const socket of handshakes.values()) socket.destroy();
    },
  };
}

/** Tells the connections of one listener apart, before and after the handshake. */
function nameOf(socket: Socket): string {
  return `${socket.remoteAddress} ${socket.remotePort}`;
}

/** What node:tls takes. */
export function contextOf({ certificate, key }: TlsCredentials): { cert: Buffer; key: Buffer } {
  return { cert: Buffer.from(certificate), key: Buffer.from(key) };
}

/** What `make` makes of certificate and key. Throws a UserError when it cannot. */
export function usable<Result>(what: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    throw new UserError(
      `the certificate or key for ${what} cannot be used: ${messageOf(error)}`,
      'Give a PEM file with the certificate chain, and one with the private key that belongs to its first certificate.',
    );
  }
}
