/** Answers that another part gives, some of them later. */
import type { AnswerDeferred, DeferredResult } from '../answer/transport.js';
import { printIP } from '../base/ip.js';
import type { DeferredDatagram } from './datagram-batch.js';
import { Linux } from './syscalls.js';

/** The sender's address, as text. */
export function senderOf({ address }: DeferredDatagram): string {
  const isV4 = new DataView(address.buffer, address.byteOffset).getUint16(0, true) === Linux.AF_INET;
  return printIP(isV4 ? address.slice(4, 8) : address.slice(8, 24));
}

/** Calls `send` at once, or when the answer is there; undefined: there is none. */
export function whenAnswered(
  answer: ReturnType<AnswerDeferred> | undefined,
  send: (answer: DeferredResult) => void,
): void {
  if (answer instanceof Promise) void answer.then(send);
  else send(answer);
}
