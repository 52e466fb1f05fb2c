/** Sends responses through the HTTP server of Node. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { reasonOf } from '../error-pages/failures.js';
import { type ClientEvents, type ClientResponse, endsConnection } from '../exchange/client-response.js';
import { type HeaderList, headerFields } from '../exchange/exchange.js';

function watch(response: ServerResponse, events: ClientEvents): void {
  response.on('drain', () => events.drained());
  response.on('close', () => events.closed(response.writableFinished));
  response.on('error', () => {});
}

/** Says 100 (Continue) when the responses that come before this one have been sent, unless it has begun by then. */
function continueWhenFirst(response: ServerResponse): void {
  const { assignSocket } = response;
  response.assignSocket = (socket) => {
    assignSocket.call(response, socket);
    if (!response.headersSent && !response.req.complete) response.writeContinue();
  };
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
    get taker() {
      // A response that waits behind another one is its client's own doing, too.
      return response.socket ?? { unsent: response.writableLength, taken: 0 };
    },
    watch: (events) => watch(response, events),
    inform(status, headers) {
      const { complete, headers: asked } = response.req;
      // While another response comes first, Node queues this, and then puts the head of the final response in front of it.
      const isWaiting = !response.socket;
      if (status === 100 && !complete && isAwaited(asked.expect)) {
        if (isWaiting) continueWhenFirst(response);
        else response.writeContinue();
      }
      if (isWaiting) return;
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
    cut() {
      const isWaiting = !response.socket;
      response.destroy();
      if (!isWaiting) return;
      // Otherwise Node would give it its turn, and wait for its end.
      response.assignSocket = (socket) => socket.destroySoon();
      response.emit('close');
    },
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
