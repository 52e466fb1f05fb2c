/** Sends a small stored response over HTTP/2: its fields are put together once for all who get the same answer. */
import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Answer } from '../cache/answer.js';
import type { Sending, Stalls } from '../exchange/stalls.js';
import type { ClientSide } from '../listen/front.js';
import { http2Fields } from '../listen/http2-fields.js';
import { isRepeatable } from './hit.js';

/** An answer that is given several times, as a whole. */
export interface RepeatedOverHttp2 {
  readonly status: number;
  /** Of all responses; Node copies them. */
  readonly fields: OutgoingHttpHeaders;
  readonly body: Uint8Array | undefined;
}

const known = new WeakMap<Answer, RepeatedOverHttp2>();

/** Undefined for an answer of another kind. */
export function repeatedOverHttp2(answer: Answer): RepeatedOverHttp2 | undefined {
  let repeated = known.get(answer);
  if (!repeated) {
    if (!isRepeatable(answer)) return undefined;
    const { status, headers, body } = answer;
    const fields = { ...http2Fields(headers), [constants.HTTP2_HEADER_STATUS]: status };
    repeated = { status, fields, body };
    known.set(answer, repeated);
  }
  return repeated;
}

/** Sends it as the whole response of a stream. */
export function repeatOverHttp2(
  { status, fields, body }: RepeatedOverHttp2,
  ray: string,
  {
    stream,
    client,
    stalls,
  }: { readonly stream: ServerHttp2Stream; readonly client: ClientSide; readonly stalls: Stalls },
): void {
  const rest = new StreamRest(stream);
  stalls.watch(rest);
  stream.on('error', ignored);
  stream.once('close', () => {
    stalls.forget(rest);
    client.report({ status, octets: body?.length ?? 0, failure: undefined, complete: stream.writableFinished });
  });
  fields['cf-ray'] = ray;
  stream.respond(fields, { endStream: body === undefined });
  if (body) stream.end(body);
}

/** What the client has not taken yet. */
class StreamRest implements Sending {
  constructor(private readonly stream: ServerHttp2Stream) {}

  get unsent(): number {
    return this.stream.writableLength;
  }

  cut(): void {
    this.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/** The stream closes after it. */
function ignored(): void {}
