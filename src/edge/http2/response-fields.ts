/** What a block of fields of an origin over HTTP/2 says: a response, or trailers (RFC 9113 §8). Pure. */

/** The response breaks the rules: its stream ends. */
export class MalformedResponse extends Error {}

/** Fields of one connection, which HTTP/2 does not have (RFC 9113 §8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/;
const STATUS = /^[1-9]\d\d$/;

export interface ResponseFields {
  /** Undefined in trailers. */
  readonly status: number | undefined;
  readonly fields: readonly string[];
}

/** `list`: names and values in turn. Throws a {@link MalformedResponse}. */
export function readResponseFields(list: readonly string[], isTrailers: boolean): ResponseFields {
  const hasStatus = list[0] === ':status';
  if (hasStatus === isTrailers) throw new MalformedResponse(isTrailers ? 'trailers with a status' : 'no status');
  if (hasStatus && !STATUS.test(list[1]!)) throw new MalformedResponse(`the status ${list[1]}`);
  const fields = hasStatus ? list.slice(2) : list;
  for (let i = 0; i < fields.length; i += 2) {
    const name = fields[i]!;
    if (!NAME.test(name)) throw new MalformedResponse('a name of a field that is none');
    if (OF_CONNECTIONS.has(name)) throw new MalformedResponse(`the field ${name}`);
    if (!VALUE.test(fields[i + 1]!)) throw new MalformedResponse(`the value of ${name}`);
  }
  return { status: hasStatus ? Number(list[1]) : undefined, fields };
}

/** Octets that the response must have; undefined if it does not say. Throws a {@link MalformedResponse}. */
export function lengthOf(fields: readonly string[]): number | undefined {
  let length: string | undefined;
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] !== 'content-length') continue;
    const value = fields[i + 1]!;
    if (!/^\d{1,15}$/.test(value) || (length !== undefined && length !== value)) {
      throw new MalformedResponse('Content-Length');
    }
    length = value;
  }
  return length === undefined ? undefined : Number(length);
}
