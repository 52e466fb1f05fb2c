/** Fills in what depends on the client: ID, flags and question in place, OPT and signatures in a copy. */
import type { Clock } from '../../base/clock.js';
import { Type } from '../../dns/codes.js';
import { lengthAt, writeLength } from '../../dns/frames.js';
import type { ReadMessage } from '../../dns/message.js';
import { LONGEST_MESSAGE } from '../../dns/message-writer.js';
import { createStreamSigner, type TsigKey, type TsigRecord, tsigLength } from '../../dns/tsig.js';
import { nowSeconds } from '../keys.js';

/** What we take over UDP, in the OPT record of answers. */
const PAYLOAD = 1232;
/** The OPT record of answers (RFC 6891 §6.1.2). */
const OPT = Uint8Array.of(0, 0, Type.opt, PAYLOAD >>> 8, PAYLOAD & 0xff, 0, 0, 0, 0, 0, 0);
/** Offsets in a frame. */
const ID = 2;
const FLAGS = 4;
const QUESTIONS = 7;
const ADDITIONAL = 13;
const QUESTION = 14;

export interface TransferRequest {
  readonly message: ReadMessage;
  /** Its octets. */
  readonly request: Uint8Array;
  readonly signed: { readonly key: TsigKey; readonly tsig: TsigRecord } | undefined;
}

/** Frames for one client. `blocks`: whole frames that may be changed; what is yielded is valid until the next is asked for. */
export async function* framesFor(
  { message, request, signed }: TransferRequest,
  blocks: AsyncIterable<Uint8Array>,
  clock: Clock,
): AsyncGenerator<Uint8Array> {
  const question = request.subarray(12, 12 + message.question.name.length + 4);
  const hasOpt = message.payload !== undefined;
  const sign = signed && createStreamSigner(signed.key, signed.tsig.mac, () => nowSeconds(clock));
  const signature = signed ? tsigLength(signed.key) : 0;
  const added = (hasOpt ? OPT.length : 0) + signature;
  let copy: Uint8Array = new Uint8Array(0);
  for await (const block of blocks) {
    let frames = 0;
    for (let at = 0; at < block.length; at += 2 + lengthAt(block, at)) {
      address(block, at, message, question);
      frames++;
    }
    if (added === 0) {
      yield block;
      continue;
    }
    const most = block.length + frames * added;
    if (copy.length < most) copy = new Uint8Array(most);
    let end = 0;
    for (let at = 0; at < block.length; at += 2 + lengthAt(block, at)) {
      const start = end;
      // A record that leaves no room goes without OPT (RFC 5936 §2.2.5) and, if need be, without a signature.
      const hasRoom = lengthAt(block, at) + added <= LONGEST_MESSAGE;
      end = copyFrame(block, at, copy, start, hasOpt && hasRoom);
      if (!sign) continue;
      const whole = sign(copy.subarray(start + 2, end));
      end = start + 2 + whole.length;
      copy.set(whole, start + 2);
      writeLength(copy, start, whole.length);
    }
    yield copy.subarray(0, end);
  }
}

/** The header and question of the frame at `at`, which has ID 0 and the question for AXFR, or none. */
function address(frames: Uint8Array, at: number, { id, flags }: ReadMessage, question: Uint8Array): void {
  frames[at + ID] = id >>> 8;
  frames[at + ID + 1] = id;
  // RD is repeated.
  frames[at + FLAGS]! |= (flags >>> 8) & 1;
  if (frames[at + QUESTIONS] === 1) frames.set(question, at + QUESTION);
}

/** Copies the frame at `at` of `from`, with an OPT record if wanted. Returns where the copy ends. */
function copyFrame(from: Uint8Array, at: number, to: Uint8Array, start: number, hasOpt: boolean): number {
  const length = lengthAt(from, at);
  to.set(from.subarray(at, at + 2 + length), start);
  const end = start + 2 + length;
  if (!hasOpt) return end;
  to.set(OPT, end);
  to[start + ADDITIONAL] = 1;
  writeLength(to, start, length + OPT.length);
  return end + OPT.length;
}
