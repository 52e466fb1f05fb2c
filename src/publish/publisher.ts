/**
 * The DNS process's view of the store. Loads every zone, follows the change log, and gives the image to the engine of
 * this thread and, over a message port each, to worker threads.
 */
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { answerWith } from '../answer/engine.js';
import type { MadeTable } from '../answer/made.js';
import type { Observation } from '../answer/observation.js';
import { createObservedEngine } from '../answer/observe.js';
import { createEngineState, type Engine, type EngineSettings } from '../answer/state.js';
import type { Answer } from '../answer/transport.js';
import type { EngineData } from '../answer/worker-engine.js';
import { type Clock, steadyMs } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import { nameTurns } from '../base/long-turns.js';
import { createUncountedMemory } from '../base/uncounted-memory.js';
import { generationMemory, generationOctets } from '../image/buffers.js';
import type { ImageBuffers } from '../image/layout.js';
import type { ImageReader } from '../image/reader.js';
import { type ImageUsage, ImageWriter, type WriterOptions } from '../image/writer.js';
import type { PlaceSource } from '../location/finder.js';
import { createFollower, type Follower, type UnpublishedZone } from './follow.js';
import type { HeldZone } from './held-zones.js';
import type { ZoneSource } from './source.js';

/** Milliseconds between two polls while there is more to do, and after a wake-up that follows another. */
const BUSY_LOOK_MS = 4;
/** Milliseconds between two polls while zones are held, so that they are retried in time. */
const HELD_LOOK_MS = 50;
/** Milliseconds between two polls otherwise: a safety net for commits without a wake-up. */
const IDLE_LOOK_MS = 500;
/** A generous estimate: a host name with one address takes about 20 words. */
const WORDS_PER_RECORD = 64;
/** The same of a zone without records: its SOA, its name servers, and itself take about 100. */
const WORDS_PER_ZONE = 256;
const MOST_WORDS = 1 << 28;
/** Origins and pools of load balancers whose states there is room for. */
const MOST_STATES = 1 << 20;
/**
 * Milliseconds of the first and of the longest rest after the change log could not be followed; the rest doubles in
 * between.
 */
const FIRST_REST_MS = 20;
const LONGEST_REST_MS = 5000;

export interface PublisherOptions {
  readonly source: ZoneSource;
  readonly engine: EngineSettings;
  /** Where engines leave what they observe, the one of this thread in the first block; absent: nowhere. */
  readonly observation?: Observation | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Unpredictable 32 bits that seed the image's hash. */
  readonly seed: number;
  /** Records that are signed for answers of this thread. */
  readonly made?: MadeTable | undefined;
  /** Where addresses are; absent: nothing is known of it. */
  readonly places?: PlaceSource | undefined;
  /** Called with memory of the image that nothing was written to yet, and that will be read at random. */
  readonly onMemory?: ((memory: SharedArrayBuffer) => void) | undefined;
  /** Called when the published change advances, and when the loading or held zones change. */
  readonly onProgress?: (progress: Progress) => void;
}

export interface Progress {
  /** Number of the last published change; zones that are being loaded or held may lag behind it. */
  readonly appliedChange: number;
  readonly loadingZones: readonly UnpublishedZone[];
  readonly heldZones: readonly HeldZone[];
}

export interface PublisherStatus extends Progress {
  readonly zones: number;
  /** Records read when the zones were loaded. */
  readonly recordsLoaded: number;
  readonly loadMs: number;
  /** Why the change log could not be followed at the last poll; undefined when it could. */
  readonly failure: unknown;
  readonly image: ImageUsage;
}

/** An engine for queries that others have deferred after judging their rate. */
export interface DeferredEngine {
  readonly state: Engine;
  readonly image: ImageReader;
  readonly answer: Answer;
}

export interface Publisher {
  /** The engine of this thread. */
  readonly answer: Answer;
  /** Another one, for queries that engines have deferred. */
  readonly deferred: DeferredEngine;
  /** The data with which worker thread `worker` starts its engine, and the port that delivers new images to it. */
  connectWorker(worker?: number): { readonly data: EngineData; readonly port: MessagePort };
  /** Replaces what is known of where addresses are. */
  setPlaces(places: PlaceSource): void;
  status(): PublisherStatus;
  /** Polls the store at once after a commit. Costs little when nothing was committed. */
  wake(): void;
  close(): void;
}

/**
 * Room for these records and zones in the first buffers, so that loading does not copy the buffers. Memory that is never written
 * to is not used.
 */
function roomFor(records: number, zones: number): Pick<WriterOptions, 'heapWords' | 'slots' | 'zoneSlots'> {
  const words = (records + 10_000) * WORDS_PER_RECORD + zones * WORDS_PER_ZONE;
  return { heapWords: Math.min(MOST_WORDS, words), slots: (records + zones + 1000) * 2, zoneSlots: zones * 2 };
}

/**
 * Loads all zones, then follows the change log. Returns when every zone that could be loaded is served; throws when
 * zones exist but none could be loaded.
 */
export function startPublisher(options: PublisherOptions): Publisher {
  const { source, engine, observation, clock, log, seed, onMemory = () => {} } = options;
  const room = roomFor(source.servedRecords(), source.servedZones().length);
  const onAllocate = (buffers: ImageBuffers): void => {
    for (const memory of generationMemory(buffers)) onMemory(memory);
  };
  const writer = new ImageWriter({ seed, states: MOST_STATES, ...room, onAllocate });
  if (options.places) writer.setPlaces(options.places);
  const follower = createFollower({ source, writer, clock, log });
  const ports = new Set<MessagePort>();
  const memory = createUncountedMemory();
  writer.onGeneration = (buffers) => {
    for (const port of ports) port.postMessage(buffers);
  };
  writer.onUnused = (buffers) => {
    const unused = generationOctets(buffers);
    // Only when nothing on the way here refers to them.
    clock.after(0, () => memory.release(unused));
  };
  const startedMs = steadyMs(clock);
  const recordsLoaded = follower.loadAll();
  const loadMs = steadyMs(clock) - startedMs;
  const [failed] = follower.heldZones();
  if (failed && follower.zoneCount() === 0) throw failed.error;
  const watch = watchStore(options, follower);

  const state = createEngineState({ ...engine, rateLimit: undefined }, options.made);
  const engineOf = (own: Engine): Answer =>
    observation
      ? createObservedEngine(writer.reader, own, { observation, thread: 0 }, clock)
      : answerWith(own, writer.reader);
  return {
    answer: engineOf(createEngineState(engine, options.made)),
    deferred: { state, image: writer.reader, answer: engineOf(state) },
    connectWorker(worker = 0) {
      const { port1, port2 } = new MessageChannel();
      ports.add(port1);
      port1.unref();
      port1.on('close', () => ports.delete(port1));
      return {
        data: { image: writer.current(), settings: engine, place: observation && { observation, thread: 1 + worker } },
        port: port2,
      };
    },
    setPlaces: (places) => writer.setPlaces(places),
    status: () => ({
      zones: follower.zoneCount(),
      recordsLoaded,
      loadMs,
      ...progressOf(follower),
      failure: watch.failure(),
      image: writer.usage(),
    }),
    wake: watch.wake,
    close() {
      watch.close();
      follower.close();
      for (const port of ports) port.close();
    },
  };
}

interface StoreWatch {
  failure(): unknown;
  wake(): void;
  close(): void;
}

/**
 * Polls the store when it is woken, and at intervals. When a poll fails, the served state stays, and polls become
 * rarer.
 */
function watchStore({ source, clock, log, onProgress }: PublisherOptions, follower: Follower): StoreWatch {
  let seen: number | undefined;
  let told = describeProgress(follower);
  let failures = 0;
  let failure: unknown;
  let isResting = false;
  /** True for a short time after a poll, so that commits in quick succession are read together. */
  let isSettling = false;
  let cancelTimer: (() => void) | undefined;

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

  const lookAgainIn = (delayMs: number | undefined): void => {
    cancelTimer?.();
    cancelTimer = delayMs === undefined ? undefined : clock.after(delayMs, lookAndPlan);
  };

  function lookAndPlan(): void {
    cancelTimer?.();
    cancelTimer = undefined;
    isResting = false;
    isSettling = false;
    try {
      nameTurns('publishing', look);
      if (failures > 0) log.info({ failures }, 'the change log is followed again');
      failures = 0;
      failure = undefined;
      lookAgainIn(restAfterLook(follower));
    } catch (error) {
      if (failures === 0) log.error({ err: error }, 'the change log could not be followed, serving what is loaded');
      failure = error;
      isResting = true;
      lookAgainIn(Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** Math.min(failures, 16)));
      failures++;
    }
  }

  lookAndPlan();
  const cancelIdle = clock.inStep(IDLE_LOOK_MS, () => {
    if (!cancelTimer) lookAndPlan();
  });
  return {
    failure: () => failure,
    wake() {
      // Further calls do not postpone a poll that is due soon.
      if (isResting || isSettling) return;
      lookAndPlan();
      if (isResting) return;
      isSettling = true;
      lookAgainIn(BUSY_LOOK_MS);
    },
    close() {
      cancelIdle();
      cancelTimer?.();
    },
  };
}

/** Undefined when the look that comes anyway is soon enough. */
function restAfterLook(follower: Follower): number | undefined {
  if (follower.hasWork()) return BUSY_LOOK_MS;
  return follower.heldZones().length > 0 ? HELD_LOOK_MS : undefined;
}

function progressOf(follower: Follower): Progress {
  return {
    appliedChange: follower.appliedChange(),
    loadingZones: follower.loadingZones(),
    heldZones: follower.heldZones(),
  };
}

/** A text that changes whenever the progress does. */
function describeProgress(follower: Follower): string {
  const { appliedChange, loadingZones, heldZones } = progressOf(follower);
  const list = (zones: readonly UnpublishedZone[]): string =>
    zones.map(({ zone, change }) => `${zone}:${change}`).join();
  return `${appliedChange} ${list(loadingZones)} ${list(heldZones)}`;
}
