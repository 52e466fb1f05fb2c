/**
 * UDP with batched system calls: one worker thread for each core, each with its own sockets, which share the port.
 *
 * The sockets are opened here, not in the workers, so that a failed bind is an ordinary error at the start and a
 * crashed worker leaves nothing behind. Its sockets are closed at once, so that the kernel distributes the queries to
 * the others, and are reopened for the worker that replaces it.
 */
import type { AnswerDeferred, GroupOfDeferred } from '../answer/transport.js';
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { Counters } from './counters.js';
import { countQueueDrops, type DatagramSocket, openDatagramSocket, sendDatagram } from './datagram-socket.js';
import { Linux, type Syscalls, SystemError } from './syscalls.js';
import type { AnswerTurns } from './turns/answer-turns.js';
import { RECEIVE_TIMEOUT_MS } from './udp-protocol.js';
import { UdpWorkers, type WorkerEngineSource, type WorkerSockets } from './udp-workers.js';

export interface UdpBatchedOptions {
  /** Literal addresses; `0.0.0.0` and `::` together become one socket for each worker. */
  readonly addresses: readonly string[];
  /** 0: chosen by the system, the same for all addresses. */
  readonly port: number;
  /** Bind beside the process that serves the port now. */
  readonly takeOver?: boolean | undefined;
  readonly workers: number;
  readonly engine: WorkerEngineSource;
  /** Answers queries that the engines defer. */
  readonly answerDeferred?: AnswerDeferred | undefined;
  readonly groupOfDeferred?: GroupOfDeferred | undefined;
  /** Of the thread that answers what is deferred. */
  readonly turns: Pick<AnswerTurns, 'take'>;
  readonly counters: Counters;
  /** The counter block of the first worker; the blocks of the others follow. */
  readonly firstThread: number;
  readonly log: Logger;
  readonly clock: Clock;
  /** Requested receive queue of each socket in octets; 4 MiB by default. */
  readonly queueOctets?: number;
}

export interface UdpServer {
  readonly port: number;
  /** Datagrams lost in full kernel queues; undefined where the kernel does not report it. */
  countQueueDrops(): number | undefined;
  /** Resolves when nothing is bound any more. */
  close(): Promise<void>;
}

const QUEUE_OCTETS = 4 * 1024 * 1024;

/**
 * Starts the workers; resolves when all of them serve. Rejects with a ListenError, or with what a worker threw while starting.
 */
export async function startUdpBatched(calls: Syscalls, options: UdpBatchedOptions): Promise<UdpServer> {
  const bindings = planBindings(options.addresses);
  const queueOctets = options.queueOctets ?? QUEUE_OCTETS;
  const open: OpenSocket = (binding, port, shared) =>
    openDatagramSocket(calls, { ...binding, port, shared, queueOctets, timeoutMs: RECEIVE_TIMEOUT_MS });
  const port = options.takeOver ? options.port : reservePort(calls, bindings, options.port, open);
  let granted = Number.POSITIVE_INFINITY;
  const workers = new UdpWorkers({
    ...options,
    script: new URL('./udp-worker.js', import.meta.url),
    openSockets() {
      const sockets = openAll(calls, bindings, (binding) => open(binding, port, true));
      granted = Math.min(granted, ...sockets.map((socket) => socket.receiveQueueOctets));
      return workerSockets(calls, sockets);
    },
    sendDeferred: (fd, datagram, answer) => void sendDatagram(calls, fd, datagram, answer),
  });
  await workers.start();
  logQueue(options.log, queueOctets, granted);
  return { port, countQueueDrops: () => workers.countQueueDrops(), close: () => workers.stop() };
}

interface Binding {
  readonly host: string;
  readonly dualStack: boolean;
}

type OpenSocket = (binding: Binding, port: number, shared: boolean) => DatagramSocket;

/**
 * The sockets that each worker needs. Both wildcards become one socket, so that one system call receives both families.
 */
function planBindings(addresses: readonly string[]): Binding[] {
  const both = addresses.includes('0.0.0.0') && addresses.includes('::');
  return addresses
    .filter((host) => !both || host !== '0.0.0.0')
    .map((host) => ({ host, dualStack: both && host === '::' }));
}

/**
 * Ensures that no other process uses the port, and chooses one if it is 0. Sockets that share a port can be bound next
 * to those of another process of the same user and would take half of its queries; only a bind without sharing shows
 * whether the port is free.
 */
function reservePort(calls: Syscalls, bindings: readonly Binding[], wanted: number, open: OpenSocket): number {
  const held: DatagramSocket[] = [];
  let port = wanted;
  try {
    for (const binding of bindings) {
      const socket = open(binding, port, false);
      held.push(socket);
      port = socket.port;
    }
    return port;
  } finally {
    for (const { fd } of held) calls.close(fd);
  }
}

/** Opens all sockets of a worker, or none. */
function openAll(
  calls: Syscalls,
  bindings: readonly Binding[],
  open: (binding: Binding) => DatagramSocket,
): readonly DatagramSocket[] {
  const sockets: DatagramSocket[] = [];
  try {
    for (const binding of bindings) sockets.push(open(binding));
  } catch (error) {
    for (const { fd } of sockets) calls.close(fd);
    throw error;
  }
  return sockets;
}

function workerSockets(calls: Syscalls, sockets: readonly DatagramSocket[]): WorkerSockets {
  const wake = calls.eventfd(0, Linux.EFD_CLOEXEC);
  if (wake < 0) {
    const error = new SystemError('eventfd', calls.errno());
    for (const { fd } of sockets) calls.close(fd);
    throw error;
  }
  return {
    places: { descriptors: sockets.map(({ fd }) => fd), wake },
    wake() {
      const one = new BigUint64Array([1n]).buffer;
      calls.write(wake, calls.addressOf(one), 8);
    },
    countDrops() {
      let drops = 0;
      for (const { fd } of sockets) {
        const lost = countQueueDrops(calls, fd);
        if (lost === undefined) return undefined;
        drops += lost;
      }
      return drops;
    },
    close() {
      for (const { fd } of sockets) calls.close(fd);
      calls.close(wake);
    },
  };
}

/** Linux adds its own overhead and grants twice the requested size, up to its limit. */
function logQueue(log: Logger, askedOctets: number, granted: number): void {
  const grantedOctets = Math.floor(granted / 2);
  const remedy = `raise it with 'sysctl -w net.core.rmem_max=${askedOctets}'`;
  if (grantedOctets >= askedOctets) log.debug({ askedOctets, grantedOctets }, 'UDP receive queue');
  else log.info({ askedOctets, grantedOctets }, `the UDP receive queue is smaller than requested; ${remedy}`);
}
