/**
 * The TLS context of a host: certificate, versions, cipher suites, protocols. Each combination has a TLS server of
 * its own, which does not listen but receives connections. So everything applies from the first octet of the handshake.
 */
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { FairCache } from '../../base/lists/fair-cache.js';
import type { Logger } from '../../base/log.js';
import type { Route } from '../../hostnames/routing/find-route.js';
import { policyOf, type TlsPolicy } from '../../hostnames/routing/tls-policy.js';
import { VaultError } from '../../vault/errors.js';
import { type CertificateSource, findCertificate, type ServedCertificate } from './certificates.js';

import type { TicketKeys } from './ticket-keys.js';

/**
 * The most contexts to keep; each takes 37 KB. Whoever asks for thousands of hosts of one account in turn drives out none of another,
 * whose handshakes would take longer by the making of a context.
 */
const MOST_CONTEXTS = 2000;

export interface HostTls {
  /** Two hosts with the same certificate, and the same settings, may share a connection (RFC 9113 §9.1.1). */
  readonly certificate: ServedCertificate;
  /** Versions, suites and protocols, as a text to compare. */
  readonly settings: string;
  /** Begins the handshake. */
  readonly accept: (socket: Socket) => void;
}

/** A connection after its handshake. */
export type OnSecure = (socket: TLSSocket, tls: Pick<HostTls, 'certificate' | 'settings'>) => void;

export interface TlsContexts {
  /** Undefined if the host has no certificate. A client's request never causes one to be issued. */
  find(route: Route): HostTls | undefined;
  /** Forgets certificates, so that they are read again. */
  forget(): void;
}

export interface ContextOptions extends CertificateSource {
  readonly tickets: TicketKeys;
  readonly onSecure: OnSecure;
  readonly onFailed: () => void;
  /** Milliseconds. */
  readonly handshakeMs?: number | undefined;
  /** The most contexts to keep. */
  readonly most?: number;
  readonly clock: Clock;
  readonly log: Logger;
}

const HANDSHAKE_MS = 10_000;

export function createTlsContexts(options: ContextOptions): TlsContexts {
  const { store, vault, tickets, clock, log } = options;
  const servers = new FairCache<number, string, Server>(options.most ?? MOST_CONTEXTS);
  let certificates = new WeakMap<Route, ServedCertificate | 'none'>();

  function certificateOf(route: Route): ServedCertificate | undefined {
    const nowMs = clock.nowMs();
    const known = certificates.get(route);
    if (known === 'none') return undefined;
    if (known && nowMs < known.goodUntil) return known;
    const found = findCertificate({ store, vault }, route.host, route.holders, nowMs);
    certificates.set(route, found ?? 'none');
    return found;
  }

  function serverOf(account: number, certificate: ServedCertificate, policy: TlsPolicy, settings: string): Server {
    const { minVersion, maxVersion, ciphers, protocols } = policy;
    const { fingerprint } = certificate;
    const key = [account, fingerprint, settings, tickets.generation()].join('|');
    const known = servers.get(key);
    if (known) return known;
    const server = createServer({
      cert: certificate.pairs.map(({ chain }) => chain),
      key: certificate.pairs.map(({ key: pem }) => pem),
      minVersion,
      maxVersion,
      ciphers,
      honorCipherOrder: true,
      sessionIdContext: 'edge',
      ticketKeys: tickets.keyFor(fingerprint),
      ALPNProtocols: [...protocols],
      handshakeTimeout: options.handshakeMs ?? HANDSHAKE_MS,
    });
    server.on('secureConnection', (socket) => options.onSecure(socket, { certificate, settings }));
    server.on('tlsClientError', (_error, socket) => {
      options.onFailed();
      socket.destroy();
    });
    servers.set(account, key, server);
    return server;
  }

  return {
    find(route) {
      if (route.holders.length === 0) return undefined;
      try {
        const certificate = certificateOf(route);
        if (!certificate) return undefined;
        const policy = policyOf(route, certificate.owner);
        const settings = textOf(policy);
        const server = serverOf(route.zone?.account ?? 0, certificate, policy, settings);
        return { certificate, settings, accept: (socket) => void server.emit('connection', socket) };
      } catch (error) {
        if (!(error instanceof VaultError) && !isOpenSslError(error)) throw error;
        log.error({ host: route.host, reason: messageOf(error) }, 'the certificate of a host cannot be used');
        return undefined;
      }
    },
    forget() {
      certificates = new WeakMap();
    },
  };
}

function textOf({ minVersion, maxVersion, ciphers, protocols }: TlsPolicy): string {
  return [minVersion, maxVersion, ciphers, protocols].join('|');
}

/** A context cannot be created, for example because OpenSSL knows none of the cipher suites. */
function isOpenSslError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_');
}
