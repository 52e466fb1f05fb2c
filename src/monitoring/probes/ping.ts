/** Pings (RFC 792, RFC 4443 §4). A random token, which nobody can guess, identifies the echo replies. */
import { createSocket } from 'node:dgram';
import { reasonOfError } from '../../balancing/health/failure-reason.js';
import { steadyMs } from '../../base/clock.js';
import { parseIP } from '../../base/ip.js';
import type { Random } from '../../base/random.js';
import { NoProbe, ProbeFailure } from './dial.js';
import type { Attempt, Place } from './result.js';

/** A socket for ICMP messages of one family. */
export interface IcmpSocket {
  /** Throws, or calls `failed`, if the message cannot be sent. */
  send(address: string, message: Uint8Array, failed: (error: Error) => void): void;
  await(isAwaited: boolean): void;
}

/** `length`: octets of an address. Returns undefined if this process may not ping. */
export type OpenIcmp = (length: 4 | 16, hear: (message: Uint8Array) => void) => IcmpSocket | undefined;

export interface Pinger {
  /** Resolves when the address has answered. Rejects with a {@link ProbeFailure}, or {@link NoProbe} if it may not ping. */
  ping(address: string, attempt: Attempt): Promise<void>;
}

const ECHO = { 4: { request: 8, reply: 0 }, 16: { request: 128, reply: 129 } } as const;
const HEADER = 8;
const TOKEN = 16;

export function createPinger(open: OpenIcmp, random: Random): Pinger {
  const waiting = new Map<string, () => void>();
  const sockets = new Map<number, IcmpSocket | undefined>();
  const socketOf = (length: 4 | 16): IcmpSocket | undefined => {
    if (!sockets.has(length)) {
      const hear = (message: Uint8Array): void => {
        if (message[0] !== ECHO[length].reply || message[1] !== 0) return;
        waiting.get(Buffer.from(message.subarray(HEADER, HEADER + TOKEN)).toString('hex'))?.();
      };
      sockets.set(length, open(length, hear));
    }
    return sockets.get(length);
  };
  return {
    ping(address, { late }) {
      const length = parseIP(address)!.length as 4 | 16;
      const socket = socketOf(length);
      if (!socket) return Promise.reject(new NoProbe('this process may not send ICMP messages'));
      const token = random.bytes(TOKEN);
      const key = Buffer.from(token).toString('hex');
      return new Promise<void>((resolve, reject) => {
        const onLate = (): void => reject(new ProbeFailure('Other Failure', true));
        if (late.aborted) return onLate();
        late.addEventListener('abort', onLate, { once: true });
        waiting.set(key, resolve);
        socket.await(true);
        socket.send(address, requestOf(length, token), reject);
      })
        .catch((error: Error & { code?: string }) => {
          throw error instanceof ProbeFailure ? error : new ProbeFailure(reasonOfError(error.code, 'connect'));
        })
        .finally(() => {
          waiting.delete(key);
          if (waiting.size === 0) for (const one of sockets.values()) one?.await(false);
        });
    },
  };
}

/** An echo request. The kernel computes the checksum of ICMPv6 (RFC 3542 §3.1). */
function requestOf(length: 4 | 16, token: Uint8Array): Uint8Array {
  const message = Buffer.alloc(HEADER + TOKEN);
  message[0] = ECHO[length].request;
  message.set(token, HEADER);
  // Identifier and sequence number: any value will do.
  message.set(token.subarray(0, 4), 4);
  let sum = 0;
  for (let at = 0; at < message.length; at += 2) sum += message.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  if (length === 4) message.writeUInt16BE(~sum & 0xffff, 2);
  return message;
}

/** Sends a UDP datagram, and fails if the host reports the port as unreachable (RFC 1122 §3.2.2.1). */
export function probeUdp({ address, port }: Place, { late }: Attempt): Promise<void> {
  const socket = createSocket(parseIP(address)!.length === 4 ? 'udp4' : 'udp6');
  return new Promise<void>((resolve, reject) => {
    // Without an error until the deadline, the probe has passed.
    if (late.aborted) return resolve();
    late.addEventListener('abort', () => resolve(), { once: true });
    const fail = ({ code }: Error & { code?: string }): void =>
      reject(new ProbeFailure(reasonOfError(code, 'connect')));
    socket.on('error', fail);
    // An answer is not required, but it ends the wait.
    socket.on('message', () => resolve());
    socket.connect(port, address, () => socket.send(Buffer.alloc(1), (error) => error && fail(error)));
  }).finally(() => socket.close());
}

/** How long a ping took. */
export async function pingTimed(pinger: Pinger, address: string, attempt: Attempt): Promise<number> {
  const beganMs = steadyMs(attempt.clock);
  await pinger.ping(address, attempt);
  return steadyMs(attempt.clock) - beganMs;
}
