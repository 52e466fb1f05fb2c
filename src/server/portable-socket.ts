/** One UDP socket of node:dgram: binding and answering. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { type Answer, createClient, DEFERRED, setAddresses, Transport } from '../answer/transport.js';
import type { Clock } from '../base/clock.js';
import { parsePeerAddress } from '../base/ip.js';
import { Count, type CountBlock, countLatency, isTimed } from './counters.js';
import { REQUEST_ROOM, RESPONSE_ROOM } from './datagram-batch.js';
import { listenErrorOf } from './listen-error.js';

export interface PortableSocketOptions {
  /** A literal address. */
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Whether other sockets may bind the same address and port and share the datagrams. */
  readonly shared: boolean;
}

export interface PortableService {
  /** Counts queries and handles its own errors. */
  readonly answer: Answer;
  readonly counts: CountBlock;
  readonly clock: Clock;
  /** Receives queries that another part answers. */
  onDeferred(request: Uint8Array, sender: Pick<RemoteInfo, 'address' | 'port'>): void;
  /** Receives errors after binding; the socket stays open. */
  onError(error: Error): void;
}

/** The largest number of answers that wait in the process for the kernel; further ones are dropped. */
const WAITING = 128;
/** Requested kernel queue in octets, each way. */
const QUEUE_OCTETS = 1024 * 1024;

/** Binds a socket. Rejects with a ListenError and leaves nothing open. */
export async function openPortableSocket({ host, port, shared }: PortableSocketOptions): Promise<Socket> {
  const family = host.includes(':') ? 6 : 4;
  const socket = createSocket({
    type: family === 6 ? 'udp6' : 'udp4',
    ipv6Only: family === 6,
    reusePort: shared,
    // Addresses are literal, so no look-up is needed and a datagram goes to the kernel at once.
    lookup: (address, _options, found) => found(null, address, family),
  });
  await new Promise<void>((resolve, reject) => {
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
  setQueues(socket);
  return socket;
}

export function closePortableSocket(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.close(() => resolve()));
}

/** Answers datagrams on the socket until it is closed. */
export function answerPortable(socket: Socket, service: PortableService): void {
  const { answer, counts, clock } = service;
  // A waiting datagram still refers to its octets, so each answer has its own buffer.
  const responses = new Uint8Array((WAITING + 1) * RESPONSE_ROOM);
  let place = 0;
  const client = createClient();
  const sent = (error: Error | null): void => {
    if (error) counts[Count.sendFailed]! += 1;
  };
  socket.on('message', (request: Buffer, peer: RemoteInfo) => {
    counts[Count.batch]! += 1;
    const startUs = isTimed(counts) ? clock.steadyUs() : 0;
    if (peer.port === 0 || request.length > REQUEST_ROOM) {
      counts[Count.discarded]! += 1;
      return;
    }
    if (socket.getSendQueueCount() >= WAITING) {
      counts[Count.sendFailed]! += 1;
      return;
    }
    const at = place * RESPONSE_ROOM;
    setAddresses(client, parsePeerAddress(peer.address), peer.port, undefined);
    client.seconds = Math.floor(clock.nowMs() / 1000);
    const length = answer(request, 0, request.length, responses, at, RESPONSE_ROOM, Transport.udp, client);
    if (length === DEFERRED) service.onDeferred(new Uint8Array(request), peer);
    if (length <= 0) return;
    place = place === WAITING ? 0 : place + 1;
    socket.send(responses, at, length, peer.port, peer.address, sent);
    if (startUs !== 0) countLatency(counts, clock.steadyUs() - startUs);
  });
  socket.on('error', (error) => {
    counts[Count.receiveFailed]! += 1;
    service.onError(error);
  });
}

/** Some systems reduce queues above their limit; others refuse them and keep their own size. */
function setQueues(socket: Socket): void {
  try {
    socket.setRecvBufferSize(QUEUE_OCTETS);
    socket.setSendBufferSize(QUEUE_OCTETS);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SOCKET_BUFFER_SIZE') throw error;
  }
}
