/** Opens the connection of a probe: to an address that was checked, with TLS if it is wanted. */
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectTls, type SecureContext } from 'node:tls';
import type { FailureReason, ProbeStage } from '../../balancing/health/failure-reason.js';
import { reasonOfError } from '../../balancing/health/failure-reason.js';
import { lacksOpenFiles } from '../../base/process/open-files.js';
import type { Attempt, Place } from './result.js';

/** Why a probe failed. */
export class ProbeFailure extends Error {
  override readonly name = 'ProbeFailure';

  constructor(
    readonly reason: FailureReason,
    readonly timedOut = false,
    readonly responseCode: number | undefined = undefined,
  ) {
    super(reason);
  }
}

export interface TlsOptions {
  readonly context: SecureContext;
  /** Whether the certificate is verified. */
  readonly verified: boolean;
}

/** This process could not probe at all, which says nothing about the other side. */
export class NoProbe extends Error {
  override readonly name = 'NoProbe';
}

const LATE: Readonly<Record<ProbeStage, FailureReason>> = {
  connect: 'TCP Timeout',
  handshake: 'TLS Handshake Failure',
  exchange: 'HTTP timeout occurred',
};

/**
 * Runs an exchange over a new connection, which is closed afterwards whatever happens. Rejects with a {@link ProbeFailure}.
 * `onLate`: what to call it when the exchange itself takes too long.
 */
export async function overConnection<T>(
  place: Place,
  tls: TlsOptions | undefined,
  { late }: Attempt,
  exchange: (socket: Socket) => Promise<T>,
): Promise<T> {
  let stage: ProbeStage = 'connect';
  const raw = connect({ host: place.address, port: place.port, noDelay: true });
  let socket = raw;
  try {
    return await new Promise<T>((resolve, reject) => {
      const fail = (error: Error & { code?: string }): void => {
        if (error instanceof ProbeFailure) reject(error);
        else if (lacksOpenFiles(error)) reject(new NoProbe(error.message));
        else reject(new ProbeFailure(reasonOfError(error.code, stage)));
      };
      const onLate = (): void => reject(new ProbeFailure(LATE[stage], true));
      if (late.aborted) onLate();
      late.addEventListener('abort', onLate, { once: true });
      raw.on('error', fail);
      const begin = (): void => {
        stage = 'exchange';
        exchange(socket).then(resolve, fail);
      };
      raw.once('connect', () => {
        if (!tls) {
          begin();
          return;
        }
        stage = 'handshake';
        socket = startTls(raw, place, tls);
        socket.on('error', fail);
        socket.once('secureConnect', begin);
        raw.once('close', () => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' })));
      });
    });
  } finally {
    for (const one of [socket, raw]) {
      one.on('error', () => {});
      one.destroy();
    }
  }
}

/** The server name is that of the host; none for addresses (RFC 6066 §3), whose certificate must name the address. */
function startTls(raw: Socket, { host, address }: Place, { context, verified }: TlsOptions): Socket {
  const name = host === undefined ? address : hostOnly(host);
  return connectTls({
    socket: raw,
    secureContext: context,
    rejectUnauthorized: verified,
    ALPNProtocols: ['http/1.1'],
    ...(isIP(name) === 0 ? { servername: name } : {}),
    host: name,
  });
}

/** A value of `Host` without its port. */
export function hostOnly(host: string): string {
  if (host.startsWith('[')) return host.slice(1, host.indexOf(']'));
  return isIP(host) === 6 ? host : host.replace(/:\d+$/, '');
}
