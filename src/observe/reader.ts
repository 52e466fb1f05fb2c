/**
 * The only reader of what answering threads observe. It looks many times a second, hands samples to dnstap and the query
 * log, and tells once a second what was counted. It also says how many samples it wants: all while there is little to do,
 * a small share of them under load.
 */
import { createObservationBlocks, Mark, type Observation, type ObservationBlock, Word } from '../answer/observation.js';
import type { Clock } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import { toFqdn } from '../dns/name.js';
import { createCountsReader, type ZoneCounts } from './counts.js';
import { createTapWriter, DNSTAP_CONTENT_TYPE, type TapServer } from './dnstap.js';
import { type FrameStream, openFrameFile, openFrameSocket } from './frame-stream.js';
import { createPoolCountsReader } from './pool-counts.js';
import { type ClientDetail, describeSample } from './query.js';
import { openQueryLog, type QueryLog } from './query-log.js';
import { type ActivityReport, MOST_REPORTED_ZONES, MOST_SAMPLES, type WeightedQuery } from './report.js';
import { readSamples, type Sample } from './samples.js';
import { createTallyReader } from './tally.js';

export interface ReaderSettings {
  readonly observation: Observation;
  /** Whether samples are reported. */
  readonly statistics: boolean;
  /** `unix:` and a path, or `file:` and a path. */
  readonly dnstap?: string | undefined;
  readonly tapServer: TapServer;
  /** One in `every` answers is logged. */
  readonly queryLog?: { readonly path: string; readonly every: number } | undefined;
  readonly clients: ClientDetail;
}

/** What was lost since the start. */
export interface Losses {
  /** Samples that did not fit into a ring. */
  readonly samples: number;
  readonly dnstapFrames: number;
  readonly queryLogLines: number;
}

export interface Reader {
  /** Begins new files. */
  reopen(): void;
  close(): Promise<void>;
}

/** Milliseconds between two looks while samples come: a ring must not fill up meanwhile. */
const LOOK_MS = 100;
const BUSY_LOOK_MS = 10;
const REPORT_MS = 1000;
/** While there are no queries, only one of this many reports is made. A thread that gets a query wakes the reader. */
const QUIET_REPORTS = 10;
/** Samples that are wanted in a second, and those in one look after which there are too many. */
const WANTED = 200;
const TOO_MANY = 40;

/** Throws a UserError when a file cannot be written. */
export function startReader(
  { observation, statistics, dnstap, tapServer, queryLog, clients }: ReaderSettings,
  clock: Clock,
  log: Logger,
  tell: (report: ActivityReport, losses: Losses) => void,
): Reader {
  const blocks = createObservationBlocks(observation);
  const counts = createCountsReader(blocks);
  const readPools = createPoolCountsReader(blocks);
  const tally = createTallyReader(blocks, statistics, clients !== 'none');
  const lines = queryLog && openQueryLog(queryLog.path, log);
  const frames = dnstap === undefined ? undefined : openFrames(dnstap, clock, log);
  const tap = createTapWriter(tapServer);
  let stride = 1;
  let samples: WeightedQuery[] = [];
  let pieces: Uint8Array[] = [];
  let framesWaiting = 0;
  const quiet = createQuiet(statistics);

  const setStride = (next: number): void => {
    stride = Math.max(1, Math.min(1 << 30, Math.ceil(next)));
    for (const { control } of blocks) control[Word.stride] = statistics ? stride : 0;
  };
  const take = (sample: Sample): void => {
    if (sample.marks & Mark.tap) {
      pieces.push(tap.frames(sample));
      framesWaiting += sample.response.length > 0 ? 2 : 1;
    }
    const isSampled = (sample.marks & Mark.statistics) !== 0 && samples.length < MOST_SAMPLES;
    const isLogged = (sample.marks & Mark.log) !== 0;
    if (!isSampled && !isLogged) return;
    const query = describeSample(sample, clients);
    if (isLogged) lines?.add(query);
    if (isSampled) samples.push({ ...query, weight: stride });
  };
  const rest = createRest(blocks, clock, frames || lines ? BUSY_LOOK_MS : LOOK_MS, () => look());
  const look = (): void => {
    const before = samples.length;
    for (const block of blocks) {
      readSamples(block, take);
      if (framesWaiting > 0) frames?.write(Buffer.concat(pieces), framesWaiting);
      pieces = [];
      framesWaiting = 0;
    }
    lines?.flush();
    const came = samples.length - before;
    if (came > TOO_MANY) setStride((stride * came) / (TOO_MANY / 2));
  };
  const report = (isLast = false): void => {
    look();
    const { total, zones } = counts.gain();
    tally.look(zones);
    setStride(total[0]! / WANTED);
    quiet.reported(total[0]!);
    tell(
      { atMs: clock.nowMs(), total, zones: busiest(zones), samples, pools: readPools(), tallies: tally.take(isLast) },
      { samples: droppedOf(blocks), dnstapFrames: frames?.dropped() ?? 0, queryLogLines: lines?.dropped() ?? 0 },
    );
    if (samples.length === 0 && !frames && !lines) rest.begin();
    else rest.end();
    samples = [];
  };

  setStride(1);
  for (const { control } of blocks) {
    control[Word.logStride] = queryLog?.every ?? 0;
    control[Word.tap] = frames ? 1 : 0;
  }
  rest.end();
  const cancels = [rest.close, clock.inStep(REPORT_MS, () => quiet.isSure(rest) || report())];
  return {
    reopen() {
      lines?.reopen();
      frames?.reopen();
    },
    close: () => closeReader(cancels, () => report(true), lines, frames),
  };
}

/**
 * Whether there were no queries since the last report. While there are few queries, each of them is sampled, so a pause that no thread
 * has ended shows that there were none; without samples nothing shows it.
 */
function createQuiet(statistics: boolean): { reported(questions: number): void; isSure(rest: Rest): boolean } {
  let quiet = 0;
  return {
    reported(questions) {
      quiet = questions === 0 ? quiet + 1 : 0;
    },
    isSure(rest) {
      if (!statistics || quiet < 2 || !rest.isResting() || quiet % QUIET_REPORTS === 0) return false;
      quiet += 1;
      return true;
    },
  };
}

function droppedOf(blocks: readonly ObservationBlock[]): number {
  return blocks.reduce((sum, { control }) => sum + (control[Word.dropped]! >>> 0), 0);
}

function busiest(zones: readonly ZoneCounts[]): ActivityReport['zones'] {
  const order = zones.toSorted((a, b) => b.counts[0]! - a.counts[0]!).slice(0, MOST_REPORTED_ZONES);
  return order.map(({ apex, counts }) => ({ zone: toFqdn(Buffer.from(apex, 'latin1')), counts }));
}

/** Looks that stop while no samples come. The thread that takes the next one wakes them. */
interface Rest {
  begin(): void;
  /** Looks at intervals from now on. */
  end(): void;
  /** No thread has taken a sample since the pause began. */
  isResting(): boolean;
  close(): void;
}

function createRest(blocks: readonly ObservationBlock[], clock: Clock, periodMs: number, look: () => void): Rest {
  let cancel: (() => void) | undefined;
  let isClosed = false;
  /** Blocks whose thread was asked to notify and has not done so. */
  const asked = new Set<ObservationBlock>();
  const end = (): void => {
    if (!isClosed) cancel ??= clock.every(periodMs, look);
  };
  const stop = (): void => {
    cancel?.();
    cancel = undefined;
  };
  return {
    begin() {
      stop();
      for (const block of blocks) {
        if (asked.has(block)) continue;
        Atomics.store(block.control, Word.resting, 1);
        const { async, value } = Atomics.waitAsync(block.control, Word.resting, 1);
        if (!async) continue;
        asked.add(block);
        void value.then(() => {
          asked.delete(block);
          end();
        });
      }
    },
    end,
    isResting: () => cancel === undefined && blocks.every(({ control }) => Atomics.load(control, Word.resting) === 1),
    close() {
      isClosed = true;
      stop();
      for (const { control } of asked) {
        Atomics.store(control, Word.resting, 0);
        Atomics.notify(control, Word.resting);
      }
    },
  };
}

/** `unix:` and a path, or `file:` and a path. */
function openFrames(place: string, clock: Clock, log: Logger): FrameStream {
  const path = place.slice(place.indexOf(':') + 1);
  if (place.startsWith('unix:')) return openFrameSocket(path, DNSTAP_CONTENT_TYPE, clock, log);
  return openFrameFile(path, DNSTAP_CONTENT_TYPE, log);
}

async function closeReader(
  cancels: readonly (() => void)[],
  last: () => void,
  lines: QueryLog | undefined,
  frames: FrameStream | undefined,
): Promise<void> {
  for (const cancel of cancels) cancel();
  last();
  lines?.close();
  await frames?.close();
}
