/** The head of a request to an origin: what is the same for all requests of a client with the same fields is printed once. */
import type { Socket } from 'node:net';
import { printFieldLines } from '../../plain/field-lines.js';
import type { Part } from '../../plain/parts.js';
import { writeJoined } from '../../plain/write-joined.js';
import type { EdgeRequest, HeaderList } from '../exchange/exchange.js';
import { type HeaderRules, headersForAll } from '../proxy/headers.js';

const METHOD = Buffer.from('GET ');
const AFTER_RAY = Buffer.from('\r\nconnection: keep-alive\r\n\r\n');
const [TARGET, FIELDS, RAY] = [1, 2, 3];

/** Of the requests of one client, without bodies. */
export class OriginHead {
  private readonly parts: Part[] = [METHOD, '', '', '', AFTER_RAY];
  /** The fields that are printed. */
  private fields: HeaderList | undefined;

  writeTo(socket: Socket, request: EdgeRequest, rules: HeaderRules): void {
    const { headers, target, ray } = request;
    const { parts } = this;
    if (this.fields !== headers) {
      parts[FIELDS] = linesOf(headersForAll(request, rules));
      // Another list may change.
      this.fields = Object.isFrozen(headers) ? headers : undefined;
    }
    parts[TARGET] = target;
    parts[RAY] = ray;
    writeJoined(socket, parts, undefined);
  }
}

/** Cached for frozen field lists, which repeat: several connections of a client may have the same. */
const printed = new WeakMap<HeaderList, Buffer>();

/** What stands between target and ray. */
function linesOf(fields: HeaderList): Part {
  const known = printed.get(fields);
  if (known) return known;
  const lines = ` HTTP/1.1\r\n${printFieldLines(fields)}cf-ray: `;
  if (!Object.isFrozen(fields)) return lines;
  const octets = Buffer.from(lines, 'latin1');
  printed.set(fields, octets);
  return octets;
}
