/**
 * What is left when all else failed: an error of one connection for which nobody listens ends that connection, and not the process
 * with those of everybody else. It is a bug, so it is logged as one.
 */

import type { Logger } from '../../base/log.js';
import { lacksOpenFiles } from '../../base/process/open-files.js';
import type { Role } from '../process/ipc.js';

const OF_STREAMS = /^(?:ERR_HTTP2_|ERR_STREAM_|ERR_SSL_|ERR_TLS_|ERR_SOCKET_|ERR_HTTP_|HPE_|UND_ERR_)/;
const OF_SOCKETS: ReadonlySet<string> = new Set([
  ...['ECONNRESET', 'ECONNABORTED', 'ECONNREFUSED', 'EPIPE', 'ENOTCONN', 'ETIMEDOUT', 'EPROTO', 'ENOBUFS'],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'EADDRNOTAVAIL'],
]);

/** Whether an error that was thrown out of an event is about one connection, or about a descriptor that there was not. */
export function isOfOneConnection(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return false;
  return OF_SOCKETS.has(error.code) || OF_STREAMS.test(error.code) || lacksOpenFiles(error);
}

/** Everything else ends the process, as without this: what it does next would rest on what is broken. */
export function endOnFaults(role: Role | 'probing', log: Logger): void {
  process.on('uncaughtException', (err, origin) => {
    if (origin === 'uncaughtException' && isOfOneConnection(err)) {
      log.error({ err }, 'nobody has heard the error of a connection');
      return;
    }
    log.fatal({ err }, `the ${role} process has a fault`);
    throw err;
  });
}
