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
import { createSharedMemoryUse } from '../base/shared-memory.js';
import { generationOctets } from '../image/buffers.js';
import { type ImageUsage, ImageWriter } from '../image/writer.js';
import { createFollower, type Follower, type UnpublishedZone } from './follow.js';
import type { HeldZone } from './held-zones.js';
import type { ZoneSource } from './source.js';

/** Time between two looks at the store, milliseconds: what a change waits at most before it is read. */
const POLL_MS = 4;
/** Generous: a host name with one address takes about 20 words. */
const WORDS_PER_RECORD = 64;
const MOST_WORDS = 1 << 28;
/** Rest after the change log could not be followed, milliseconds: at first and at most; it doubles in between. */
const FIRST_REST_MS = 20;
const LONGEST_REST_MS = 5000;

export interface PublisherOptions {
  readonly source: ZoneSource;
  readonly engine: EngineSettings;
  readonly clock: Clock;
  readonly log: Logger;
  /** Unpredictable 32 bits for the image's hash. */
  readonly seed: number;
  /** Called when every answer of this process is true up to another change, and when zones begin or cease to be loaded or held. */
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  /** Change log number up to which every answer of this process is true, but for the zones that are being loaded or held. */
  readonly appliedChange: number;
  readonly loadingZones: readonly UnpublishedZone[];
  readonly heldZones: readonly HeldZone[];
}

export interface PublisherStatus extends Progress {
  readonly zones: number;
  /** Records read when the zones were loaded. */
  readonly recordsLoaded: number;
  readonly loadMs: number;
  /** Why the change log could not be followed at the last look; undefined when it could. */
  readonly failure: unknown;
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

/** Loads all zones, then follows. Returns when every zone can be answered; throws when there are zones and none can be. */
export function startPublisher(options: PublisherOptions): Publisher {
  const { source, engine, clock, log, seed } = options;
  const writer = new ImageWriter({ seed, ...roomFor(source.servedRecords()) });
  const follower = createFollower({ source, writer, clock, log });
  const ports = new Set<MessagePort>();
  const memory = createSharedMemoryUse();
  writer.onGeneration = (buffers) => {
    for (const port of ports) port.postMessage(buffers);
    const unused = generationOctets(writer.current());
    // Only when the writer has gone over to the new ones.
    clock.after(0, () => memory.release(unused));
  };
  const startedMs = clock.nowMs();
  const recordsLoaded = follower.loadAll();
  const loadMs = clock.nowMs() - startedMs;
  const [failed] = follower.heldZones();
  if (failed && follower.zoneCount() === 0) throw failed.error;
  const watch = watchStore(options, follower);

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
      ...progressOf(follower),
      failure: watch.failure(),
      image: writer.usage(),
    }),
    close() {
      watch.close();
      follower.close();
      for (const port of ports) port.close();
    },
  };
}

interface StoreWatch {
  failure(): unknown;
  close(): void;
}

/** Looks at the store again and again; when that fails, what is served stays as it is, and looks become rarer. */
function watchStore({ source, clock, log, onProgress }: PublisherOptions, follower: Follower): StoreWatch {
  let seen: number | undefined;
  let told = describeProgress(follower);
  let failures = 0;
  let failure: unknown;
  let stopResting: (() => void) | undefined;

  const look = (): void => {
    const version = source.dataVersion();
    if (version === seen && !follower.hasWork()) return;
    follower.catchUp();
    seen = version;
    const progress = describeProgress(follower);
    if (progress === told) return;
    told = progress;
    onProgress?.(progressOf(follower));
  };

  const poll = (): void => {
    if (stopResting) return;
    try {
      look();
      if (failures > 0) log.info({ failures }, 'the change log is followed again');
      failures = 0;
      failure = undefined;
    } catch (error) {
      if (failures === 0) log.error({ err: error }, 'the change log could not be followed, serving what is loaded');
      failure = error;
      stopResting = clock.after(Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(failures, 16)), () => {
        stopResting = undefined;
      });
      failures++;
    }
  };

  poll();
  const stop = clock.every(POLL_MS, poll);
  return {
    failure: () => failure,
    close() {
      stop();
      stopResting?.();
    },
  };
}

function progressOf(follower: Follower): Progress {
  return {
    appliedChange: follower.appliedChange(),
    loadingZones: follower.loadingZones(),
    heldZones: follower.heldZones(),
  };
}

/** Another text when anything has changed. */
function describeProgress(follower: Follower): string {
  const { appliedChange, loadingZones, heldZones } = progressOf(follower);
  const list = (zones: readonly UnpublishedZone[]): string =>
    zones.map(({ zone, change }) => `${zone}:${change}`).join();
  return `${appliedChange} ${list(loadingZones)} ${list(heldZones)}`;
}
