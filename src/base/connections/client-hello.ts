/**
 * Parses the first message of a TLS client before the handshake begins, to learn the requested host (RFC 8446 §4.1.2, RFC 6066
 * §3). So the versions and cipher suites of the host apply from the first octet. Node's SNICallback runs too late for that.
 */

/** `more`: the message is incomplete. `alien`: it is not TLS. `serverName`: lower case; undefined if the client names none. */
export type ClientHello =
  | { readonly kind: 'more' }
  | { readonly kind: 'alien' }
  | { readonly kind: 'hello'; readonly serverName: string | undefined };

const HANDSHAKE = 22;
const CLIENT_HELLO = 1;
const SERVER_NAME = 0;
const HOST_NAME = 0;
/** The longest accepted message, octets. Browsers send at most 2 KiB. */
const MOST_OCTETS = 16_384;

const MORE: ClientHello = { kind: 'more' };
const ALIEN: ClientHello = { kind: 'alien' };

/** `octets`: everything the client has sent so far. */
export function readClientHello(octets: Buffer): ClientHello {
  const message = joinRecords(octets);
  if (message === undefined) return ALIEN;
  if (message.length < 4) return octets.length > MOST_OCTETS ? ALIEN : MORE;
  const length = message.readUIntBE(1, 3);
  if (message[0] !== CLIENT_HELLO || length > MOST_OCTETS) return ALIEN;
  if (message.length < 4 + length) return MORE;
  try {
    return { kind: 'hello', serverName: serverNameOf(message.subarray(4, 4 + length)) };
  } catch (error) {
    if (error instanceof RangeError) return ALIEN;
    throw error;
  }
}

/** The received part of the handshake message without record headers; undefined if these are not handshake records. */
function joinRecords(octets: Buffer): Buffer | undefined {
  const parts: Buffer[] = [];
  for (let at = 0; at < octets.length; ) {
    if (octets[at] !== HANDSHAKE) return undefined;
    if (at + 1 < octets.length && octets[at + 1] !== 3) return undefined;
    if (at + 5 > octets.length) break;
    const end = at + 5 + octets.readUInt16BE(at + 3);
    parts.push(octets.subarray(at + 5, end));
    at = end;
  }
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** Throws a RangeError for a truncated message. */
function serverNameOf(body: Buffer): string | undefined {
  let at = 34;
  at += 1 + body.readUInt8(at);
  at += 2 + body.readUInt16BE(at);
  at += 1 + body.readUInt8(at);
  if (at === body.length) return undefined;
  const end = at + 2 + body.readUInt16BE(at);
  at += 2;
  while (at + 4 <= end) {
    const type = body.readUInt16BE(at);
    const length = body.readUInt16BE(at + 2);
    if (type === SERVER_NAME) return hostNameOf(body.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return undefined;
}

function hostNameOf(list: Buffer): string | undefined {
  const end = 2 + list.readUInt16BE(0);
  for (let at = 2; at + 3 <= end; ) {
    const type = list.readUInt8(at);
    const length = list.readUInt16BE(at + 1);
    if (type === HOST_NAME) return list.toString('latin1', at + 3, at + 3 + length).toLowerCase();
    at += 3 + length;
  }
  return undefined;
}
