/** What compresses: streams of zlib, whose work is done in its threads. */
import type { Transform } from 'node:stream';
import { constants, createBrotliCompress, createGzip, createZstdCompress } from 'node:zlib';
import type { Clock } from '../../base/clock.js';
import type { Coding } from '../../http/content-coding.js';

/** In order of preference: zstd takes least processor time. Node before 22.15 does not have it. */
export const ABLE: readonly Coding[] =
  typeof createZstdCompress === 'function' ? ['zstd', 'br', 'gzip'] : ['br', 'gzip'];
export const ABLE_WITHOUT_BR: readonly Coding[] = ABLE.filter((coding) => coding !== 'br');

/** Levels that take about as long as the lowest of nginx, for each request anew. */
const LEVELS: Readonly<Record<Coding, number>> = { gzip: 5, br: 4, zstd: 3 };

/** Octets that an encoder holds, about. */
export const ENCODER_OCTETS: Readonly<Record<Coding, number>> = { gzip: 300_000, br: 1_500_000, zstd: 1_500_000 };

/** As powers of two: how far back an encoder looks. */
const [SMALLEST_WINDOW, LARGEST_WINDOW] = [10, 19];
const CHUNK = 32 * 1024;

export interface Encoder extends Transform {
  flush(): void;
}

/** `length`: of the whole body, if it is known. */
export function createEncoder(coding: Coding, length: number | undefined): Encoder {
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
      return createZstdCompress({ chunkSize: CHUNK, params: { [compressionLevel]: level, [windowLog]: window } });
    }
  }
}

function windowFor(length: number | undefined): number {
  if (length === undefined) return LARGEST_WINDOW;
  return Math.min(LARGEST_WINDOW, Math.max(SMALLEST_WINDOW, Math.ceil(Math.log2(length))));
}

/** The longest time for which octets stay in an encoder before they are sent, milliseconds. */
export const HELD_MS = 50;

/** Has what is in an encoder sent after a while, so that a slow body arrives as it comes. */
export class Flushing {
  private cancel: (() => void) | undefined;

  constructor(
    private readonly encoder: Encoder,
    private readonly clock: Clock,
  ) {
    encoder.once('close', () => this.cancel?.());
  }

  /** Something has gone into the encoder. */
  fed(): void {
    this.cancel ??= this.clock.after(HELD_MS, () => {
      this.cancel = undefined;
      if (!this.encoder.writableEnded && !this.encoder.destroyed) this.encoder.flush();
    });
  }
}
