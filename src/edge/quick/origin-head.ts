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
      const lines = ` HTTP/1.1\r\n${printFieldLines(headersForAll(request, rules))}cf-ray: `;
      const isFrozen = Object.isFrozen(headers);
      parts[FIELDS] = isFrozen ? Buffer.from(lines, 'latin1') : lines;
      // Another list may change.
      this.fields = isFrozen ? headers : undefined;
    }
    parts[TARGET] = target;
    parts[RAY] = ray;
    writeJoined(socket, parts, undefined);
  }
}
