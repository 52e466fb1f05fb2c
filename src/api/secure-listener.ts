/** The admin API over TLS, beside the plain listener: clients that insist on https need it (v4: §1.1). */
import { createServer } from 'node:https';
import type { FastifyInstance } from 'fastify';
import { answerClientError, MOST_CONNECTIONS, TIMEOUTS } from './connection.js';

/** PEM: the chain with the leaf first, and its key. */
export interface Credentials {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

export interface SecureListener {
  listen(place: { readonly host: string; readonly port: number; readonly exclusive: boolean }): Promise<void>;
  /** For connections from now on. Throws when they are no credentials. */
  renew(credentials: Credentials): void;
  /** Resolves when the requests in flight are answered. */
  close(): Promise<void>;
}

/** Serves what `app` serves; `app` must be ready. Throws when the credentials are none. */
export function createSecureListener(app: FastifyInstance, { certificate, key }: Credentials): SecureListener {
  const { connectionTimeout, requestTimeout, keepAliveTimeout, http } = TIMEOUTS;
  const options = { cert: certificate, key, minVersion: 'TLSv1.2' as const, requestTimeout, keepAliveTimeout, ...http };
  const server = createServer(options, (request, response) => app.routing(request, response));
  server.timeout = connectionTimeout;
  server.maxConnections = MOST_CONNECTIONS;
  server.on('clientError', answerClientError);
  return {
    listen: (place) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(place, () => {
          server.removeListener('error', reject);
          resolve();
        });
      }),
    renew: (credentials) =>
      server.setSecureContext({ ...options, cert: credentials.certificate, key: credentials.key }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeIdleConnections();
      }),
  };
}
