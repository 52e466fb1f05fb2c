/**
 * Refusals while the client is still sending. It receives the whole answer and may send a little longer; closing at once would reset
 * the connection and lose the answer.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.js';
import { LINGER_MS } from '../base/connections/unread-bodies.js';

/** Octets of a refused body up to which the connection stays open. */
const MOST_FORGOTTEN = 64 * 1024;

/** Whether more of the body is coming than can be read and discarded. */
export function isSending({ headers, readableEnded, destroyed }: IncomingMessage): boolean {
  if (readableEnded || destroyed) return false;
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > MOST_FORGOTTEN;
}

/** Answers, and ends the connection. */
export function answerSender(
  request: IncomingMessage,
  response: ServerResponse,
  answer: { readonly status: number; readonly headers: OutgoingHttpHeaders; readonly body: Buffer },
  clock: Clock,
): void {
  const { status, headers, body } = answer;
  response.writeHead(status, { ...headers, 'content-length': body.length, connection: 'close' });
  if (request.method === 'HEAD') response.flushHeaders();
  else response.write(body);
  const finish = (): void => {
    cancel();
    response.end();
  };
  const cancel = clock.after(LINGER_MS, finish);
  request.once('end', finish).once('close', finish).once('error', finish);
  request.resume();
}
