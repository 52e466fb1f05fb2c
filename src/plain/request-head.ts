/**
 * Reads the head of a plain request: GET or HEAD over HTTP/1.1, without a body, whole in the octets that have arrived. It
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
const VERSION = ' HTTP/1.1\r\n';
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
  const rawHeaders = readFieldLines(text, targetEnd + VERSION.length, ASCII_VALUE_OCTETS);
  const isLast = rawHeaders && readConnection(rawHeaders);
  if (!rawHeaders || isLast === undefined) return undefined;
  const url = text.slice(method.length + 1, targetEnd);
  return { method, url, httpVersion: '1.1', rawHeaders, isLast, length: end + END.length - from };
}

/** Whether the connection shall end; undefined if fields are not plain. */
function readConnection(headers: readonly string[]): boolean | undefined {
  let isLast = false;
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    if (LEFT_TO_NODE.has(name)) return undefined;
    if (name !== 'connection') continue;
    const wish = headers[i + 1]!.toLowerCase();
    if (wish !== 'close' && wish !== 'keep-alive') return undefined;
    isLast ||= wish === 'close';
  }
  return isLast;
}

/** The fields by name, as node:http gives them; undefined when one was sent more than once, or the host is not named. */
export function fieldsByName({ rawHeaders }: PlainHead): Record<string, string> | undefined {
  const fields: Record<string, string> = Object.create(null);
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (fields[name] !== undefined) return undefined;
    fields[name] = rawHeaders[i + 1]!;
  }
  return fields['host'] === undefined ? undefined : fields;
}
