/** DNS over TLS (RFC 7858): the frames of TCP inside TLS 1.2 or later. */
import { createServer } from 'node:tls';
import { Transport } from '../answer/transport.js';
import type { Clock } from '../base/clock.js';
import { limitKeyExchange } from '../base/connections/key-exchange.js';
import { messageOf, UserError } from '../base/errors.js';
import { sampleReports } from '../base/sample-reports.js';
import type { CountBlock } from './counters.js';
import { watchHandshakes } from './handshakes.js';
import { listen, STREAM_OPTIONS, type StreamListener, type StreamListenOptions } from './tcp.js';

export interface TlsCredentials {
  /** PEM: the certificate, then the intermediate certificates. */
  readonly certificate: string | Uint8Array;
  /** PEM. */
  readonly key: string | Uint8Array;
}

export interface TlsListenOptions extends StreamListenOptions {
  /** Without credentials, handshakes fail until {@link TlsListener.renew} is called. */
  readonly credentials?: TlsCredentials | undefined;
  readonly counts: CountBlock;
  readonly clock: Clock;
}

export interface TlsListener extends StreamListener {
  /** New connections get this certificate. Throws a UserError if certificate and key do not match. */
  renew(credentials: TlsCredentials): void;
}

/** Rejects with a ListenError, or with a UserError if the certificate and key cannot be used. */
export async function startTls(options: TlsListenOptions): Promise<TlsListener> {
  const { connections, log } = options;
  const admit = sampleReports();
  const server = usable('DNS over TLS', () =>
    createServer({
      ...STREAM_OPTIONS,
      ...contextOf(options.credentials),
      ALPNProtocols: ['dot'],
      minVersion: 'TLSv1.2',
    }),
  );
  const endHandshakes = watchHandshakes(server, options.counts, options.clock);
  server.on('secureConnection', (socket) => connections.accept(socket, Transport.tls));
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
      endHandshakes();
    },
  };
}

/** The form that node:tls expects. */
export function contextOf(credentials: TlsCredentials | undefined): { cert?: Buffer; key?: Buffer } {
  limitKeyExchange();
  return credentials ? { cert: Buffer.from(credentials.certificate), key: Buffer.from(credentials.key) } : {};
}

/** The result of `make`. Throws a UserError when certificate and key cannot be used. */
export function usable<Result>(what: string, make: () => Result): Result {
  try {
    return make();
  } catch (error) {
    throw new UserError(
      `the certificate or key for ${what} cannot be used: ${messageOf(error)}`,
      'Provide a PEM file with the certificate chain and one with the private key of its first certificate.',
    );
  }
}
