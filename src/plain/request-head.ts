/**
 * Reads the heads of plain requests: GET or HEAD over HTTP/1.1, without a body, complete in the octets received. It
 * accepts only what is certain (RFC 9112 §3 and §5); everything else belongs to the parser of Node, with all its rules. Pure.
 */

import { ASCII_VALUE_OCTETS, endOf, octetsOf, readFieldLines } from './field-lines.js';

export interface PlainHead {
  readonly method: 'GET' | 'HEAD';
  /** The target in origin form (RFC 9112 §3.2.1). */
  readonly url: string;
  readonly httpVersion: '1.1';
  /** Alternating names, in lower case, and values without whitespace around them. */
  readonly rawHeaders: readonly string[];
  /** The client wants the connection to end after the response. */
  readonly isLast: boolean;
  /** Octets, with the empty line at its end. */
  readonly length: number;
}

/** Longer heads are seldom; the limits of Node's parser decide about them. */
const MOST_OCTETS = 8192;

const END = Buffer.from('\r\n\r\n');
const GET = Buffer.from('GET ');
const HEAD = Buffer.from('HEAD ');
const VERSION = Buffer.from(' HTTP/1.1\r\n');
const SLASH = 47;
/** Octets of targets in origin form. A fragment is not part of them. */
const TARGET_OCTETS = octetsOf(/[!"$-~]/);

/** Fields that say where the request ends or what becomes of the connection. `Connection` is read here if it is plain. */
const LEFT_TO_NODE: ReadonlySet<string> = new Set([
  'content-length',
  'transfer-encoding',
  'upgrade',
  'expect',
  'trailer',
  'keep-alive',
  'proxy-connection',
  'http2-settings',
]);

/** The fields of a head, as sent and as parsed. */
interface Fields {
  /** Includes the empty line at the end. */
  readonly octets: Buffer;
  readonly rawHeaders: readonly string[];
  readonly isLast: boolean;
  isRepeated: boolean;
}

/** Longer fields are not kept, so they are parsed each time. */
const MOST_KEPT_OCTETS = 2048;

/**
 * Reads the heads of one connection. Most clients repeat the same fields: if they equal the last ones, octet for octet, they are
 * not parsed again, and `rawHeaders` is the same list, now frozen.
 */
export class HeadReader {
  private last: Fields | undefined;

  /** The request that begins at `from`; undefined if it is not plain or not complete. */
  read(octets: Buffer, from: number): PlainHead | undefined {
    const method = startsWith(octets, from, GET) ? 'GET' : startsWith(octets, from, HEAD) ? 'HEAD' : undefined;
    if (method === undefined) return undefined;
    const targetStart = from + method.length + 1;
    const targetEnd = endOf(octets, targetStart, TARGET_OCTETS);
    if (octets[targetStart] !== SLASH || !startsWith(octets, targetEnd, VERSION)) return undefined;
    const start = targetEnd + VERSION.length;
    const fields = this.readFields(octets, start);
    if (!fields) return undefined;
    const length = start + fields.octets.length - from;
    if (length > MOST_OCTETS + END.length) return undefined;
    const url = octets.toString('latin1', targetStart, targetEnd);
    const { rawHeaders, isLast } = fields;
    return { method, url, httpVersion: '1.1', rawHeaders, isLast, length };
  }

  /** Releases the memory of the last fields. */
  forget(): void {
    this.last = undefined;
  }

  private readFields(octets: Buffer, start: number): Fields | undefined {
    const { last } = this;
    // `last.octets` ends with its only empty line, so the fields cannot continue after a match.
    if (last && isNext(octets, start, last.octets)) {
      if (!last.isRepeated) Object.freeze(last.rawHeaders);
      last.isRepeated = true;
      return last;
    }
    // Starts at the CR LF of the request line, which the empty line follows if there are no fields.
    const end = octets.indexOf(END, start - 2);
    if (end < 0 || end - start > MOST_OCTETS) return undefined;
    const rawHeaders = readFieldLines(octets, start, end + 2, ASCII_VALUE_OCTETS);
    const isLast = rawHeaders && readConnection(rawHeaders);
    if (!rawHeaders || isLast === undefined) return undefined;
    const sent = octets.subarray(start, end + END.length);
    const isKept = sent.length <= MOST_KEPT_OCTETS;
    const fields = { octets: isKept ? Buffer.from(sent) : sent, rawHeaders, isLast, isRepeated: false };
    this.last = isKept ? fields : undefined;
    return fields;
  }
}

/** For a few octets; {@link isNext} is for many. */
function startsWith(octets: Buffer, from: number, beginning: Buffer): boolean {
  if (from + beginning.length > octets.length) return false;
  for (let i = 0; i < beginning.length; i++) if (octets[from + i] !== beginning[i]) return false;
  return true;
}

/** For many octets; {@link startsWith} is for a few. */
function isNext(octets: Buffer, from: number, next: Buffer): boolean {
  const to = from + next.length;
  return to <= octets.length && octets.compare(next, 0, next.length, from, to) === 0;
}

/** Whether the connection shall end; undefined if fields are not plain. */
function readConnection(headers: readonly string[]): boolean | undefined {
  let isLast = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (LEFT_TO_NODE.has(name)) return undefined;
    if (name !== 'connection') continue;
    const option = headers[i + 1]!.toLowerCase();
    if (option !== 'close' && option !== 'keep-alive') return undefined;
    isLast ||= option === 'close';
  }
  return isLast;
}

/** Nothing is inherited by fields, and V8 knows their shapes. */
class ByName {
  readonly [name: string]: string;
}
Object.setPrototypeOf(ByName.prototype, null);
Reflect.deleteProperty(ByName.prototype, 'constructor');

/** Kept for frozen lists, which repeat. */
const named = new WeakMap<readonly string[], Record<string, string>>();

/** The fields by name, as node:http gives them; undefined when one was sent more than once, or the host is not named. */
export function fieldsByName({ rawHeaders }: PlainHead): Readonly<Record<string, string>> | undefined {
  if (!Object.isFrozen(rawHeaders)) return readByName(rawHeaders);
  const before = named.get(rawHeaders);
  if (before) return before;
  const fields = readByName(rawHeaders);
  if (fields) named.set(rawHeaders, fields);
  return fields;
}

function readByName(rawHeaders: readonly string[]): Record<string, string> | undefined {
  const fields: Record<string, string> = new ByName();
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (fields[name] !== undefined) return undefined;
    fields[name] = rawHeaders[i + 1]!;
  }
  return fields['host'] === undefined ? undefined : fields;
}
