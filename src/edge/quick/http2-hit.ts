/** Sends a small stored response over HTTP/2: its fields are printed once for all who get the same answer. */
import type { Answer } from '../cache/answer.js';
import type { ClientEvents } from '../exchange/client-response.js';
import type { Sending, Stalls } from '../exchange/stalls.js';
import type { ClientStream } from '../http2/client-stream.js';
import { blockOf, responseBlock } from '../http2/response-block.js';
import type { ClientSide } from '../listen/client-side.js';
import { isRepeatable } from './hit.js';

/** An answer that is given several times, as a whole. */
export interface RepeatedOverHttp2 {
  readonly status: number;
  /** Of all fields but the ray. */
  readonly block: Buffer;
  readonly body: Buffer | undefined;
}

const known = new WeakMap<Answer, RepeatedOverHttp2>();

/** Undefined for an answer of another kind. */
export function repeatedOverHttp2(answer: Answer): RepeatedOverHttp2 | undefined {
  let repeated = known.get(answer);
  if (!repeated) {
    if (!isRepeatable(answer)) return undefined;
    const { status, headers, body } = answer;
    const octets = body && Buffer.from(body.buffer, body.byteOffset, body.length);
    repeated = { status, block: responseBlock(status, headers), body: octets };
    known.set(answer, repeated);
  }
  return repeated;
}

/** Sends it as the whole response of a stream. */
export function repeatOverHttp2(
  { status, block, body }: RepeatedOverHttp2,
  ray: string,
  { stream, client, stalls }: { readonly stream: ClientStream; readonly client: ClientSide; readonly stalls: Stalls },
): void {
  const rest = new StreamRest(stream, client, stalls, status, body?.length ?? 0);
  stream.watch(rest);
  stream.sendHead(status, Buffer.concat([block, blockOf(['cf-ray', ray])]));
  stream.end(body, []);
  if (!stream.isOver) stalls.watch(rest);
}

/** What the client has not taken yet. */
class StreamRest implements Sending, ClientEvents {
  constructor(
    private readonly stream: ClientStream,
    private readonly client: ClientSide,
    private readonly stalls: Stalls,
    private readonly status: number,
    private readonly octets: number,
  ) {}

  get taker(): ClientStream {
    return this.stream;
  }

  cut(): void {
    this.stream.cut();
  }

  drained(): void {}

  closed(isSent: boolean): void {
    this.stalls.forget(this);
    const { status, octets } = this;
    this.client.report({ status, octets, failure: undefined, complete: isSent });
  }
}
