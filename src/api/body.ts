/** Request bodies: JSON for any content type; an empty body counts as absent (v4: §0.5, §0.6, §0.9). */
import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../base/clock.js';
import { type AppError, messageOf } from '../base/errors.js';
import { failure, HungUp } from './errors.js';
import { findExcess } from './json-bounds.js';

/** Largest JSON body, in octets (v4: §1.1). */
export const JSON_LIMIT_BYTES = 1 << 20;
/** Largest body of a batch of record changes, in octets. */
export const BATCH_LIMIT_BYTES = 8 << 20;

/** A body that is read completely must arrive within this time; streamed ones may take as long as data flows. */
const BODY_TIMEOUT_MS = 60_000;

/**
 * A client that is still sending when the connection ends may lose the answer (RFC 9112 §9.6). So what is too large is read on
 * and thrown away before it is refused: this many octets at most, for this time.
 */
const DISCARDED_OCTETS = 64 << 20;
const DISCARDING_MS = 1_000;

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** A body of which each step takes long enough to let others in between, in octets. */
const LARGE_OCTETS = 1 << 20;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export interface BodyBounds {
  /** The length announced by the client in octets; NaN when absent. */
  readonly declared: number;
  readonly limit: number;
  readonly clock: Clock;
}

/**
 * All octets of a body. Rejects with 9207 when it is too large or arrives too slowly, with {@link HungUp} when it breaks off.
 */
export function readOctets(body: Readable, { declared, limit, clock }: BodyBounds): Promise<Buffer> {
  if (declared > DISCARDED_OCTETS) return Promise.reject(failure('bodyTooLarge', { limit }));
  // It broke off while the credential was checked: no event will tell.
  if (body.destroyed && !body.readableEnded) return Promise.reject(new HungUp());
  return new Promise((resolve, reject) => {
    let pieces: Buffer[] = [];
    let length = 0;
    let refusal: AppError | undefined;
    const settle = (error: unknown = refusal): void => {
      cancel();
      body.off('data', take).off('end', end).off('error', breakOff).off('close', breakOff);
      if (error) reject(error);
      else resolve(Buffer.concat(pieces, length));
    };
    const end = (): void => settle();
    const breakOff = (): void => settle(new HungUp());
    const refuse = (): void => {
      refusal = failure('bodyTooLarge', { limit });
      pieces = [];
      cancel();
      cancel = clock.after(DISCARDING_MS, end);
    };
    const take = (piece: Buffer): void => {
      length += piece.length;
      if (!refusal && length > limit) refuse();
      if (!refusal) pieces.push(piece);
      else if (length > DISCARDED_OCTETS) end();
    };
    let cancel = clock.after(BODY_TIMEOUT_MS, () => settle(failure('tooSlow')));
    if (declared > limit) refuse();
    body.on('data', take).on('end', end).on('error', breakOff).on('close', breakOff);
  });
}

/**
 * The JSON value in a body, undefined for an empty one, or why the body is refused. Others get their turn in between: nothing
 * takes more than some ten milliseconds at a time. `coding`: of the header Content-Encoding.
 */
export async function parseJson(
  body: Buffer | undefined,
  coding = 'identity',
): Promise<{ readonly value: unknown } | { readonly fault: string }> {
  if (body === undefined || body.length === 0) return { value: undefined };
  if (coding.toLowerCase() !== 'identity')
    return { fault: `its Content-Encoding is ${coding}; only plain JSON is read` };
  const excess = await findExcess(body);
  if (excess !== undefined) return { fault: excess };
  let text: string;
  try {
    text = utf8.decode(body);
  } catch {
    return { fault: 'it is not UTF-8 text' };
  }
  if (text.trim() === '') return { value: undefined };
  if (body.length > LARGE_OCTETS) await setImmediate();
  try {
    const value: unknown = JSON.parse(text);
    if (body.length > LARGE_OCTETS) await setImmediate();
    if (!SURROGATE_ESCAPE.test(text) || isWellFormed(value)) return { value };
    return { fault: 'it is not JSON: a text holds half of a surrogate pair' };
  } catch (error) {
    return { fault: `it is not JSON: ${messageOf(error)}` };
  }
}

/** A lone surrogate is not a character: storing it as UTF-8 would change it silently (RFC 8259 §8.2). */
function isWellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  return Object.entries(value).every(([name, member]) => name.isWellFormed() && isWellFormed(member));
}

/** 9207 with the reason in its chain. */
export function bodyFailure(detail: string, pointer?: string): AppError {
  const chain = [{ code: 9207, message: detail }];
  return failure('badBody', {}, pointer === undefined ? { chain } : { chain, pointer });
}
