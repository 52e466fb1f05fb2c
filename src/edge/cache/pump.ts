/** Moves a body from the origin to its readers, and reports whether it was complete. */
import type { Readable } from 'node:stream';
import type { MemoryShares } from '../../base/memory-shares.js';
import { GrowingBody } from './growing-body.js';
import { OriginSilent } from './origin-response.js';

export interface PumpOptions {
  readonly source: Readable;
  /** The expected length in octets; undefined if the source itself fails when the body is cut off. */
  readonly length: number | undefined;
  /** A longer body, in octets, is passed on but no longer kept. */
  readonly maxOctets: number;
  /** For the bodies that arrive. What an account has no share for is passed on but no longer kept. */
  readonly memory: MemoryShares;
  readonly account: number;
  readonly onPiece: () => void;
}

export interface Pumped {
  readonly body: GrowingBody;
  /** Resolves to whether the body was complete and kept. Never rejects: the readers see the failure. */
  readonly isWhole: Promise<boolean>;
}

/** Destroys the source when the last reader leaves before the end. */
export function pump(options: PumpOptions): Pumped {
  const body = new GrowingBody(() => options.source.destroy(new Error('nobody reads the body any more')));
  return { body, isWhole: move(options, body) };
}

async function move(options: PumpOptions, body: GrowingBody): Promise<boolean> {
  const { source, length, maxOctets, memory, account, onPiece } = options;
  let counted = 0;
  try {
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      onPiece();
      body.append(chunk);
      if (body.isKept) {
        if (body.size > maxOctets || !memory.take(account, chunk.length)) body.stopKeeping();
        else counted += chunk.length;
      }
      if (!body.isKept) await body.room();
    }
    if (length !== undefined && length !== body.size) {
      throw new OriginSilent(`${body.size} octets came instead of ${length}`);
    }
    body.end();
    return body.isKept;
  } catch (error) {
    body.fail(error instanceof Error ? error : new Error(String(error)));
    return false;
  } finally {
    memory.give(account, counted);
  }
}

/** Bodies up to this many octets are kept in one piece. */
const JOINED = 1 << 16;

export function joined(chunks: readonly Uint8Array[], size: number): readonly Uint8Array[] {
  if (chunks.length <= 1 || size > JOINED) return chunks;
  const one = Buffer.allocUnsafeSlow(size);
  let at = 0;
  for (const chunk of chunks) {
    one.set(chunk, at);
    at += chunk.length;
  }
  return [one];
}
