/**
 * The threads that answer over UDP. They start together, are replaced after a crash, and stop within a time limit.
 *
 * The script of a thread decides how it receives datagrams: udp-worker.ts (batched) or udp-portable-worker.ts.
 */
import { type MessagePort, Worker } from 'node:worker_threads';
import { type AnswerDeferred, type DeferredResult, type GroupOfDeferred, Transport } from '../answer/transport.js';
import { type Clock, steadyMs } from '../base/clock.js';
import { clientNetwork } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import type { Counters } from './counters.js';
import { type DeferredDatagram, senderOf, whenAnswered } from './deferred.js';
import { type AnswerTurns, FRAMES_ELSEWHERE } from './turns/answer-turns.js';
import { createDeferredMemory, DeferredPlaces, randomSeed } from './turns/deferred-places.js';
import {
  Control,
  type DeferredAnswer,
  STOP,
  type UdpWorkerData,
  type UdpWorkerMessage,
  type WorkerPlaces,
} from './udp-protocol.js';

/** The source of the workers' engines. */
export interface WorkerEngineSource {
  /** A module that exports createWorkerEngine; the answer engine by default. */
  readonly module?: URL;
  /**
   * Called whenever a worker starts, including replacements. `port` is moved to the worker; its other end sees 'close'
   * when the worker ends.
   */
  connect(worker: number): { readonly data: unknown; readonly port: MessagePort };
}

/** What one thread serves: sockets that are already open (batched), or that the thread opens (portable). */
export interface WorkerSockets {
  /** Posted to the thread unchanged. */
  readonly places: WorkerPlaces;
  /** Datagrams lost in full kernel queues; undefined where the kernel does not report it. */
  countDrops(): number | undefined;
  /** Called when the thread serves, where queries are not to come to it before. */
  begin?(): void;
  /** Wakes a thread that waits for queries, because it is to stop. */
  wake?(): void;
  /** Called when the thread has ended. */
  close(): void;
}

export interface UdpWorkersOptions {
  readonly script: URL;
  readonly workers: number;
  /** Called whenever a worker starts, including replacements. */
  openSockets(worker: number): WorkerSockets;
  readonly engine: WorkerEngineSource;
  /** Answers queries that the engines of the workers defer; absent: they are dropped. */
  readonly answerDeferred?: AnswerDeferred | undefined;
  readonly groupOfDeferred?: GroupOfDeferred | undefined;
  /** Sends an answer on a socket of a batched worker. */
  readonly sendDeferred?: ((fd: number, datagram: DeferredDatagram, answer: Uint8Array) => void) | undefined;
  /** Of the thread that answers what is deferred. */
  readonly turns: Pick<AnswerTurns, 'take'>;
  readonly counters: Counters;
  /** The counter block of the first worker; the blocks of the others follow. */
  readonly firstThread: number;
  readonly log: Logger;
  readonly clock: Clock;
}

/** A stopping worker that takes longer is terminated; milliseconds. */
const STOP_LIMIT_MS = 700;
const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 5_000;
/**
 * A worker that served this many milliseconds was healthy, so after its next crash the first restart has no delay
 * again.
 */
const HEALTHY_MS = 30_000;

/** The slot of one worker: thread and sockets change with each restart, the slot stays. */
interface Seat {
  readonly index: number;
  sockets: WorkerSockets | undefined;
  thread: Worker | undefined;
  /** 0 until the worker serves. */
  servingSinceMs: number;
  crashes: number;
  /** Datagrams lost in the queues of sockets that are now closed. */
  formerDrops: number;
}

export class UdpWorkers {
  private readonly control = new Int32Array(new SharedArrayBuffer(64));
  private readonly deferred = createDeferredMemory(randomSeed());
  private readonly places = new DeferredPlaces(this.deferred);
  private readonly restarts = new Set<() => void>();
  private readonly seats: readonly Seat[];
  private stopping = false;

  constructor(private readonly options: UdpWorkersOptions) {
    this.seats = Array.from({ length: options.workers }, (_, index) => {
      return { index, sockets: undefined, thread: undefined, servingSinceMs: 0, crashes: 0, formerDrops: 0 };
    });
  }

  /**
   * Resolves when all workers serve. Rejects with the error of opening the sockets or starting a thread and leaves
   * nothing running.
   */
  async start(): Promise<void> {
    process.once('exit', this.wake);
    try {
      await Promise.all(this.seats.map((seat) => this.occupy(seat)));
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  /** Datagrams lost in full kernel queues; undefined where the kernel does not report it. */
  countQueueDrops(): number | undefined {
    let drops = 0;
    for (const { formerDrops, sockets } of this.seats) {
      const lost = sockets ? sockets.countDrops() : 0;
      if (lost === undefined) return undefined;
      drops += formerDrops + lost;
    }
    return drops;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    for (const cancel of this.restarts) cancel();
    process.off('exit', this.wake);
    // A thread that blocks in system calls checks the word; one with an event loop receives the message.
    this.wake();
    for (const { thread } of this.seats) thread?.postMessage(STOP);
    await Promise.all(this.seats.map(({ thread }) => thread && this.awaitEnd(thread)));
  }

  /** Ends waiting system calls. The process cannot end while one of its threads is in a call. */
  private readonly wake = (): void => {
    Atomics.store(this.control, Control.stop, 1);
    for (const { sockets } of this.seats) sockets?.wake?.();
  };

  /** Opens the sockets of a slot and starts its thread; resolves when it serves. */
  private async occupy(seat: Seat): Promise<void> {
    const sockets = this.options.openSockets(seat.index);
    seat.sockets = sockets;
    try {
      await this.startThread(seat, sockets);
    } catch (error) {
      this.vacate(seat);
      throw error;
    }
  }

  private vacate(seat: Seat): void {
    seat.thread = undefined;
    seat.formerDrops += seat.sockets?.countDrops() ?? 0;
    seat.sockets?.close();
    seat.sockets = undefined;
  }

  /** Resolves when the thread serves; rejects if it ends before. */
  private startThread(seat: Seat, sockets: WorkerSockets): Promise<void> {
    const { script, engine, counters, firstThread, log, clock } = this.options;
    const { data, port } = engine.connect(seat.index);
    const workerData: UdpWorkerData = {
      module: (engine.module ?? new URL('../answer/worker-engine.js', import.meta.url)).href,
      engine: data,
      port,
      control: this.control.buffer,
      deferred: this.deferred,
      counters: counters.memory,
      thread: firstThread + seat.index,
      places: sockets.places,
    };
    const name = `dns-udp-${seat.index}`;
    const thread = new Worker(script, { name, workerData, transferList: [port] });
    seat.thread = thread;
    return new Promise((resolve, reject) => {
      let cause: unknown;
      thread.on('message', (message: UdpWorkerMessage) => {
        switch (message.kind) {
          case 'serving':
            try {
              sockets.begin?.();
            } catch (error) {
              cause = error;
              void thread.terminate();
              return;
            }
            seat.servingSinceMs = steadyMs(clock);
            resolve();
            return;
          case 'fault': {
            const { stack, request } = message;
            log.error({ worker: seat.index, request, stack }, 'a fault in the answer engine; SERVFAIL was answered');
            return;
          }
          case 'socket-error':
            log.warn({ worker: seat.index, error: message.error }, 'UDP socket error');
            return;
          default:
            this.answerDeferred(seat, thread, message);
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

  private answerDeferred(
    seat: Seat,
    thread: Worker,
    message: Extract<UdpWorkerMessage, { readonly kind: 'deferred' | 'deferred-portable' }>,
  ): void {
    const { answerDeferred, groupOfDeferred, sendDeferred, turns } = this.options;
    const isPortable = message.kind === 'deferred-portable';
    const request = isPortable ? message.request : message.datagram.request;
    const { address, port } = isPortable ? message.from : senderOf(message.datagram);
    const send = (answer: DeferredResult): void => {
      // The descriptor of a worker that has ended is another socket soon.
      if (seat.thread !== thread) return;
      // A thread of an interface keeps the frame until it is told.
      if (isPortable) thread.postMessage({ answer, to: message.from } satisfies DeferredAnswer);
      else if (answer) sendDeferred?.(message.fd, message.datagram, answer);
    };
    turns.take({ client: clientNetwork(address), group: groupOfDeferred?.(request) }, FRAMES_ELSEWHERE, () => {
      this.places.leave(message.place);
      whenAnswered(answerDeferred?.(request, Transport.udp, address, port), send);
    });
  }

  /** After a crash, starts a new thread: at once the first time, then with growing delays. */
  private replace(seat: Seat, cause: unknown): void {
    const { log, clock } = this.options;
    if (seat.servingSinceMs > 0 && steadyMs(clock) - seat.servingSinceMs > HEALTHY_MS) seat.crashes = 0;
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

  /** Waits until a stopping thread has ended; terminates it if that takes too long. */
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
