/**
 * Reads plain requests: GET or HEAD over HTTP/1.1 without a body, and PUT with a small one of a known length, complete in the octets
 * received. It accepts only what is certain (RFC 9112 §3, §5 and §6.3); everything else belongs to the parser of Node, with all its
 * rules. Pure.
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

/** A PUT with its whole body. */
export interface PlainUpload extends Omit<PlainHead, 'method'> {
  readonly method: 'PUT';
  /** Valid until more is read from the connection; `length` includes it. */
  readonly body: Buffer;
}

/** Longer heads are seldom; the limits of Node's parser decide about them. */
const MOST_OCTETS = 8192;
/** Larger bodies take longer than Node's server does. */
const MOST_BODY = 16_384;
/** A length as it is usually sent. */
const LENGTH = /^(?:0|[1-9][0-9]{0,4})$/;

const END = Buffer.from('\r\n\r\n');
const GET = Buffer.from('GET ');
const HEAD = Buffer.from('HEAD ');
const PUT = Buffer.from('PUT ');
const VERSION = Buffer.from(' HTTP/1.1\r\n');
const SLASH = 47;
/** Octets of targets in origin form. A fragment is not part of them. */
const TARGET_OCTETS = octetsOf(/[!"$-~]/);

/**
 * Fields that say where the request ends or what becomes of the connection. `Connection` and `Content-Length` are read here if they are
 * plain.
 */
const LEFT_TO_NODE: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'upgrade',
  'expect',
  'trailer',
  'keep-alive',
  'proxy-connection',
  'http2-settings',
]);

/** What fields say about the end of the request and of the connection. */
interface Framing {
  readonly isLast: boolean;
  /** Undefined: they do not say that there is a body. */
  readonly bodyOctets: number | undefined;
}

/** The fields of a head, as sent and as parsed. */
interface Fields extends Framing {
  /** Includes the empty line at the end. */
  readonly octets: Buffer;
  readonly rawHeaders: readonly string[];
  isRepeated: boolean;
}

/** Longer fields are not kept, so they are parsed each time. */
const MOST_KEPT_OCTETS = 2048;

/** The fields that a client has sent last, over whichever of its connections: it often sends the same over all of them. */
export class FieldsOfClient {
  last: Fields | undefined;
}

/**
 * Reads the heads of one connection. Most clients repeat the same fields: if they equal the last ones, octet for octet, they are
 * not parsed again, and `rawHeaders` is the same list, now frozen.
 */
export class HeadReader {
  private last: Fields | undefined;
  /** Whether the last PUT that was not read lacks nothing but octets of its body. */
  lacksBody = false;

  constructor(private readonly ofClient?: FieldsOfClient) {}

  /** The request that begins at `from`; undefined if it is not plain or not complete. */
  read(octets: Buffer, from: number): PlainHead | undefined {
    const method = startsWith(octets, from, GET) ? 'GET' : startsWith(octets, from, HEAD) ? 'HEAD' : undefined;
    const head = method && this.readHead(octets, from, method);
    if (!head || head.fields.bodyOctets !== undefined) return undefined;
    const { url, length, fields } = head;
    const { rawHeaders, isLast } = fields;
    return { method: method!, url, httpVersion: '1.1', rawHeaders, isLast, length };
  }

  /** The same for a PUT with a body. */
  readUpload(octets: Buffer, from: number): PlainUpload | undefined {
    this.lacksBody = false;
    const head = startsWith(octets, from, PUT) ? this.readHead(octets, from, 'PUT') : undefined;
    if (!head) return undefined;
    const { url, fields } = head;
    const { rawHeaders, isLast, bodyOctets } = fields;
    if (bodyOctets === undefined || bodyOctets > MOST_BODY) return undefined;
    const length = head.length + bodyOctets;
    this.lacksBody = from + length > octets.length;
    if (this.lacksBody) return undefined;
    const body = octets.subarray(from + head.length, from + length);
    return { method: 'PUT', url, httpVersion: '1.1', rawHeaders, isLast, length, body };
  }

  /** Releases the memory of the last fields. */
  forget(): void {
    this.last = undefined;
  }

  private readHead(
    octets: Buffer,
    from: number,
    { length: ofMethod }: string,
  ): { readonly url: string; readonly length: number; readonly fields: Fields } | undefined {
    const targetStart = from + ofMethod + 1;
    const targetEnd = endOf(octets, targetStart, TARGET_OCTETS);
    if (octets[targetStart] !== SLASH || !startsWith(octets, targetEnd, VERSION)) return undefined;
    const start = targetEnd + VERSION.length;
    const fields = this.readFields(octets, start);
    if (!fields) return undefined;
    const length = start + fields.octets.length - from;
    if (length > MOST_OCTETS + END.length) return undefined;
    return { url: octets.toString('latin1', targetStart, targetEnd), length, fields };
  }

  private readFields(octets: Buffer, start: number): Fields | undefined {
    const last = this.last ?? this.ofClient?.last;
    // `last.octets` ends with its only empty line, so the fields cannot continue after a match.
    if (last && isNext(octets, start, last.octets)) {
      if (!last.isRepeated) Object.freeze(last.rawHeaders);
      last.isRepeated = true;
      this.last = last;
      return last;
    }
    // Starts at the CR LF of the request line, which the empty line follows if there are no fields.
    const end = octets.indexOf(END, start - 2);
    if (end < 0 || end - start > MOST_OCTETS) return undefined;
    const rawHeaders = readFieldLines(octets, start, end + 2, ASCII_VALUE_OCTETS);
    const framing = rawHeaders && readFraming(rawHeaders);
    if (!rawHeaders || !framing) return undefined;
    const sent = octets.subarray(start, end + END.length);
    const isKept = sent.length <= MOST_KEPT_OCTETS;
    const fields = { octets: isKept ? Buffer.from(sent) : sent, rawHeaders, ...framing, isRepeated: false };
    this.last = isKept ? fields : undefined;
    if (isKept && this.ofClient) this.ofClient.last = fields;
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

/** Undefined if fields are not plain. */
function readFraming(headers: readonly string[]): Framing | undefined {
  let isLast = false;
  let bodyOctets: number | undefined;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    if (LEFT_TO_NODE.has(name)) return undefined;
    if (name === 'content-length') {
      // Two lengths, even if they are the same, may be read in two ways (RFC 9112 §6.3).
      if (bodyOctets !== undefined || !LENGTH.test(value)) return undefined;
      bodyOctets = Number(value);
    } else if (name === 'connection') {
      const option = value.toLowerCase();
      if (option !== 'close' && option !== 'keep-alive') return undefined;
      isLast ||= option === 'close';
    }
  }
  return { isLast, bodyOctets };
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
export function fieldsByName({
  rawHeaders,
}: Pick<PlainHead, 'rawHeaders'>): Readonly<Record<string, string>> | undefined {
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
