/** What the main thread and its UDP workers tell each other. */
import type { MessagePort } from 'node:worker_threads';
import type { Answer } from '../answer/transport.js';

/** Words of the control memory, shared by all workers. */
export const Control = { stop: 0 } as const;
/** The message that tells a worker with an event loop to stop. */
export const STOP = 'stop';

/** Blocking system calls return at least this often, milliseconds, so that a worker sees that it shall stop. */
export const RECEIVE_TIMEOUT_MS = 200;

/** The engine as a worker runs it. */
export interface WorkerEngine {
  readonly answer: Answer;
  /** Whether newer data waits on the port; asked once per batch, so it must be cheap. */
  isStale(): boolean;
  /** Takes what waits on the port, synchronously: the event loop of a batched worker never runs. */
  refresh(port: MessagePort): void;
}

/** What the module named by {@link UdpWorkerData.module} exports. */
export interface WorkerEngineModule {
  createWorkerEngine(data: unknown): WorkerEngine;
}

export interface UdpWorkerData {
  /** URL of a {@link WorkerEngineModule}. */
  readonly module: string;
  /** Passed to createWorkerEngine as it is. */
  readonly engine: unknown;
  readonly port: MessagePort;
  readonly control: SharedArrayBuffer;
  readonly counters: SharedArrayBuffer;
  /** The counter block this worker writes. */
  readonly thread: number;
  readonly places: WorkerPlaces;
}

/** Where a worker receives. */
export type WorkerPlaces =
  /** Bound sockets, owned by the main thread. */
  | { readonly descriptors: readonly number[] }
  /** Addresses to bind; other sockets are bound to the same. */
  | { readonly addresses: readonly string[]; readonly port: number };

export type UdpWorkerMessage =
  | { readonly kind: 'serving' }
  | { readonly kind: 'fault'; readonly stack: string; readonly request: string }
  /** A socket of node:dgram reported an error; it stays open. */
  | { readonly kind: 'socket-error'; readonly error: string };
