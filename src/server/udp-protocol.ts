/** The messages between the main thread and its UDP workers. */
import type { MessagePort } from 'node:worker_threads';
import type { Answer, LookAhead } from '../answer/transport.js';
import type { DeferredDatagram } from './deferred.js';
import type { DeferredPlace } from './turns/deferred-places.js';

/** Words of the control memory, shared by all workers. */
export const Control = { stop: 0 } as const;
/** The message that stops a worker with an event loop. */
export const STOP = 'stop';

/** Blocking system calls return after this many milliseconds, so that a worker notices when it must stop. */
export const RECEIVE_TIMEOUT_MS = 400;
/** A worker without queries waits so long for one of them or for its stop, and then releases data that is not used any more. */
export const REST_MS = 5000;

/** The engine of a worker. */
export interface WorkerEngine {
  readonly answer: Answer;
  /** Called before the messages of a batch are answered. */
  readonly lookAhead?: LookAhead;
  /** Whether newer data waits on the port; called once for each batch, so it must be cheap. */
  isStale(): boolean;
  /** Takes waiting data from the port synchronously, because the event loop of a batched worker never runs. */
  refresh(port: MessagePort): void;
}

/** What the module named by {@link UdpWorkerData.module} exports. */
export interface WorkerEngineModule {
  createWorkerEngine(data: unknown): WorkerEngine;
}

export interface UdpWorkerData {
  /** URL of a {@link WorkerEngineModule}. */
  readonly module: string;
  /** Passed to createWorkerEngine unchanged. */
  readonly engine: unknown;
  readonly port: MessagePort;
  readonly control: SharedArrayBuffer;
  /** Of {@link DeferredPlaces}. */
  readonly deferred: SharedArrayBuffer;
  readonly counters: SharedArrayBuffer;
  /** Number of the worker's counter block. */
  readonly thread: number;
  readonly places: WorkerPlaces;
}

/** Where a worker receives its datagrams. */
export type WorkerPlaces =
  /** Bound sockets, owned by the main thread, and what becomes readable when the worker is to stop. */
  | { readonly descriptors: readonly number[]; readonly wake: number }
  /** Addresses to bind; other sockets bind the same ones. */
  | { readonly addresses: readonly string[]; readonly port: number }
  /** Queues of network interfaces. */
  | { readonly queues: readonly QueuePlace[] };

/** A queue whose frames come through memory that the main thread has mapped. */
export interface QueuePlace {
  readonly fd: number;
  /** Addresses. */
  readonly frames: number;
  readonly rings: Readonly<Record<'fill' | 'completion' | 'receive' | 'transmit', RingPlace>>;
  /** Where the interface has its MTU. */
  readonly facts: SharedArrayBuffer;
}

export interface RingPlace {
  readonly address: number;
  /** Octets that are mapped. */
  readonly length: number;
  /** Offsets in octets. */
  readonly producer: number;
  readonly consumer: number;
  readonly entries: number;
}

export type UdpWorkerMessage =
  | { readonly kind: 'serving' }
  | { readonly kind: 'fault'; readonly stack: string; readonly request: string }
  /** A socket of node:dgram reported an error and stays open. */
  | { readonly kind: 'socket-error'; readonly error: string }
  /** A query for the main thread, received on this socket. */
  | {
      readonly kind: 'deferred';
      readonly fd: number;
      readonly datagram: DeferredDatagram;
      readonly place: DeferredPlace;
    }
  /** The same from a worker with an event loop, which sends the answer itself ({@link DeferredAnswer}). */
  | {
      readonly kind: 'deferred-portable';
      readonly request: Uint8Array;
      readonly from: PortableSender;
      readonly place: DeferredPlace;
    };

/** A socket of the worker by its index, and the sender of a datagram. */
export interface PortableSender {
  readonly socket: number;
  readonly address: string;
  readonly port: number;
}

/** The message to a worker with an event loop: it sends this. Without an answer it sends nothing. */
export interface DeferredAnswer {
  readonly answer: Uint8Array | undefined;
  readonly to: PortableSender;
}
