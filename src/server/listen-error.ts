/** The reason why a DNS address cannot be bound, with a remedy for the operator. */
import { messageOf, UserError } from '../base/errors.js';

export type ListenProtocol = 'UDP' | 'TCP' | 'TLS' | 'HTTPS';

export interface ListenAddress {
  readonly protocol: ListenProtocol;
  readonly host: string;
  readonly port: number;
}

/**
 * A socket could not be bound. `code` is the name of the system error: EADDRINUSE, EACCES, EADDRNOTAVAIL, EAFNOSUPPORT
 * …
 */
export class ListenError extends UserError {
  constructor(
    readonly code: string,
    readonly listen: ListenAddress,
    cause: unknown,
  ) {
    super(
      `cannot listen on ${listen.protocol} ${listen.host} port ${listen.port}: ${reasonOf(code, cause)}`,
      remedyOf(code, listen),
    );
    this.name = 'ListenError';
    this.cause = cause;
  }

  /** Whether the machine lacks the address or its family, so that another address may still work. */
  get addressMissing(): boolean {
    return this.code === 'EAFNOSUPPORT' || this.code === 'EADDRNOTAVAIL';
  }
}

/** Turns an error of a socket library into a {@link ListenError}; a typed error is returned unchanged. */
export function listenErrorOf(cause: unknown, listen: ListenAddress): ListenError {
  if (cause instanceof ListenError) return cause;
  const code = (cause as { code?: unknown } | undefined)?.code;
  return new ListenError(typeof code === 'string' ? code : 'UNKNOWN', listen, cause);
}

function reasonOf(code: string, cause: unknown): string {
  switch (code) {
    case 'EADDRINUSE':
      return 'the port is taken by another program (EADDRINUSE)';
    case 'EACCES':
    case 'EPERM':
      return `permission denied (${code})`;
    case 'EADDRNOTAVAIL':
      return 'the address does not belong to this machine (EADDRNOTAVAIL)';
    case 'EAFNOSUPPORT':
      return 'this machine has no such address family (EAFNOSUPPORT)';
    default:
      return messageOf(cause);
  }
}

function remedyOf(code: string, { port, protocol }: ListenAddress): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Find the program with 'ss -lnp${protocol === 'UDP' ? 'u' : 't'} sport = :${port}' and stop it, or choose another port or address.`;
    case 'EACCES':
    case 'EPERM':
      return port < 1024
        ? `Ports below 1024 need root or the capability CAP_NET_BIND_SERVICE; grant it to the service, or choose a port from 1024 on.`
        : 'The system does not allow this program to bind; check for a sandbox or security policy.';
    case 'EADDRNOTAVAIL':
      return `List the machine's addresses with 'ip address', and name one of them, or 0.0.0.0 and :: for all.`;
    case 'EAFNOSUPPORT':
      return 'Remove the addresses of that family.';
    default:
      return undefined;
  }
}
