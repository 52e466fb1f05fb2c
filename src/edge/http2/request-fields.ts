/** What a block of fields of a client says: a request, or trailers (RFC 9113 §8). Pure. */
import type { HeaderList } from '../exchange/exchange.js';
import { CODE } from './frames.js';

/** The request breaks the rules: its stream ends. */
export class MalformedRequest extends Error {
  constructor(
    message: string,
    readonly http2Code: number = CODE.protocol,
  ) {
    super(message);
  }
}

export interface RequestFields {
  readonly method: string;
  /** Undefined for a CONNECT that opens a tunnel. */
  readonly scheme: string | undefined;
  readonly path: string | undefined;
  readonly authority: string | undefined;
  /** Of an extended CONNECT (RFC 8441). */
  readonly protocol: string | undefined;
  /** The other fields; frozen if they are those of the request before. */
  readonly fields: HeaderList;
  /** What Content-Length says. */
  readonly length: number | undefined;
}

const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;
const VALUE = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/;
const LENGTH = /^\d{1,15}$/;

/** Fields of one connection, which HTTP/2 does not have (RFC 9113 §8.2.2). */
const OF_CONNECTIONS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** What the pseudo-header fields may be (RFC 9113 §8.3.1, RFC 8441 §4). */
const PSEUDO: Readonly<Record<string, RegExp>> = {
  ':method': /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/,
  ':scheme': /^[A-Za-z][A-Za-z0-9+.-]*$/,
  ':authority': /^[!-~\x80-\xff]+$/,
  ':path': /^[!-~\x80-\xff]+$/,
  ':protocol': /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/,
};

/** Reads the blocks of one connection, most of which say the same as the one before but for their path. */
export class RequestReader {
  private list: readonly string[] = [];
  private pathAt = -1;
  private last: RequestFields | undefined;

  /** `list`: names and values in turn. Throws a {@link MalformedRequest}. */
  read(list: readonly string[]): RequestFields {
    const { last } = this;
    if (last && this.isLikeLast(list)) {
      Object.freeze(last.fields);
      const path = list[this.pathAt]!;
      if (path === last.path) return last;
      checkPath(path, last);
      return { ...last, path };
    }
    const request = readRequest(list);
    this.list = list;
    this.pathAt = pathIn(list);
    this.last = request.path === undefined ? undefined : request;
    return request;
  }

  /** Releases the memory of the last fields. */
  forget(): void {
    this.list = [];
    this.last = undefined;
  }

  private isLikeLast(list: readonly string[]): boolean {
    const before = this.list;
    if (list.length !== before.length) return false;
    for (let i = 0; i < list.length; i++) if (list[i] !== before[i] && i !== this.pathAt) return false;
    return true;
  }
}

/** Where the value stands; -1 if there is none. */
function pathIn(list: readonly string[]): number {
  for (let i = 0; i < list.length; i += 2) if (list[i] === ':path') return i + 1;
  return -1;
}

function readRequest(list: readonly string[]): RequestFields {
  const pseudo: Record<string, string> = {};
  let at = 0;
  for (; at < list.length && list[at]!.startsWith(':'); at += 2) {
    const name = list[at]!;
    if (!Object.hasOwn(PSEUDO, name) || Object.hasOwn(pseudo, name) || !PSEUDO[name]!.test(list[at + 1]!)) {
      throw new MalformedRequest(`the field ${name}`);
    }
    pseudo[name] = list[at + 1]!;
  }
  const fields = readFields(list, at);
  const {
    ':method': method,
    ':scheme': scheme,
    ':path': path,
    ':authority': authority,
    ':protocol': protocol,
  } = pseudo;
  if (method === undefined) throw new MalformedRequest('no method');
  checkPlace({ method, scheme, path, protocol, authority: authority ?? valueIn(fields, 'host') });
  return { method, scheme, path, authority, protocol, fields, length: lengthIn(fields) };
}

/** Where a request leads (RFC 9113 §8.3.1 and §8.5). */
function checkPlace(request: Omit<RequestFields, 'fields' | 'length'>): void {
  const { method, scheme, path, authority, protocol } = request;
  const isConnect = method === 'CONNECT';
  if (authority === undefined) throw new MalformedRequest('no authority');
  if (protocol !== undefined && !isConnect) throw new MalformedRequest('a protocol without CONNECT');
  if (isConnect && protocol === undefined) {
    if (scheme !== undefined || path !== undefined) throw new MalformedRequest('CONNECT with a path');
    return;
  }
  if (scheme === undefined || path === undefined) throw new MalformedRequest('no scheme or no path');
  checkPath(path, { method, scheme });
}

function checkPath(path: string, { method, scheme }: Pick<RequestFields, 'method' | 'scheme'>): void {
  if (!PSEUDO[':path']!.test(path)) throw new MalformedRequest('the path');
  const isHttp = scheme === 'https' || scheme === 'http';
  if (isHttp && !path.startsWith('/') && !(path === '*' && method === 'OPTIONS'))
    throw new MalformedRequest('the path');
}

/** Throws a {@link MalformedRequest}. Trailers reach nobody. */
export function checkTrailers(list: readonly string[]): void {
  readFields(list, 0);
}

/** A field that no field may be makes the request malformed (RFC 9113 §8.2.1). */
function readFields(list: readonly string[], from: number): string[] {
  const fields: string[] = [];
  for (let i = from; i < list.length; i += 2) {
    const name = list[i]!;
    const value = list[i + 1]!;
    if (name.startsWith(':')) throw new MalformedRequest(`the field ${name} behind others`);
    if (!NAME.test(name)) throw new MalformedRequest('the name of a field');
    if (!VALUE.test(value)) throw new MalformedRequest(`the value of ${name}`);
    if (OF_CONNECTIONS.has(name)) throw new MalformedRequest(`the field ${name}`);
    if (name === 'te' && value.toLowerCase() !== 'trailers') throw new MalformedRequest('the field te');
    fields.push(name, value);
  }
  return fields;
}

function valueIn(fields: readonly string[], name: string): string | undefined {
  for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) return fields[i + 1];
  return undefined;
}

function lengthIn(fields: readonly string[]): number | undefined {
  let length: number | undefined;
  for (let i = 0; i < fields.length; i += 2) {
    if (fields[i] !== 'content-length') continue;
    if (length !== undefined || !LENGTH.test(fields[i + 1]!)) throw new MalformedRequest('Content-Length');
    length = Number(fields[i + 1]);
  }
  return length;
}
