/** An HTTP server answers as expected: status, and perhaps a text at the beginning of its body. */
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { isExpectedCode, parseExpectedCodes } from '../../balancing/expected-codes.js';
import { overConnection, ProbeFailure, type TlsOptions } from './dial.js';
import type { Attempt, Place, ProbeSettings } from './result.js';

/** Of a body, that much is read. */
const MOST_BODY = 10 * 1024;
const MOST_HEADERS = 16 * 1024;
/** Informational responses and all else before the body. */
const MOST_OCTETS = 64 * 1024;

export interface HttpAsked {
  readonly settings: ProbeSettings;
  readonly path: string;
  /** What `Host` says. */
  readonly host: string;
}

export interface HttpAnswer {
  readonly status: number;
  readonly location: string | undefined;
}

/** Asks once. Rejects with a {@link ProbeFailure}, unless the answer is the expected one or a redirect that is to be followed. */
export function probeHttp(
  place: Place,
  tls: TlsOptions | undefined,
  asked: HttpAsked,
  attempt: Attempt,
): Promise<HttpAnswer> {
  return overConnection(place, tls, attempt, (socket) => ask(socket, asked));
}

function ask(socket: Socket, { settings, path, host }: HttpAsked): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const asking = request({
      createConnection: () => socket,
      method: settings.method,
      path,
      setHost: false,
      headers: headersOf(settings, host),
      maxHeaderSize: MOST_HEADERS,
      joinDuplicateHeaders: true,
    });
    asking.on('error', reject);
    asking.on('information', () => {
      if (socket.bytesRead > MOST_OCTETS) reject(new ProbeFailure('HTTP Invalid Response'));
    });
    // Nobody has asked for another protocol (RFC 9110 §15.2.2).
    asking.on('upgrade', () => reject(new ProbeFailure('HTTP Invalid Response')));
    asking.on('response', (response) => {
      judge(response, settings).then(resolve, reject);
    });
    asking.end();
  });
}

async function judge(response: IncomingMessage, settings: ProbeSettings): Promise<HttpAnswer> {
  const status = response.statusCode!;
  const { location } = response.headers;
  const answer = { status, location };
  if (settings.followRedirects && isRedirect(answer)) return answer;
  const expected = parseExpectedCodes(settings.expectedCodes);
  if (!expected) throw new ProbeFailure('Monitor Config Error', false, status);
  if (!isExpectedCode(expected, status)) throw new ProbeFailure('Response code mismatch error', false, status);
  const wanted = settings.expectedBody.toLowerCase();
  if (wanted !== '' && !(await hasText(response, wanted))) {
    throw new ProbeFailure('Response body mismatch error', false, status);
  }
  return answer;
}

/** Whether a response leads elsewhere (RFC 9110 §15.4). */
export function isRedirect({ status, location }: HttpAnswer): boolean {
  return location !== undefined && [301, 302, 303, 307, 308].includes(status);
}

/** Looks for a text in lower case while the body arrives; `wanted` may lie across pieces. */
async function hasText(response: IncomingMessage, wanted: string): Promise<boolean> {
  const overlap = Buffer.byteLength(wanted) + MOST_OCTETS_OF_CHARACTER;
  let [read, end] = [0, Buffer.alloc(0)];
  for await (const chunk of response) {
    const piece = (chunk as Buffer).subarray(0, MOST_BODY - read);
    read += piece.length;
    const text = Buffer.concat([end, piece]);
    if (text.toString('utf8').toLowerCase().includes(wanted)) return true;
    if (read >= MOST_BODY) return false;
    end = text.subarray(-overlap);
  }
  return false;
}

/** In UTF-8. */
const MOST_OCTETS_OF_CHARACTER = 4;

function headersOf({ header, id }: ProbeSettings, host: string): Record<string, string | string[]> {
  const own = Object.entries(header).filter(([name]) => !['host', 'user-agent'].includes(name.toLowerCase()));
  return {
    Host: host,
    'User-Agent': `Mozilla/5.0 (compatible; Zoneplane-Healthcheck/1.0; +${id})`,
    ...Object.fromEntries(own.map(([name, values]) => [name, [...values]])),
    Connection: 'close',
  };
}
