/**
 * Reads the head of a plain request: GET or HEAD over HTTP/1.1, without a body, whole in the octets that have arrived. It accepts only
 * what is certain (RFC 9112 §3 and §5); everything else belongs to the parser of Node, with all its rules. Pure.
 */

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
const VERSION = ' HTTP/1.1\r\n';
const [CR, LF, COLON, SPACE, TAB] = [13, 10, 58, 32, 9];

/** Octets of field names (RFC 9110 §5.6.2). */
const NAME_OCTETS = octetsOf(/[!#$%&'*+.^_`|~0-9A-Za-z-]/);
/** Octets of values, without those above 127, which are obsolete (RFC 9110 §5.5). */
const VALUE_OCTETS = octetsOf(/[\t -~]/);
/** Octets of targets in origin form. A fragment is no part of them. */
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

/** The request that begins at `from`; undefined if it is not plain, or not complete. */
export function readPlainHead(octets: Buffer, from: number): PlainHead | undefined {
  const end = octets.indexOf(END, from);
  if (end < 0 || end - from > MOST_OCTETS) return undefined;
  const text = octets.toString('latin1', from, end + 2);
  const method = text.startsWith('GET /') ? 'GET' : text.startsWith('HEAD /') ? 'HEAD' : undefined;
  if (method === undefined) return undefined;
  const targetEnd = endOf(text, method.length + 1, TARGET_OCTETS);
  if (!text.startsWith(VERSION, targetEnd)) return undefined;
  const rawHeaders: string[] = [];
  const isLast = readFields(text, targetEnd + VERSION.length, rawHeaders);
  if (isLast === undefined) return undefined;
  const url = text.slice(method.length + 1, targetEnd);
  return { method, url, httpVersion: '1.1', rawHeaders, isLast, length: end + END.length - from };
}

/** Adds the fields to `list`, and returns whether the connection shall end; undefined for fields that are not plain. */
function readFields(text: string, from: number, list: string[]): boolean | undefined {
  let isLast = false;
  for (let at = from; at < text.length; ) {
    const nameEnd = endOf(text, at, NAME_OCTETS);
    if (nameEnd === at || text.charCodeAt(nameEnd) !== COLON) return undefined;
    const name = text.slice(at, nameEnd).toLowerCase();
    if (LEFT_TO_NODE.has(name)) return undefined;
    const lineEnd = endOf(text, nameEnd + 1, VALUE_OCTETS);
    if (text.charCodeAt(lineEnd) !== CR || text.charCodeAt(lineEnd + 1) !== LF) return undefined;
    const value = trimmed(text, nameEnd + 1, lineEnd);
    if (name === 'connection') {
      const wish = value.toLowerCase();
      if (wish !== 'close' && wish !== 'keep-alive') return undefined;
      isLast ||= wish === 'close';
    }
    list.push(name, value);
    at = lineEnd + 2;
  }
  return isLast;
}

function endOf(text: string, from: number, allowed: Uint8Array): number {
  let at = from;
  while (allowed[text.charCodeAt(at)] === 1) at++;
  return at;
}

/** Without spaces and tabs at both ends (RFC 9112 §5.1). */
function trimmed(text: string, from: number, to: number): string {
  let [start, end] = [from, to];
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(octet: number): boolean {
  return octet === SPACE || octet === TAB;
}

function octetsOf(pattern: RegExp): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, octet) => (pattern.test(String.fromCharCode(octet)) ? 1 : 0));
}
