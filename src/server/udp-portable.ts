/**
 * UDP through node:dgram, for systems without batched system calls.
 *
 * On a wildcard address the system chooses the source of an answer, which on a machine with several addresses may not be the
 * one that was asked; such machines should name their addresses, and are told so.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import { type Answer, createClient, Transport } from '../answer/transport.js';
import type { Clock } from '../base/clock.js';
import { parseIP } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import { Count, type CountBlock, countLatency, isTimed } from './counters.js';
import { REQUEST_ROOM, RESPONSE_ROOM } from './datagram-batch.js';
import { containAnswer, type ReportFault } from './guard.js';
import { listenErrorOf } from './listen-error.js';

export interface UdpPortableOptions {
  /** A literal address. */
  readonly host: string;
  readonly port: number;
  readonly answer: Answer;
  readonly counts: CountBlock;
  readonly reportFault: ReportFault;
  readonly log: Logger;
  readonly clock: Clock;
  /** Octets of kernel queue asked for, each way; 1 MiB by default. */
  readonly queueOctets?: number;
}

export interface UdpPortableServer {
  readonly port: number;
  close(): Promise<void>;
}

/** Answers that may wait in the process for the kernel; with more, new ones are dropped. */
const WAITING = 128;
const NO_ADDRESS = new Uint8Array(0);
const QUEUE_OCTETS = 1024 * 1024;

/** Binds one socket. Rejects with a ListenError. */
export async function startUdpPortable(options: UdpPortableOptions): Promise<UdpPortableServer> {
  const { host, port, log } = options;
  const family = host.includes(':') ? 6 : 4;
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    ipv6Only: family === 6,
    // Addresses are literal, hence found without asking, and a datagram is handed to the kernel at once.
    lookup: (address, _options, found) => found(null, address, family),
  });
  await bindSocket(socket, host, port);
  setQueues(socket, options.queueOctets ?? QUEUE_OCTETS, log);
  warnOfManyAddresses(host, log);
  serve(socket, options);
  return {
    port: socket.address().port,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function serve(socket: Socket, options: UdpPortableOptions): void {
  const { counts, log } = options;
  const answer = containAnswer(options.answer, counts, options.reportFault);
  // A datagram the kernel does not take at once still refers to its octets, so each answer has a place of its own.
  const responses = new Uint8Array((WAITING + 1) * RESPONSE_ROOM);
  let place = 0;
  const client = createClient();
  const sent = (error: Error | null): void => {
    if (error) counts[Count.sendFailed]! += 1;
  };
  socket.on('message', (request: Buffer, peer: RemoteInfo) => {
    counts[Count.batch]! += 1;
    const startUs = isTimed(counts) ? options.clock.nowUs() : 0;
    if (peer.port === 0 || request.length > REQUEST_ROOM) {
      counts[Count.discarded]! += 1;
      return;
    }
    if (socket.getSendQueueCount() >= WAITING) {
      counts[Count.sendFailed]! += 1;
      return;
    }
    const at = place * RESPONSE_ROOM;
    client.source = parseIP(peer.address.replace(/%.*$/, '')) ?? NO_ADDRESS;
    client.length = client.source.length;
    client.seconds = Math.floor(options.clock.nowMs() / 1000);
    const length = answer(request, 0, request.length, responses, at, RESPONSE_ROOM, Transport.udp, client);
    if (length === 0) return;
    place = place === WAITING ? 0 : place + 1;
    socket.send(responses, at, length, peer.port, peer.address, sent);
    if (startUs !== 0) countLatency(counts, options.clock.nowUs() - startUs);
  });
  socket.on('error', (error) => {
    counts[Count.receiveFailed]! += 1;
    log.warn({ error: error.message, host: options.host }, 'UDP socket error');
  });
}

function bindSocket(socket: Socket, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.close();
      reject(listenErrorOf(error, { protocol: 'UDP', host, port }));
    };
    socket.once('error', fail);
    socket.bind({ address: host, port, exclusive: true }, () => {
      socket.off('error', fail);
      resolve();
    });
  });
}

/** Queues larger than the system's limit are cut to it by some systems and refused by others. */
function setQueues(socket: Socket, octets: number, log: Logger): void {
  try {
    socket.setRecvBufferSize(octets);
    socket.setSendBufferSize(octets);
  } catch (error) {
    log.debug({ error, octets }, 'the UDP queue sizes stay as the system sets them');
  }
}

function warnOfManyAddresses(host: string, log: Logger): void {
  if (host !== '0.0.0.0' && host !== '::') return;
  const family = host === '::' ? 'IPv6' : 'IPv4';
  const own = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const addresses = own
    .filter((entry) => entry.family === family && !entry.internal && !entry.scopeid)
    .map((entry) => entry.address);
  if (addresses.length < 2) return;
  log.warn(
    { host, addresses },
    'answers may leave from another address than was asked; name the addresses to listen on',
  );
}
