/** The access log: one line for each request, or for a sample of them. */
import { type Clock, steadyMs } from '../base/clock.js';
import type { Logger } from '../base/log.js';
import type { RequestReport } from './listen/client-side.js';

/** `every`: logs one request out of this many; 0 logs none. */
export function createAccessLog(log: Logger, clock: Clock, every: number): (report: RequestReport) => void {
  let count = 0;
  return ({ request, facts, outcome, httpVersion, tlsVersion, startedMs }) => {
    if (every === 0 || ++count % every !== 0) return;
    const { status, octets, failure, complete } = outcome;
    const { ray, client, scheme } = facts;
    const line = { ray, client, scheme, httpVersion, tlsVersion, host: request.host, status, octets, complete };
    const sent = 'failure' in request ? {} : { method: request.method, target: request.target };
    const ms = Math.round(steadyMs(clock) - startedMs);
    const failed = failure && { errorCode: failure.code, cause: failure.cause, remedy: failure.remedy };
    log.info({ ...line, ...sent, ms, ...failed }, 'request');
  };
}
