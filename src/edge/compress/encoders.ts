/** What compresses: streams of zlib, whose work is done in its threads. */
import {
  type BrotliCompress,
  constants,
  createBrotliCompress,
  createGzip,
  createZstdCompress,
  type Gzip,
  type ZlibReset,
  type ZstdCompress,
} from 'node:zlib';
import type { Clock } from '../../base/clock.js';
import type { Coding } from '../../http/content-coding.js';
import { createThreadTurns, workInTurns } from './thread-turns.js';

/** In order of preference: zstd takes least processor time. Node before 22.15 does not have it. */
export const ABLE: readonly Coding[] =
  typeof createZstdCompress === 'function' ? ['zstd', 'br', 'gzip'] : ['br', 'gzip'];
export const ABLE_WITHOUT_BR: readonly Coding[] = ABLE.filter((coding) => coding !== 'br');

/** Levels that take about as long as the lowest of nginx, for each request anew. */
const LEVELS: Readonly<Record<Coding, number>> = { gzip: 4, br: 4, zstd: 3 };

/** Octets that an encoder holds, about. */
export const ENCODER_OCTETS: Readonly<Record<Coding, number>> = { gzip: 300_000, br: 1_500_000, zstd: 1_500_000 };

/** As powers of two: how far back an encoder looks. */
const [SMALLEST_WINDOW, LARGEST_WINDOW] = [10, 19];
/** The same of what zstd keeps beside its window. */
const LARGEST_TABLES = 17;
const CHUNK = 32 * 1024;

type Stream = Gzip | BrotliCompress | ZstdCompress;

/** `length`: of the whole body, if it is known. */
function createStream(coding: Coding, length: number | undefined): Stream {
  const level = LEVELS[coding];
  const window = windowFor(length);
  switch (coding) {
    case 'gzip':
      return createGzip({ level, chunkSize: CHUNK });
    case 'br': {
      const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_LGWIN: lgwin, BROTLI_PARAM_SIZE_HINT: hint } = constants;
      return createBrotliCompress({
        chunkSize: CHUNK,
        params: { [quality]: level, [lgwin]: window, [hint]: Math.min(length ?? 0, 2 ** 30) },
      });
    }
    case 'zstd': {
      const { ZSTD_c_compressionLevel: compressionLevel, ZSTD_c_windowLog: windowLog } = constants;
      const { ZSTD_c_hashLog: hashLog, ZSTD_c_chainLog: chainLog } = constants;
      // Asking the system for larger tables would take longer than compressing a short body.
      const tables = Math.min(window - 1, LARGEST_TABLES);
      const params = { [compressionLevel]: level, [windowLog]: window, [hashLog]: tables, [chainLog]: tables };
      return createZstdCompress({ chunkSize: CHUNK, params });
    }
  }
}

function windowFor(length: number | undefined): number {
  if (length === undefined) return LARGEST_WINDOW;
  return Math.min(LARGEST_WINDOW, Math.max(SMALLEST_WINDOW, Math.ceil(Math.log2(length))));
}

/** The longest time for which octets stay in an encoder before they are sent, milliseconds. */
export const HELD_MS = 50;

export interface EncoderEvents {
  onData(chunk: Buffer): void;
  /** More can be written. */
  onDrain(): void;
  onEnd(): void;
  onError(error: Error): void;
}

/** Adds `reset`, which Node's types lack. */
type ReusableGzip = Gzip & ZlibReset;

const NOBODY: EncoderEvents = { onData() {}, onDrain() {}, onEnd() {}, onError() {} };

/** Compresses one body. What is in it is given after a while, so that a slow body arrives as it comes. */
export class Encoder {
  private cancelFlush: (() => void) | undefined;
  private isEnded = false;
  private isOver = false;

  /** `onOver`: called once, when it holds nothing any more; `stream`: if it can be used again. */
  constructor(
    private readonly stream: Stream,
    private readonly isReusable: boolean,
    private events: EncoderEvents,
    private readonly clock: Clock,
    private readonly onOver: (stream: ReusableGzip | undefined) => void,
  ) {
    stream.on('data', this.onData).on('drain', this.onDrain).on('error', this.onError).on('end', this.onEnd);
  }

  /** False if nothing more should be written until there is room. */
  write(chunk: Uint8Array): boolean {
    if (this.isEnded || this.isOver) return true;
    this.cancelFlush ??= this.clock.after(HELD_MS, () => {
      this.cancelFlush = undefined;
      this.stream.flush();
    });
    return this.stream.write(chunk);
  }

  get needsDrain(): boolean {
    return this.stream.writableNeedDrain;
  }

  /** No further calls have an effect. */
  end(chunk?: Uint8Array): void {
    if (this.isEnded || this.isOver) return;
    this.isEnded = true;
    this.cancelFlush?.();
    const { stream } = this;
    if (this.isReusable) {
      if (chunk) stream.write(chunk);
      stream.flush(constants.Z_FINISH, this.onFlushed);
    } else stream.end(chunk);
  }

  /** Nobody wants the rest. */
  destroy(): void {
    // It may serve another response by now.
    if (this.isOver) return;
    this.leave(undefined);
    this.stream.destroy();
  }

  private readonly onData = (chunk: Buffer): void => this.events.onData(chunk);
  private readonly onDrain = (): void => this.events.onDrain();

  private readonly onError = (error: Error): void => {
    const { events } = this;
    this.leave(undefined);
    events.onError(error);
  };

  private readonly onEnd = (): void => {
    const { events } = this;
    this.leave(undefined);
    events.onEnd();
  };

  /** `error`: the stream reports it, too, and is not used again. */
  private readonly onFlushed = (error?: Error | null): void => {
    if (this.isOver || error || this.stream.destroyed) return;
    const { events } = this;
    if (this.stream.readableLength > 0) setImmediate(() => this.onFlushed());
    else {
      this.leave(this.stream as ReusableGzip);
      events.onEnd();
    }
  };

  private leave(stream: ReusableGzip | undefined): void {
    if (this.isOver) return;
    this.isOver = true;
    this.events = NOBODY;
    this.cancelFlush?.();
    if (stream) {
      const { onData, onDrain, onError, onEnd } = this;
      stream.off('data', onData).off('drain', onDrain).off('error', onError).off('end', onEnd);
    }
    this.onOver(stream);
  }
}

/** How many are kept, each of which holds {@link ENCODER_OCTETS}. */
const MOST_IDLE = 16;

/** Makes encoders. Making a new one for gzip takes a third as long as its work on 64 KiB; resetting one of the others takes even longer. */
export class Encoders {
  private readonly idle: ReusableGzip[] = [];
  private readonly turns = createThreadTurns();

  constructor(private readonly clock: Clock) {}

  /** `account`: whose turn it takes. */
  begin(
    account: number,
    coding: Coding,
    length: number | undefined,
    events: EncoderEvents,
    onOver: () => void,
  ): Encoder {
    const isGzip = coding === 'gzip';
    const stream = (isGzip ? this.idle.pop() : undefined) ?? createStream(coding, length);
    workInTurns(stream, account, this.turns);
    return new Encoder(stream, isGzip, events, this.clock, (used) => {
      if (used) this.keep(used);
      onOver();
    });
  }

  private keep(stream: ReusableGzip): void {
    if (this.idle.length < MOST_IDLE) {
      stream.reset();
      this.idle.push(stream);
    } else stream.destroy();
  }
}
