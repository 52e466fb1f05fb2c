/** Sends responses through the HTTP servers of Node. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { constants, type Http2ServerResponse } from 'node:http2';
import { reasonOf } from '../error-pages/failures.js';
import { type ClientEvents, type ClientResponse, endsConnection } from '../exchange/client-response.js';
import { type HeaderList, headerFields } from '../exchange/exchange.js';
import { unsentOf } from '../exchange/stalls.js';
import { http2Fields } from './http2-fields.js';

function watch(response: ServerResponse | Http2ServerResponse, events: ClientEvents): void {
  response.on('drain', () => events.drained());
  response.on('close', () => events.closed(response.writableFinished));
  response.on('error', () => {});
}

/** Whether the client waits for 100 (Continue): others were never told that there is such an answer. */
function isAwaited(expect: string | undefined): boolean {
  return expect?.toLowerCase() === '100-continue';
}

export function http1Response(response: ServerResponse): ClientResponse {
  const head = (status: number, headers: HeaderList): void =>
    void response.writeHead(status, reasonOf(status), headers as string[] /* alternating names and values */);
  return {
    endsAtLength: true,
    get isGone() {
      return response.closed || response.destroyed;
    },
    get unsent() {
      // A response that waits behind another one is its client's own doing, too.
      return response.writableLength + (response.socket ? unsentOf(response.socket) : 0);
    },
    watch: (events) => watch(response, events),
    inform(status, headers) {
      const { complete, headers: asked } = response.req;
      if (status === 100 && !complete && isAwaited(asked.expect)) response.writeContinue();
      if (status === 102) response.writeProcessing();
      if (status !== 103) return;
      // Node accepts only links that it can parse.
      try {
        response.writeEarlyHints(headerFields(headers) as Record<string, string>);
      } catch {
        return;
      }
    },
    head: (status, headers, more) => head(status, [...headers, ...more]),
    write: (chunk) => response.write(chunk),
    end(chunk, trailers) {
      if (trailers.length > 0) response.addTrailers(headerFields(trailers) as OutgoingHttpHeaders);
      response.end(chunk);
    },
    whole(status, headers, body) {
      const isLast = isBodyMissing(response.req) || endsConnection(status);
      head(status, isLast ? [...headers, 'connection', 'close'] : headers);
      // Node omits the body of a response to HEAD.
      response.end(body);
    },
    cut: () => void response.destroy(),
  };
}

/**
 * The rest of a body would have to be read before the next request. Node calls no request complete while its head is being
 * handled.
 */
function isBodyMissing({ complete, headers }: IncomingMessage): boolean {
  if (complete) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

export function http2Response(response: Http2ServerResponse): ClientResponse {
  const { stream, req } = response;
  /** After the whole response, the rest of a request is not needed (RFC 9113 §8.1). Node does this for HTTP/1.1. */
  const stopRequest = (last: 'finish' | 'wantTrailers'): void => {
    // Node calls no request complete that nobody has read, also if it has no body.
    if (req.complete || stream.endAfterHeaders) return;
    // In the next turn: trailers that have not left yet would be dropped.
    stream.once(last, () => setImmediate(() => stream.close(constants.NGHTTP2_NO_ERROR)));
  };
  return {
    endsAtLength: false,
    get isGone() {
      return response.closed || response.destroyed;
    },
    get unsent() {
      return stream.writableLength;
    },
    watch: (events) => watch(response, events),
    inform(status, headers) {
      if (stream.destroyed || response.headersSent || (status === 100 && !isAwaited(req.headers['expect']))) return;
      stream.additionalHeaders({ ...http2Fields(headers), ':status': status });
    },
    head: (status, headers, more) => void response.writeHead(status, http2Fields([...headers, ...more])),
    write: (chunk) => response.write(chunk),
    end(chunk, trailers) {
      if (trailers.length > 0) response.addTrailers(http2Fields(trailers));
      // Trailers are sent after the stream has finished.
      stopRequest(trailers.length > 0 ? 'wantTrailers' : 'finish');
      if (chunk) response.end(chunk);
      else response.end();
    },
    whole(status, headers, body) {
      response.writeHead(status, http2Fields(headers));
      stopRequest('finish');
      response.end(body);
    },
    cut: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  };
}
