/**
 * The DNS process's side of the store: loads every zone, follows the change log, and hands the image to whoever answers: the
 * engine of this thread, and worker threads over a message port each.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { createEngine } from '../answer/engine.js';
import type { EngineSettings } from '../answer/state.js';
import type { Answer } from '../answer/transport.js';
import type { EngineData } from '../answer/worker-engine.js';
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import { type ImageUsage, ImageWriter } from '../image/writer.js';
import { createFollower } from './follow.js';
import type { ZoneSource } from './source.js';

/** Time between two looks at the store, milliseconds: what a change waits at most before it is read. */
const POLL_MS = 4;
/** Generous: a host name with one address takes about 20 words. */
const WORDS_PER_RECORD = 64;
const MOST_WORDS = 1 << 28;
/** A store that cannot be read is complained about this often, milliseconds. */
const COMPLAINT_MS = 5000;

export interface PublisherOptions {
  readonly source: ZoneSource;
  readonly engine: EngineSettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** Unpredictable 32 bits for the image's hash. */
  readonly seed: number;
  /** Called when every answer of this process is true up to another change. */
  readonly onApplied?: (change: number) => void;
}

export interface PublisherStatus {
  readonly zones: number;
  /** Records read when the zones were loaded. */
  readonly recordsLoaded: number;
  readonly loadMs: number;
  /** Change log number up to which every answer of this process is true. */
  readonly appliedChange: number;
  readonly image: ImageUsage;
}

export interface Publisher {
  /** The engine of this thread. */
  readonly answer: Answer;
  /** What a worker thread starts its engine with, and the port on which new images reach it. */
  connectWorker(): { readonly data: EngineData; readonly port: MessagePort };
  status(): PublisherStatus;
  close(): void;
}

/** Room for these records in the first buffers, so that loading does not copy them; what is not written to takes no memory. */
function roomFor(records: number): { readonly heapWords: number; readonly slots: number } {
  return { heapWords: Math.min(MOST_WORDS, (records + 10_000) * WORDS_PER_RECORD), slots: (records + 1000) * 2 };
}

/** Loads all zones, then follows. Returns when every zone can be answered. */
export function startPublisher(options: PublisherOptions): Publisher {
  const { source, engine, clock, log, seed, onApplied } = options;
  const writer = new ImageWriter({ seed, ...roomFor(source.servedRecords()) });
  const follower = createFollower(source, writer);
  const ports = new Set<MessagePort>();
  writer.onGeneration = (buffers) => {
    for (const port of ports) port.postMessage(buffers);
  };
  const startedMs = clock.nowMs();
  const recordsLoaded = follower.loadAll();
  const loadMs = clock.nowMs() - startedMs;
  let seen = source.dataVersion();
  follower.catchUp();
  let complainedMs = 0;

  const poll = (): void => {
    try {
      const version = source.dataVersion();
      if (version === seen) return;
      const before = follower.appliedChange();
      follower.catchUp();
      seen = version;
      if (follower.appliedChange() !== before) onApplied?.(follower.appliedChange());
    } catch (error) {
      // What is served stays as it is; the next look tries again.
      if (clock.nowMs() - complainedMs < COMPLAINT_MS) return;
      complainedMs = clock.nowMs();
      log.error({ err: error }, 'the store could not be read, serving what is loaded');
    }
  };
  const stop = clock.every(POLL_MS, poll);

  return {
    answer: createEngine(writer.reader, engine),
    connectWorker() {
      const { port1, port2 } = new MessageChannel();
      ports.add(port1);
      port1.unref();
      port1.on('close', () => ports.delete(port1));
      return { data: { image: writer.current(), settings: engine }, port: port2 };
    },
    status: () => ({
      zones: follower.zoneCount(),
      recordsLoaded,
      loadMs,
      appliedChange: follower.appliedChange(),
      image: writer.usage(),
    }),
    close() {
      stop();
      for (const port of ports) port.close();
    },
  };
}
