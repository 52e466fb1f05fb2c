/** Answers that another part gives, some of them later. */
import type { AnswerDeferred, DeferredResult } from '../answer/transport.js';
import { printIP } from '../base/ip.js';
import { Linux } from './syscalls.js';

/** A query that another part answers, with copies of what the kernel told about its sender. */
export interface DeferredDatagram {
  readonly request: Uint8Array;
  /** The sender's socket address. */
  readonly address: Uint8Array;
  /** Control data of the answer: the address from which it is sent. */
  readonly control: Uint8Array;
}

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
