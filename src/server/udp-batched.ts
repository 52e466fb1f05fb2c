/**
 * UDP with batched system calls: one worker thread per core, each with sockets of its own that share the port.
 *
 * The sockets are opened here, not in the workers: a bind that fails is an ordinary error at start, and a worker
 * that dies leaves nothing behind. Its sockets are closed at once, so that the kernel spreads the queries over the others, and
 * opened anew with the worker that replaces it.
 */
import { type MessagePort, Worker } from 'node:worker_threads';
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { Counters } from './counters.js';
import { countQueueDrops, type DatagramSocket, openDatagramSocket } from './datagram-socket.js';
import type { Syscalls } from './syscalls.js';
import { Control, RECEIVE_TIMEOUT_MS, type UdpWorkerData, type UdpWorkerMessage } from './udp-protocol.js';

/** Where workers get their engine from. */
export interface WorkerEngineSource {
  /** A module that exports createWorkerEngine; the answer engine by default. */
  readonly module?: URL;
  /**
   * Called whenever a worker starts, also when it replaces a dead one. `port` is moved to the worker; its other end
   * sees 'close' when the worker ends.
   */
  connect(worker: number): { readonly data: unknown; readonly port: MessagePort };
}

export interface UdpBatchedOptions {
  /** Literal addresses; `0.0.0.0` and `::` together become one socket per worker. */
  readonly addresses: readonly string[];
  /** 0: one the system chooses, the same for all addresses. */
  readonly port: number;
  readonly workers: number;
  readonly engine: WorkerEngineSource;
  readonly counters: Counters;
  /** The counter block of the first worker; those of the others follow. */
  readonly firstThread: number;
  readonly log: Logger;
  readonly clock: Clock;
  /** Octets of receive queue per socket; 4 MiB by default. */
  readonly queueOctets?: number;
}

export interface UdpServer {
  readonly port: number;
  /** Datagrams lost in full queues of the kernel; undefined where it does not say. */
  countQueueDrops(): number | undefined;
  /** Resolves when nothing is bound any more. */
  close(): Promise<void>;
}

const QUEUE_OCTETS = 4 * 1024 * 1024;
/** A stopping worker that does not leave in this time is ended by force, milliseconds. */
const STOP_LIMIT_MS = 700;
const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 5_000;
/** A worker that served this long was healthy: its next crash is followed by a restart without delay again. */
const HEALTHY_MS = 30_000;

/** Starts the workers; resolves when all of them serve. Rejects with a ListenError, or with what a worker threw while starting. */
export async function startUdpBatched(calls: Syscalls, options: UdpBatchedOptions): Promise<UdpServer> {
  const bindings = planBindings(options.addresses);
  const queueOctets = options.queueOctets ?? QUEUE_OCTETS;
  const open: OpenSocket = (binding, port, shared) =>
    openDatagramSocket(calls, { ...binding, port, shared, queueOctets, timeoutMs: RECEIVE_TIMEOUT_MS });
  const port = reservePort(calls, bindings, options.port, open);
  const workers = new UdpWorkers(calls, options, () => {
    const sockets: DatagramSocket[] = [];
    try {
      for (const binding of bindings) sockets.push(open(binding, port, true));
    } catch (error) {
      for (const { fd } of sockets) calls.close(fd);
      throw error;
    }
    return sockets;
  });
  const granted = await workers.start();
  logQueue(options.log, queueOctets, granted);
  return { port, countQueueDrops: () => workers.countQueueDrops(), close: () => workers.stop() };
}

interface Binding {
  readonly host: string;
  readonly dualStack: boolean;
}

type OpenSocket = (binding: Binding, port: number, shared: boolean) => DatagramSocket;

/** The sockets each worker needs. Both wildcards are one socket, so that one system call receives from both families. */
function planBindings(addresses: readonly string[]): Binding[] {
  const both = addresses.includes('0.0.0.0') && addresses.includes('::');
  return addresses
    .filter((host) => !both || host !== '0.0.0.0')
    .map((host) => ({ host, dualStack: both && host === '::' }));
}

/**
 * Makes sure that nobody else has the port, and finds one if it is 0. Sockets that share a port are bound without complaint
 * beside those of another process of the same user, and would take half of its queries; only a bind that does not
 * share tells.
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

/** Linux adds its own overhead and grants twice what is asked, as far as its limit allows. */
function logQueue(log: Logger, askedOctets: number, granted: number): void {
  const grantedOctets = Math.floor(granted / 2);
  const remedy = `raise it with 'sysctl -w net.core.rmem_max=${askedOctets}'`;
  if (grantedOctets >= askedOctets) log.debug({ askedOctets, grantedOctets }, 'UDP receive queue');
  else log.info({ askedOctets, grantedOctets }, `the UDP receive queue is smaller than asked; ${remedy}`);
}

/** One worker's place: the thread and its sockets change with each restart, the place stays. */
interface Seat {
  readonly index: number;
  sockets: readonly DatagramSocket[];
  thread: Worker | undefined;
  /** 0 until it serves. */
  servingSinceMs: number;
  crashes: number;
  /** Lost in the queues of sockets that are closed by now. */
  formerDrops: number;
}

class UdpWorkers {
  private readonly control = new Int32Array(new SharedArrayBuffer(64));
  private readonly restarts = new Set<() => void>();
  private readonly seats: readonly Seat[];
  private stopping = false;

  constructor(
    private readonly calls: Syscalls,
    private readonly options: UdpBatchedOptions,
    private readonly openSockets: () => readonly DatagramSocket[],
  ) {
    this.seats = Array.from({ length: options.workers }, (_, index) => {
      return { index, sockets: [], thread: undefined, servingSinceMs: 0, crashes: 0, formerDrops: 0 };
    });
  }

  /** Resolves when all serve, with the smallest receive queue the kernel granted. */
  async start(): Promise<number> {
    try {
      await Promise.all(this.seats.map((seat) => this.occupy(seat)));
    } catch (error) {
      await this.stop();
      throw error;
    }
    return Math.min(...this.seats.flatMap(({ sockets }) => sockets.map((socket) => socket.receiveQueueOctets)));
  }

  countQueueDrops(): number | undefined {
    let drops = 0;
    for (const seat of this.seats) {
      drops += seat.formerDrops;
      for (const { fd } of seat.sockets) {
        const lost = countQueueDrops(this.calls, fd);
        if (lost === undefined) return undefined;
        drops += lost;
      }
    }
    return drops;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    for (const cancel of this.restarts) cancel();
    Atomics.store(this.control, Control.stop, 1);
    await Promise.all(this.seats.map(({ thread }) => thread && this.awaitEnd(thread)));
  }

  /** Opens the sockets of a seat and starts its thread; resolves when it serves. */
  private async occupy(seat: Seat): Promise<void> {
    seat.sockets = this.openSockets();
    try {
      await this.startThread(seat);
    } catch (error) {
      this.vacate(seat);
      throw error;
    }
  }

  private vacate(seat: Seat): void {
    seat.thread = undefined;
    for (const { fd } of seat.sockets) {
      seat.formerDrops += countQueueDrops(this.calls, fd) ?? 0;
      this.calls.close(fd);
    }
    seat.sockets = [];
  }

  /** Resolves when the thread serves, rejects if it ends before. */
  private startThread(seat: Seat): Promise<void> {
    const { engine, counters, firstThread, log, clock } = this.options;
    const { data, port } = engine.connect(seat.index);
    const workerData: UdpWorkerData = {
      module: (engine.module ?? new URL('../answer/worker-engine.js', import.meta.url)).href,
      engine: data,
      port,
      control: this.control.buffer,
      counters: counters.memory,
      thread: firstThread + seat.index,
      descriptors: seat.sockets.map((socket) => socket.fd),
    };
    const name = `dns-udp-${seat.index}`;
    const thread = new Worker(new URL('./udp-worker.js', import.meta.url), { name, workerData, transferList: [port] });
    seat.thread = thread;
    return new Promise((resolve, reject) => {
      let cause: unknown;
      thread.on('message', (message: UdpWorkerMessage) => {
        if (message.kind === 'serving') {
          seat.servingSinceMs = clock.nowMs();
          resolve();
        } else {
          const { stack, request } = message;
          log.error({ worker: seat.index, request, stack }, 'a fault in the answer engine; SERVFAIL was answered');
        }
      });
      thread.on('error', (error) => {
        cause = error;
      });
      thread.on('exit', (exitCode) => {
        cause ??= new Error(`UDP worker ${seat.index} ended with exit code ${exitCode}`);
        const served = seat.servingSinceMs > 0;
        if (served) this.vacate(seat);
        if (served && !this.stopping) this.replace(seat, cause);
        reject(cause);
      });
    });
  }

  /** After a crash: a new thread, at once the first time, then later and later. */
  private replace(seat: Seat, cause: unknown): void {
    const { log, clock } = this.options;
    if (seat.servingSinceMs > 0 && clock.nowMs() - seat.servingSinceMs > HEALTHY_MS) seat.crashes = 0;
    const delayMs = seat.crashes === 0 ? 0 : Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (seat.crashes - 1));
    seat.crashes += 1;
    seat.servingSinceMs = 0;
    const stack = cause instanceof Error ? cause.stack : String(cause);
    log.error({ worker: seat.index, delayMs, stack }, 'a UDP worker crashed and is started again');
    const cancel = clock.after(delayMs, () => {
      this.restarts.delete(cancel);
      this.occupy(seat).then(
        () => log.info({ worker: seat.index }, 'the UDP worker serves again'),
        (error: unknown) => {
          if (!this.stopping) this.replace(seat, error);
        },
      );
    });
    this.restarts.add(cancel);
  }

  /** Waits until a thread that was told to stop has ended; ends it by force if it takes too long. */
  private awaitEnd(thread: Worker): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.options.clock.after(STOP_LIMIT_MS, () => void thread.terminate());
      thread.once('exit', () => {
        cancel();
        resolve();
      });
    });
  }
}
