/**
 * The answer of a server without keys to a signed query: NOTAUTH with an unsigned TSIG, error BADKEY (RFC 8945 §5.2.1, §5.3.2).
 */
// hot
import { copyWholeName, nameEnd, plainNameEnd } from '../dns/wire-name.js';
import { type Query, u16 } from './query.js';
import type { Response } from './response.js';

const BADKEY = 17;
/** The name of the key: some clients compress it. */
const keyName = new Uint8Array(255);

/**
 * Appends the query's TSIG without its MAC and with the error; writes nothing when the record is malformed or there is
 * no room.
 */
export function writeUnknownKey(query: Query, response: Response): void {
  const { request, end } = query;
  const nameLength = copyWholeName(request, query.start, query.tsigAt, end, keyName);
  if (nameLength < 0) return;
  const fixed = nameEnd(request, query.tsigAt, end);
  const algorithm = fixed + 10;
  const time = plainNameEnd(request, algorithm, end);
  if (time < 0 || time + 10 > end) return;
  const macLength = u16(request, time + 8);
  const originalId = time + 10 + macLength;
  if (originalId + 6 > end) return;
  const length = nameLength + originalId - macLength - fixed + 6;
  if (response.at + length > response.limit) return;
  const out = response.bytes;
  let at = response.base + response.at;
  for (let i = 0; i < nameLength; i++) out[at++] = keyName[i]!;
  for (let i = fixed; i < time + 8; i++) out[at++] = request[i]!;
  out[at++] = 0;
  out[at++] = 0;
  out[at++] = request[originalId]!;
  out[at++] = request[originalId + 1]!;
  out[at++] = 0;
  out[at++] = BADKEY;
  out[at++] = 0;
  out[at++] = 0;
  const rdata = time - algorithm + 8 + 8;
  const lengthAt = response.base + response.at + nameLength + 8;
  out[lengthAt] = rdata >>> 8;
  out[lengthAt + 1] = rdata;
  response.at += length;
  response.additionals++;
}
