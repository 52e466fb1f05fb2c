/** The engine of a worker thread: its view of the shared image, which is updated between batches. */
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import { SystemClock } from '../base/clock.js';
import { createUncountedMemory } from '../base/uncounted-memory.js';
import { generationOctets } from '../image/buffers.js';
import type { ImageBuffers } from '../image/layout.js';
import { ReadAhead } from '../image/read-ahead.js';
import { ImageReader } from '../image/reader.js';
import { createEngine } from './engine.js';
import type { ObservationPlace } from './observation.js';
import { createObservedEngine } from './observe.js';
import { createEngineState, type EngineSettings } from './state.js';
import type { Answer, LookAhead } from './transport.js';

/** The start data of a worker; posted unchanged. */
export interface EngineData {
  readonly image: ImageBuffers;
  readonly settings: EngineSettings;
  /** Where the thread leaves what it observes; absent: nowhere. */
  readonly place?: ObservationPlace | undefined;
}

export interface WorkerEngine {
  readonly answer: Answer;
  readonly lookAhead: LookAhead;
  /** Whether a newer image is waiting on the port; one atomic load. */
  isStale(): boolean;
  /** Takes the newest image from the port. Call it between batches when stale. */
  refresh(port: MessagePort): void;
}

export function createWorkerEngine(data: unknown): WorkerEngine {
  const { image, settings, place } = data as EngineData;
  const reader = new ImageReader(image);
  const memory = createUncountedMemory();
  let octets = generationOctets(image);
  const ahead = new ReadAhead(reader);
  return {
    lookAhead: (messages, first, stride, count) => ahead.read(messages, first, stride, count),
    answer: place
      ? createObservedEngine(reader, createEngineState(settings), place, new SystemClock())
      : createEngine(reader, settings),
    isStale: () => reader.isStale(),
    refresh(port) {
      let unused = 0;
      for (let received = receiveMessageOnPort(port); received; received = receiveMessageOnPort(port)) {
        const newer = received.message as ImageBuffers;
        reader.adopt(newer);
        unused += octets;
        octets = generationOctets(newer);
      }
      // Only after the last message has been dropped.
      memory.release(unused);
    },
  };
}
