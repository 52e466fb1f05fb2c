/** Short answers: refusals and errors of signatures. */
import type { Clock } from '../base/clock.js';
import { Rcode } from '../dns/codes.js';
import type { MessageHead } from '../dns/message.js';
import { MessageWriter } from '../dns/message-writer.js';
import { appendTsigError, signMessage, TsigError, type TsigKey, type TsigRecord, timeOctets } from '../dns/tsig.js';
import { type Checked, nowSeconds } from './keys.js';

const QR = 0x8000;
/** Opcode and RD of a request are repeated in its answer. */
const REPEATED = 0x7900;
const writer = new MessageWriter(4096);

/** An answer without records. */
export function replyTo({ id, flags, question }: MessageHead, rcode: number): Uint8Array {
  writer.begin(id, QR | (flags & REPEATED) | rcode, question);
  return writer.finish();
}

/** The answer to a message whose signature is wrong, or whose key is unknown (RFC 8945 §5.2). */
export function replyToBadSignature(
  message: MessageHead,
  tsig: TsigRecord,
  { key, error }: Checked,
  clock: Clock,
): Uint8Array {
  if (error === 'malformed') return replyTo(message, Rcode.formErr);
  const reply = replyTo(message, Rcode.notAuth);
  if (!key || error === TsigError.badSig) return appendTsigError(reply, tsig, error);
  // With the client's own time it can check the signature, and learns ours (RFC 8945 §5.2.3).
  const signing =
    error === TsigError.badTime
      ? { time: tsig.time, other: timeOctets(nowSeconds(clock)) }
      : { time: nowSeconds(clock) };
  return signMessage(reply, key, { ...signing, error, prior: tsig.mac }).message;
}

/** Signs an answer when its request was signed. */
export function signReply(
  reply: Uint8Array,
  signed: { readonly key: TsigKey; readonly tsig: TsigRecord } | undefined,
  clock: Clock,
): Uint8Array {
  if (!signed) return reply;
  return signMessage(reply, signed.key, { prior: signed.tsig.mac, time: nowSeconds(clock) }).message;
}
