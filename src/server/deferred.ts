/** Answers that another part gives, some of them later. */
import type { AnswerDeferred, DeferredResult } from '../answer/transport.js';
import { printIP } from '../base/ip.js';
import type { DeferredDatagram } from './datagram-batch.js';
import { Linux } from './syscalls.js';

/** The sender's address, as text, and port. */
export function senderOf({ address }: DeferredDatagram): { readonly address: string; readonly port: number } {
  const view = new DataView(address.buffer, address.byteOffset);
  const isV4 = view.getUint16(0, true) === Linux.AF_INET;
  return { address: printIP(isV4 ? address.slice(4, 8) : address.slice(8, 24)), port: view.getUint16(2) };
}

/** Calls `send` at once, or when the answer is there; undefined: there is none. */
export function whenAnswered(
  answer: ReturnType<AnswerDeferred> | undefined,
  send: (answer: DeferredResult) => void,
): void {
  if (answer instanceof Promise) void answer.then(send);
  else send(answer);
}
