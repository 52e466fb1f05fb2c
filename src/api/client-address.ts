/**
 * The source address of a request, for the networks of tokens, the audit log and limits; also behind trusted proxies.
 */
import type { FastifyRequest } from 'fastify';
import { type CidrSet, parseCidrSet, parsePeerAddress, printIP } from '../base/ip.js';
import { loopNames } from '../http/cdn-loop.js';
import { clientAddress, clientScheme } from '../http/forwarded.js';
import type { Store } from '../store/driver.js';
import { loopIdOf } from '../store/meta.js';
import { failure } from './errors.js';

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * The client's address in canonical text; `unknown` behind an edge that is not a trusted proxy, so that no network contains it.
     * Throws 400/9207 when a trusted proxy's headers cannot be parsed.
     */
    readonly clientAddress: string;
    /** Whether the client used https, to this server or to a trusted proxy. */
    readonly isSecure: boolean;
  }
}

/** Headers that proxies add. A request with one of them comes from another machine, whatever its connection shows. */
const ADDED_BY_PROXIES = [
  ...['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via', 'cdn-loop'],
];

export function isLoopback(host: string): boolean {
  const address = parsePeerAddress(host);
  if (!address) return false;
  return address.length === 4 ? address[0] === 127 : printIP(address) === '::1';
}

/** Whether the client is a program on this machine, not a proxy for another client. */
export function isFromThisMachine({ socket, headers }: FastifyRequest): boolean {
  return isLoopback(socket.remoteAddress ?? '') && ADDED_BY_PROXIES.every((name) => headers[name] === undefined);
}

/** Whether nobody but this machine reaches an API at `host`, unless an edge passes requests on, perhaps ours. */
export function isLocalAt(host: string, { headers }: FastifyRequest): boolean {
  return isLoopback(host) && headers['cdn-loop'] === undefined;
}

/** The getter of `request.clientAddress`. */
export function clientAddressFinder(
  store: Store,
  trusted: CidrSet = parseCidrSet([]),
): (this: Pick<FastifyRequest, 'socket' | 'headers'>) => string {
  const loopId = loopIdOf(store);
  return function () {
    const peer = this.socket.remoteAddress ?? '';
    const passed = this.headers['cdn-loop']?.toString();
    const isLoop = passed !== undefined && loopNames(passed, loopId);
    if (isLoop && !trusted.contains(parsePeerAddress(peer) ?? new Uint8Array(0))) return 'unknown';
    const address = clientAddress(peer, this.headers, trusted);
    if (address !== undefined) return address;
    const name = this.headers.forwarded === undefined ? 'X-Forwarded-For' : 'Forwarded';
    throw failure('badHeader', { name, expected: 'addresses that agree with the other forwarding header' });
  };
}

/** The getter of `request.isSecure`. */
export function schemeFinder(trusted: CidrSet = parseCidrSet([])): (this: FastifyRequest) => boolean {
  return function () {
    if ((this.socket as { readonly encrypted?: boolean }).encrypted === true) return true;
    return clientScheme(this.socket.remoteAddress ?? '', this.headers, trusted) === 'https';
  };
}
