/** Sends a response to a client over HTTP/1.1 or HTTP/2, as fast as the client reads it. */
import type { ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse, type OutgoingHttpHeaders } from 'node:http2';
import type { Failure } from '../error-pages/failures.js';
import { failurePage } from '../error-pages/page.js';
import type { HeaderList, ResponseFlow, ResponseSink } from '../proxy/exchange.js';

export type ClientResponse = ServerResponse | Http2ServerResponse;

/** The outcome of a request, for log and metrics. */
export interface Outcome {
  /** 0 if no response was started. */
  readonly status: number;
  readonly octets: number;
  readonly failure: Failure | undefined;
  /** Whether the whole response was passed to the client's connection. */
  readonly complete: boolean;
}

export interface ReplyOptions {
  readonly ray: string;
  readonly host: string;
  readonly accept: string | undefined;
  /** Whether failures show cause and remedy. */
  readonly details: boolean;
  readonly onEnd: (outcome: Outcome) => void;
}

export class Reply implements ResponseSink {
  private flow: ResponseFlow | undefined;
  private status = 0;
  private octets = 0;
  /** Octets of the body that an HTTP/1.1 response promised and that were not sent yet; undefined if it promised none. */
  private promised: number | undefined;
  private failure: Failure | undefined;
  private over = false;
  private abortOrigin: (() => void) | undefined;
  /** Fields added to every response of an origin. */
  private extra: HeaderList = [];

  constructor(
    private readonly response: ClientResponse,
    private readonly options: ReplyOptions,
  ) {
    response.on('drain', () => this.flow?.resume());
    response.on('close', () => {
      if (!this.over) this.abortOrigin?.();
      this.end(this.response.writableFinished);
    });
    response.on('error', () => {});
  }

  /** Called when the client disconnects before the end. */
  set onGone(abort: () => void) {
    this.abortOrigin = abort;
    if (this.response.closed || this.response.destroyed) abort();
  }

  set extraHeaders(headers: HeaderList) {
    this.extra = headers;
  }

  onInformation(status: number, headers: HeaderList): void {
    if (this.status !== 0 || this.over) return;
    const { response } = this;
    if (isHttp2(response)) {
      if (!response.stream.destroyed && !response.headersSent) {
        response.stream.additionalHeaders({ ...headerObject(headers), ':status': status });
      }
    } else if (status === 103) {
      // Node accepts only links that it can parse.
      try {
        response.writeEarlyHints(headerObject(headers) as Record<string, string>);
      } catch {
        return;
      }
    } else if (status === 102) {
      response.writeProcessing();
    }
  }

  onHead(status: number, headers: HeaderList, flow: ResponseFlow): void {
    this.flow = flow;
    if (!isHttp2(this.response)) this.promised = contentLengthOf(headers);
    this.begin(status, [...headers, ...this.extra, 'cf-ray', this.options.ray]);
  }

  onData(chunk: Buffer): void {
    this.octets += chunk.length;
    if (this.promised !== undefined) {
      this.promised -= chunk.length;
      // No trailers follow a body with a length (RFC 9112 §7.1.2), so the last piece ends it: one write less for most responses.
      if (this.promised === 0 && !this.over) {
        this.over = true;
        (this.response as ServerResponse).end(chunk);
        return;
      }
    }
    // Both kinds of responses accept octets in the same way, but their types have no common call.
    if (!(this.response as ServerResponse).write(chunk)) this.flow?.pause();
  }

  onEnd(trailers: HeaderList): void {
    if (this.over) return;
    if (trailers.length > 0) this.response.addTrailers(headerObject(trailers));
    this.over = true;
    this.stopRequest();
    this.response.end();
  }

  /** After the whole response, the rest of a request is not needed (RFC 9113 §8.1). Node does this for HTTP/1.1. */
  private stopRequest(): void {
    const { response } = this;
    if (!isHttp2(response) || response.req.complete) return;
    response.stream.once('finish', () => response.stream.close(constants.NGHTTP2_NO_ERROR));
  }

  /** A started response cannot be replaced. It is cut off, so that the client notices that it is incomplete. */
  onFailure(failure: Failure): void {
    if (this.over) return;
    this.failure = failure;
    if (this.status !== 0) {
      this.cut();
      return;
    }
    const { ray, host, accept, details } = this.options;
    const page = failurePage(failure, { ray, host, accept, details });
    this.whole(page.status, page.headers, page.body);
  }

  /** Sends a complete response that the edge itself made. */
  whole(status: number, headers: HeaderList, body: Buffer): void {
    const { response } = this;
    // Where an ambiguous request ends is uncertain, too (RFC 9112 §6.3).
    const ends = !isHttp2(response) && (!response.req.complete || status === 400);
    this.begin(status, ends ? [...headers, 'connection', 'close'] : headers);
    this.octets = body.length;
    this.over = true;
    this.stopRequest();
    // Node omits the body of a response to HEAD.
    (response as ServerResponse).end(body);
  }

  private begin(status: number, headers: HeaderList): void {
    this.status = status;
    const { response } = this;
    if (isHttp2(response)) response.writeHead(status, headerObject(headers));
    else response.writeHead(status, headers as string[]);
  }

  private cut(): void {
    this.over = true;
    const { response } = this;
    if (isHttp2(response)) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    else response.destroy();
  }

  private end(complete: boolean): void {
    const { status, octets, failure } = this;
    this.over = true;
    this.options.onEnd({ status, octets, failure, complete });
  }
}

function isHttp2(response: ClientResponse): response is Http2ServerResponse {
  return 'stream' in response;
}

function headerObject(headers: HeaderList): OutgoingHttpHeaders {
  const object: Record<string, string | string[]> = {};
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    const known = object[name];
    if (known === undefined) object[name] = value;
    else if (typeof known === 'string') object[name] = [known, value];
    else known.push(value);
  }
  return object;
}

function contentLengthOf(headers: HeaderList): number | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === 'content-length') return Number(headers[i + 1]);
  return undefined;
}
