/** Moves a body from the origin to its readers, and reports whether it was complete. */
import type { Readable } from 'node:stream';
import { GrowingBody } from './growing-body.js';
import { OriginSilent } from './origin-response.js';

/** A limit in octets for all arriving bodies together. Above it, a body is passed on but no longer kept. */
export interface FillBudget {
  octets: number;
  readonly most: number;
}

export interface PumpOptions {
  readonly source: Readable;
  /** The expected length in octets; undefined if the source itself fails when the body is cut off. */
  readonly length: number | undefined;
  /** A longer body, in octets, is passed on but no longer kept. */
  readonly maxOctets: number;
  readonly budget: FillBudget;
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

async function move({ source, length, maxOctets, budget }: PumpOptions, body: GrowingBody): Promise<boolean> {
  let counted = 0;
  try {
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      body.append(chunk);
      if (body.isKept) {
        counted += chunk.length;
        budget.octets += chunk.length;
        if (body.size > maxOctets || budget.octets > budget.most) body.stopKeeping();
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
    budget.octets -= counted;
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
