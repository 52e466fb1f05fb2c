/** The messages between the main thread and its UDP workers. */
import type { MessagePort } from 'node:worker_threads';
import type { Answer } from '../answer/transport.js';

/** Words of the control memory, shared by all workers. */
export const Control = { stop: 0 } as const;
/** The message that stops a worker with an event loop. */
export const STOP = 'stop';

/** Blocking system calls return after this many milliseconds, so that a worker notices when it must stop. */
export const RECEIVE_TIMEOUT_MS = 200;

/** The engine of a worker. */
export interface WorkerEngine {
  readonly answer: Answer;
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
  readonly counters: SharedArrayBuffer;
  /** Number of the worker's counter block. */
  readonly thread: number;
  readonly places: WorkerPlaces;
}

/** Where a worker receives its datagrams. */
export type WorkerPlaces =
  /** Bound sockets, owned by the main thread. */
  | { readonly descriptors: readonly number[] }
  /** Addresses to bind; other sockets bind the same ones. */
  | { readonly addresses: readonly string[]; readonly port: number };

export type UdpWorkerMessage =
  | { readonly kind: 'serving' }
  | { readonly kind: 'fault'; readonly stack: string; readonly request: string }
  /** A socket of node:dgram reported an error and stays open. */
  | { readonly kind: 'socket-error'; readonly error: string };
