/** Receives the body of an upload: small ones in memory, large ones as a file, with the requested checksums. */
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Clock } from '../base/clock.js';
import { AppError } from '../base/errors.js';
import { reservedFailure } from '../control/kernel/errors.js';
import type { DiskRoom } from '../store/disk-room.js';
import type { BlobDraft, Blobs, FinishedDraft } from './blobs.js';
import { objectFailure } from './errors.js';
import type { Pieces, PutOptions } from './object-store.js';

/** Bodies up to this many octets are stored in the database of one machine. */
export const MOST_INLINE = 64 * 1024;
/** Pieces that are kept one by one: each takes a hundred octets more, and a client decides how short they are. */
const MOST_PIECES = 256;

export interface ReceivedBody {
  readonly size: number;
  readonly md5: Uint8Array;
  /** Null when the checksum of the shared body is not known. */
  readonly crc32: number | null;
  /** The whole body if it is small. */
  readonly inline: Buffer | undefined;
  /** Otherwise what contains it, not yet durable. */
  readonly draft: FinishedDraft | undefined;
}

/** The same for a body that is there already; undefined when it is to be received. */
export async function shareBody(
  { blobs, clock }: { readonly blobs: Blobs; readonly clock: Clock },
  { shares }: Pick<PutOptions, 'shares'>,
): Promise<ReceivedBody | undefined> {
  if (!shares?.body) return undefined;
  const { item, body } = shares;
  const draft = await blobs.share(body.name, clock);
  return draft && { size: item.size, md5: Buffer.from(item.etag, 'hex'), crc32: body.crc32, inline: undefined, draft };
}

/** Receives a body in chunks; an error leaves nothing behind. */
export async function receiveBody(
  body: Pieces,
  blobs: Blobs,
  options: PutOptions & { readonly mostInline: number; readonly disk: DiskRoom },
): Promise<ReceivedBody> {
  const { limit, mostInline, disk } = options;
  if (!disk.take(options.size ?? 0)) throw reservedFailure();
  const md5 = createHash('md5');
  const sha256 = options.sha256 && createHash('sha256');
  let size = 0;
  let crc = 0;
  let draft: BlobDraft | undefined;
  let pieces: Uint8Array[] = [];
  try {
    for await (const piece of body) {
      size += piece.length;
      if (size > limit) throw objectFailure('tooLarge', { limit });
      // What was said to come is counted already.
      if (!disk.take(options.size === undefined ? piece.length : 0)) throw reservedFailure();
      md5.update(piece);
      crc = crc32(piece, crc);
      sha256?.update(piece);
      if (size <= mostInline) {
        pieces.push(Buffer.from(piece));
        if (pieces.length > MOST_PIECES) pieces = [Buffer.concat(pieces)];
        continue;
      }
      draft ??= await blobs.draft();
      for (const waiting of pieces) await draft.write(waiting);
      pieces = [];
      await draft.write(piece);
    }
    const digest = md5.digest();
    if (options.size !== undefined && size !== options.size) throw objectFailure('incomplete');
    const intact = isSame(options.md5, digest) && (!sha256 || isSame(options.sha256, sha256.digest()));
    if (!intact) throw objectFailure('badChecksum');
    return { size, md5: digest, crc32: crc, inline: draft ? undefined : Buffer.concat(pieces), draft };
  } catch (error) {
    await draft?.discard();
    throw isBrokenOff(error) ? objectFailure('incomplete') : error;
  }
}

const isSame = (expected: Uint8Array | undefined, digest: Buffer): boolean =>
  expected === undefined || digest.equals(expected);

/** The client disconnected in the middle of the body. */
export function isBrokenOff(error: unknown): boolean {
  if (error instanceof AppError) return false;
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ECONNRESET' || code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'ABORT_ERR';
}
