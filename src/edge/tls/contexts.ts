/**
 * The TLS context of a host: certificate, versions, cipher suites, protocols. Each combination has a TLS server of
 * its own, which does not listen but receives connections. So everything applies from the first octet of the handshake.
 */
import { hash } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { FairCache } from '../../base/lists/fair-cache.js';
import type { Logger } from '../../base/log.js';
import { createUncountedMemory } from '../../base/uncounted-memory.js';
import type { Route } from '../../hostnames/routing/find-route.js';
import { policyOf, type TlsPolicy } from '../../hostnames/routing/tls-policy.js';
import { VaultError } from '../../vault/errors.js';
import { type CertificateSource, findCertificate, type ServedCertificate } from './certificates.js';
import type { TicketKeys } from './ticket-keys.js';

/** Each takes this much, which V8 does not count. */
const CONTEXT_OCTETS = 37_000;
/** Octets of dropped contexts that await a collection: one takes tens of milliseconds, and as many handshakes take more than a second. */
const MOST_WAITING = 64 << 20;
/**
 * The most contexts to keep. Whoever asks for thousands of hosts of one account in turn drives out none of another,
 * whose handshakes would take longer by the making of a context.
 */
const MOST_CONTEXTS = 2000;

export interface HostTls {
  /** Two hosts with the same certificate, and the same settings, may share a connection (RFC 9113 §9.1.1). */
  readonly certificate: ServedCertificate;
  /** Versions, suites and protocols, as a digest to compare. */
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
  const memory = createUncountedMemory(MOST_WAITING);
  const drop = (): void => memory.release(CONTEXT_OCTETS);
  const servers = new FairCache<number, string, Server>(options.most ?? MOST_CONTEXTS, drop);
  let hosts = new WeakMap<Route, KnownHost | 'none'>();

  function knownOf(route: Route): KnownHost | 'none' {
    const nowMs = clock.nowMs();
    const generation = tickets.generation();
    const known = hosts.get(route);
    if (known === 'none') return known;
    const isGood = known !== undefined && nowMs < known.certificate.goodUntil;
    if (isGood && known.generation === generation) return known;
    const certificate = isGood
      ? known.certificate
      : findCertificate({ store, vault }, route.host, route.holders, nowMs);
    const made = certificate ? hostOf(route, certificate, generation) : 'none';
    hosts.set(route, made);
    return made;
  }

  function serverOf(route: Route, { certificate, settings, key }: KnownHost): Server {
    const known = servers.get(key);
    if (known) return known;
    const { minVersion, maxVersion, ciphers, protocols } = policyOf(route, certificate.owner);
    const server = createServer({
      cert: certificate.pairs.map(({ chain }) => chain),
      key: certificate.pairs.map(({ key: pem }) => pem),
      minVersion,
      maxVersion,
      ciphers,
      honorCipherOrder: true,
      sessionIdContext: 'edge',
      ticketKeys: tickets.keyFor(certificate.fingerprint),
      ALPNProtocols: [...protocols],
      handshakeTimeout: options.handshakeMs ?? HANDSHAKE_MS,
    });
    server.on('secureConnection', (socket) => options.onSecure(socket, { certificate, settings }));
    server.on('tlsClientError', (_error, socket) => {
      options.onFailed();
      socket.destroy();
    });
    servers.set(accountOf(route), key, server);
    return server;
  }

  return {
    find(route) {
      if (route.holders.length === 0) return undefined;
      try {
        const known = knownOf(route);
        if (known === 'none') return undefined;
        const server = serverOf(route, known);
        const { certificate, settings } = known;
        return { certificate, settings, accept: (socket) => void server.emit('connection', socket) };
      } catch (error) {
        if (!(error instanceof VaultError) && !isOpenSslError(error)) throw error;
        log.error({ host: route.host, reason: messageOf(error) }, 'the certificate of a host cannot be used');
        return undefined;
      }
    },
    forget() {
      hosts = new WeakMap();
    },
  };
}

/** What its context is made of. The context itself is kept elsewhere, because there may be fewer of them than hosts. */
interface KnownHost extends Pick<HostTls, 'certificate' | 'settings'> {
  /** Of the context. */
  readonly key: string;
  /** Of the keys of session tickets. */
  readonly generation: string;
}

function hostOf(route: Route, certificate: ServedCertificate, generation: string): KnownHost {
  const settings = digestOf(policyOf(route, certificate.owner));
  const key = [accountOf(route), certificate.fingerprint, settings, generation].join('|');
  return { certificate, settings, key, generation };
}

/** Store number; 0: of nobody. */
function accountOf({ zone }: Route): number {
  return zone?.account ?? 0;
}

/** As a text, it has a thousand characters, and is kept for each host. */
function digestOf({ minVersion, maxVersion, ciphers, protocols }: TlsPolicy): string {
  return hash('sha256', [minVersion, maxVersion, ciphers, protocols].join('|'), 'base64');
}

/** A context cannot be created, for example because OpenSSL knows none of the cipher suites. */
function isOpenSslError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_');
}
