/**
 * The client of a transfer: one connection, one query, and the messages of the answer, each checked (RFC 5936 §2.2, RFC 8945
 * §5.3.1). Over TCP, or over TLS when the primary has a name or a key in a certificate (RFC 9103); never the one instead of
 * the other.
 */

import { connect as connectTcp, type Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls, rootCertificates, type TLSSocket } from 'node:tls';
import type { Clock } from '../../base/clock.js';
import { messageOf } from '../../base/errors.js';
import { Rcode } from '../../dns/codes.js';
import { frameOf, lengthAt } from '../../dns/frames.js';
import { type ReadMessage, readLaterMessage, readMessage, TRUNCATED } from '../../dns/message.js';
import { nameEquals } from '../../dns/name.js';
import { findTsig, MOST_UNSIGNED, signMessage, type TsigKey, type TsigRecord } from '../../dns/tsig.js';
import type { Egress, NamedBy } from '../../egress/egress.js';
import { nowSeconds } from '../keys.js';
import { rcodeText, signatureFault } from '../peer-answer.js';
import { TransferFailed } from './failure.js';
import { type PrimaryTls, tlsFault } from './primary-certificate.js';

export interface Primary {
  /** An IP address. */
  readonly address: string;
  readonly port: number;
  readonly by: NamedBy;
  readonly key: TsigKey | undefined;
  readonly tls: PrimaryTls | undefined;
}

export interface StreamContext {
  readonly clock: Clock;
  /** Decides to which primaries it connects. */
  readonly egress: Egress;
  readonly signal: AbortSignal;
}

/** A message, and whether it and all before it are covered by signatures; true without a key. */
export interface StreamMessage {
  readonly message: ReadMessage;
  readonly isCovered: boolean;
}

const CONNECT_MS = 5000;
/** Milliseconds until the first octet of the answer, and then without a whole message. */
const FIRST_MS = 10_000;
const IDLE_MS = 30_000;
const WHOLE_MS = 7_200_000;
const MOST_OCTETS = 2 ** 31;
const HEADER_LENGTH = 12;
const QR = 0x8000;
const OPCODE_MASK = 0x7800;

/** Sends a query and yields the messages of the answer for as long as the caller wants more. Throws {@link TransferFailed}. */
export async function* transferMessages(
  context: StreamContext,
  primary: Primary,
  query: Uint8Array,
): AsyncGenerator<StreamMessage> {
  const { clock } = context;
  const { key } = primary;
  const signed = key && signMessage(query, key, { time: nowSeconds(clock) });
  const check = signed && createStreamCheck(key, signed.mac, clock);
  const asked = readMessage(query)!;
  const socket = await open(context, primary);
  try {
    socket.write(frameOf(signed?.message ?? query));
    let isFirst = true;
    for await (const octets of frames(context, socket)) {
      const message = isFirst ? readMessage(octets) : readLaterMessage(octets, asked.question);
      if (!message) throw new TransferFailed('lying', 'it sent a message that cannot be read');
      requireAnswer(message, asked);
      const isCovered = check ? check(octets) : true;
      requireNoError(message);
      isFirst = false;
      yield { message, isCovered };
    }
    throw new TransferFailed('unreachable', 'it closed the connection before the end');
  } finally {
    socket.destroy();
  }
}

/** Checks the messages of an answer in order; returns whether everything so far is covered. Throws {@link TransferFailed}. */
function createStreamCheck(key: TsigKey, requestMac: Uint8Array, clock: Clock): (octets: Uint8Array) => boolean {
  let prior = requestMac;
  let continues = false;
  let unsigned: Uint8Array[] = [];
  return (octets) => {
    const tsig = findTsig(octets);
    if (tsig === 'none' && continues) {
      unsigned.push(octets);
      if (unsigned.length > MOST_UNSIGNED) throw badSignature(`${unsigned.length} messages came without a signature`);
      return false;
    }
    const fault = signatureFault(octets, tsig, key, nowSeconds(clock), { prior, continues, unsigned });
    if (fault !== undefined) throw badSignature(fault);
    prior = (tsig as TsigRecord).mac;
    continues = true;
    unsigned = [];
    return true;
  };
}

function badSignature(text: string): TransferFailed {
  return new TransferFailed('signature', text);
}

function requireAnswer({ id, flags, question }: ReadMessage, asked: ReadMessage): void {
  const isAnswer = (flags & QR) !== 0 && (flags & OPCODE_MASK) === 0 && id === asked.id;
  const { name, type } = asked.question;
  if (!isAnswer || question.type !== type || !nameEquals(question.name, name)) {
    throw new TransferFailed('lying', 'it answered another question');
  }
  if (flags & TRUNCATED) throw new TransferFailed('lying', 'it truncated a message of a stream');
}

function requireNoError({ rcode }: ReadMessage): void {
  if (rcode !== Rcode.noError) throw new TransferFailed('refused', `it answered ${rcodeText(rcode)}`);
}

/** Opens the connection and proves who is at the other end. */
async function open({ clock, egress, signal }: StreamContext, { address, port, by, tls }: Primary): Promise<Socket> {
  if (signal.aborted) throw new TransferFailed('unreachable', 'the transfer was ended');
  const refusal = egress.refusal('transfers', address, port, by);
  if (refusal !== undefined) throw new TransferFailed('policy', refusal);
  const socket = tls ? connectTls(tlsOptions(address, port, tls)) : connectTcp(port, address);
  return new Promise<Socket>((resolve, reject) => {
    const fail = (error: TransferFailed): void => {
      cancel();
      socket.destroy();
      reject(error);
    };
    const cancel = clock.after(CONNECT_MS, () => {
      fail(
        new TransferFailed(
          'unreachable',
          tls && !socket.connecting ? 'it does not answer in TLS' : 'it takes no connection',
        ),
      );
    });
    // Stays, because a socket without such a listener ends the process.
    socket.on('error', (error) => fail(connectionFailure(error)));
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      cancel();
      const fault = tls && tlsFault(socket as TLSSocket, tls);
      if (fault === undefined) resolve(socket);
      else fail(badSignature(fault));
    });
  });
}

function tlsOptions(host: string, port: number, { name, authorities }: PrimaryTls): ConnectionOptions {
  return {
    host,
    port,
    minVersion: 'TLSv1.3',
    ALPNProtocols: ['dot'],
    // Checked by tlsFault.
    rejectUnauthorized: false,
    ...(name !== null && { servername: name }),
    ...(authorities !== undefined && { ca: [...rootCertificates, authorities] }),
  };
}

function connectionFailure(error: Error): TransferFailed {
  return new TransferFailed('unreachable', messageOf(error));
}

/** The messages of a stream, without their lengths (RFC 1035 §4.2.2). */
async function* frames({ clock, signal }: StreamContext, socket: Socket): AsyncGenerator<Uint8Array> {
  let rest: Uint8Array = new Uint8Array(0);
  let octets = 0;
  let reason: TransferFailed | undefined;
  const end = (text: string) => (): void => {
    reason ??= new TransferFailed('unreachable', text);
    socket.destroy(reason);
  };
  const onAbort = end('the transfer was ended');
  const cancelWhole = clock.after(WHOLE_MS, end(`the transfer took longer than ${WHOLE_MS / 3_600_000} hours`));
  const idle = (ms: number): (() => void) => clock.after(ms, end(`it sent nothing for ${ms / 1000} seconds`));
  let cancelIdle = idle(FIRST_MS);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for await (const chunk of socket) {
      if (octets === 0) {
        cancelIdle();
        cancelIdle = idle(IDLE_MS);
      }
      octets += (chunk as Uint8Array).length;
      if (octets > MOST_OCTETS) throw new TransferFailed('limit', 'it sent more than 2 GiB');
      rest = rest.length === 0 ? (chunk as Uint8Array) : Buffer.concat([rest, chunk as Uint8Array]);
      for (let length = frameLength(rest); length !== undefined; length = frameLength(rest)) {
        cancelIdle();
        if (length < HEADER_LENGTH) throw new TransferFailed('lying', 'what it sent is not DNS');
        yield new Uint8Array(rest.subarray(2, 2 + length));
        rest = rest.subarray(2 + length);
        cancelIdle = idle(IDLE_MS);
      }
    }
  } catch (error) {
    if (reason) throw reason;
    throw error instanceof TransferFailed ? error : connectionFailure(error as Error);
  } finally {
    cancelIdle();
    cancelWhole();
    signal.removeEventListener('abort', onAbort);
  }
}

/** Octets of the first message; undefined when it is not whole yet. */
function frameLength(octets: Uint8Array): number | undefined {
  if (octets.length < 2) return undefined;
  const length = lengthAt(octets, 0);
  return octets.length >= 2 + length ? length : undefined;
}
