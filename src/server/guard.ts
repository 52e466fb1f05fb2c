/**
 * The wrapper of the engine for every transport: it counts, and it answers SERVFAIL when the engine throws. Those who answer later are
 * wrapped, too.
 */
import { type Answer, type AnswerDeferred, DEFERRED, type DeferredResult } from '../answer/transport.js';
import { Rcode } from '../dns/codes.js';
import { Count, type CountBlock, countQuery, countResponse } from './counters.js';

/** Receives an error of the engine with a copy of the message that caused it. */
export type ReportFault = (error: unknown, request: Uint8Array) => void;

/** Wraps `answer`: queries and answers are counted in `block`; any thrown error is reported and becomes SERVFAIL. */
export function guardAnswer(answer: Answer, block: CountBlock, report: ReportFault): Answer {
  return (request, start, length, response, at, limit, transport, client) => {
    countQuery(block, request, start, length, transport);
    let written = 0;
    try {
      written = answer(request, start, length, response, at, limit, transport, client);
    } catch (error) {
      block[Count.fault]! += 1;
      report(error, request.slice(start, start + length));
      written = writeServFail(request, start, length, response, at);
    }
    if (written !== DEFERRED) countResponse(block, response, at, written);
    return written;
  };
}

/** Wraps `answerDeferred`: its answers are counted in `block`, when they are made; any error is reported, and there is no answer. */
export function guardDeferred(answerDeferred: AnswerDeferred, block: CountBlock, report: ReportFault): AnswerDeferred {
  const count = (answer: DeferredResult): DeferredResult => {
    if (answer) countResponse(block, answer, 0, answer.length);
    else block[Count.silent]! += 1;
    return answer;
  };
  return (...query) => {
    const fail = (error: unknown): DeferredResult => {
      block[Count.fault]! += 1;
      report(error, query[0]);
      return count(undefined);
    };
    try {
      const answer = answerDeferred(...query);
      return answer instanceof Promise ? answer.then(count, fail) : count(answer);
    } catch (error) {
      return fail(error);
    }
  };
}

/**
 * Writes a bare header: the ID, opcode and RD of the request with QR and SERVFAIL; nothing for a request that cannot be
 * answered.
 */
function writeServFail(request: Uint8Array, start: number, length: number, response: Uint8Array, at: number): number {
  if (length < 12 || (request[start + 2]! & 0x80) !== 0) return 0;
  response[at] = request[start]!;
  response[at + 1] = request[start + 1]!;
  response[at + 2] = 0x80 | (request[start + 2]! & 0x79);
  response[at + 3] = Rcode.servFail;
  response.fill(0, at + 4, at + 12);
  return 12;
}
