/** Turns a client's request into the form that the edge works with; refuses ambiguous ones (RFC 9112 §3.2, RFC 9113 §8.3). */
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import {
  type AcceptedCodings,
  acceptedCodings,
  forbidsTransforming,
  normalAcceptEncoding,
} from '../../http/content-coding.js';
import type { PlainHead } from '../../plain/request-head.js';
import { type Failure, failureOf } from '../error-pages/failures.js';
import { type BodyDeadline, limitedBody, type SentBody } from '../exchange/body.js';
import { ASTERISK, type EdgeRequest, type HeaderList } from '../exchange/exchange.js';
import { framingOf, valuesOf } from '../http1/framing.js';
import type { RequestFields } from '../http2/request-fields.js';
import { endToEndHeaders } from '../proxy/headers.js';

/** What all requests of a connection have in common. */
export interface LineFacts {
  readonly scheme: 'http' | 'https';
  /** The client's address, and what counts as one client. */
  readonly client: string;
  readonly network: string;
}

export interface RequestFacts extends LineFacts {
  readonly ray: string;
  /** The largest body, octets. */
  readonly bodyLimit: number;
  /** For HTTP/2; the server for HTTP/1.1 has its own. */
  readonly bodyDeadline?: BodyDeadline | undefined;
}

export type ReadRequest = EdgeRequest | { readonly failure: Failure; readonly host: string; readonly accept?: string };

const LONGEST_TARGET = 8192;
const MOST_FIELDS = 100;
/** Characters of host names, including underscores, and addresses in brackets. */
const AUTHORITY = /^([a-z0-9_](?:[a-z0-9_.-]{0,253})?|\[[0-9a-f:.]{2,45}\])(?::(\d{0,5}))?$/i;

export function readHttp1(message: IncomingMessage, facts: RequestFacts): ReadRequest {
  const { method = '', url: target = '', httpVersion } = message;
  const headers = lowerNames(message.rawHeaders);
  const place = placeOf(target, headers);
  if ('failure' in place) return place;
  // The parser lets 2.0 pass, which HTTP/1.1 connections never carry (RFC 9110 §2.5).
  if (!httpVersion.startsWith('1.')) {
    return refusal(failureOf('badVersion', `version ${httpVersion}`), place.authority, headers);
  }
  const framing = framingFault(headers, httpVersion);
  if (framing) return refusal(framing, place.authority, headers);
  const length = contentLengthOf(headers);
  const hasBody = length === undefined ? valuesOf(headers, 'transfer-encoding').length > 0 : length > 0;
  const openBody = (): Readable => limitedBody(message, facts);
  const version = httpVersion === '1.0' ? '1.0' : '1.1';
  const parts = { ...place, method, httpVersion: version, headers: withoutLength(headers), length } as const;
  return finish(parts, facts, hasBody ? openBody : undefined);
}

/** What follows from the fields of a plain request alone, not from its target. */
interface PlainFields {
  readonly directed: Directed | Refusal;
  /** Frozen if the fields repeat. */
  readonly headers: HeaderList;
  readonly accepted: AcceptedCodings | undefined;
}

function plainFields(rawHeaders: HeaderList): PlainFields {
  const headers = endToEndHeaders(rawHeaders);
  const accepted = negotiate(headers);
  const isFrozen = Object.isFrozen(rawHeaders);
  return { directed: hostOf(rawHeaders), headers: isFrozen ? Object.freeze(headers) : headers, accepted };
}

/** Cached for frozen field lists, which repeat: several connections of a client may have the same. */
const knownOfPlain = new WeakMap<HeaderList, PlainFields>();

/** Reads the plain requests of one connection, which have none of the fields that say where a body ends. */
export class PlainReader {
  /** Of the last request, whose fields repeat. */
  private rawHeaders: HeaderList | undefined;
  private fields: PlainFields | undefined;

  constructor(private readonly line: LineFacts) {}

  read({ method, url, httpVersion, rawHeaders }: PlainHead, ray: string): ReadRequest {
    const { directed, headers, accepted } = this.fieldsOf(rawHeaders);
    if ('failure' in directed) return directed;
    const { scheme, client, network } = this.line;
    const { host, authority } = directed;
    // A copy of properties would take longer than everything before.
    return {
      ray,
      method,
      scheme,
      host,
      authority,
      // In origin form, with nothing that no target may hold, and shorter than the longest one: the reader of heads has seen to that.
      target: url,
      httpVersion,
      headers,
      accepted,
      client,
      network,
      body: undefined,
      bodyLength: undefined,
    };
  }

  /** Releases the memory of the last fields. */
  forget(): void {
    this.rawHeaders = undefined;
    this.fields = undefined;
  }

  private fieldsOf(rawHeaders: HeaderList): PlainFields {
    if (this.fields && this.rawHeaders === rawHeaders) return this.fields;
    // A list that may change is of one request.
    if (!Object.isFrozen(rawHeaders)) return plainFields(rawHeaders);
    const fields = knownOfPlain.get(rawHeaders) ?? plainFields(rawHeaders);
    knownOfPlain.set(rawHeaders, fields);
    this.rawHeaders = rawHeaders;
    this.fields = fields;
    return fields;
  }
}

type Refusal = Extract<ReadRequest, { readonly failure: Failure }>;
type Directed = Pick<Parts, 'host' | 'authority'>;

/** Where a request of HTTP/1.1 leads. */
function placeOf(target: string, headers: HeaderList): Pick<Parts, 'host' | 'path' | 'authority'> | Refusal {
  const directed = hostOf(headers);
  if ('failure' in directed) return directed;
  const path = pathOf(target, directed.authority);
  return typeof path === 'string' ? { ...directed, path } : refusal(path, directed.authority, headers);
}

/** The host to which the fields of an HTTP/1.1 request direct it. */
function hostOf(headers: HeaderList): Directed | Refusal {
  const [authority, ...others] = valuesOf(headers, 'host');
  const refuse = (failure: Failure) => refusal(failure, authority, headers);
  if (headers.length > 2 * MOST_FIELDS) return refuse(failureOf('headersTooLarge', 'too many fields'));
  if (authority === undefined || others.length > 0) {
    return refuse(failureOf('badRequest', 'exactly one Host field is needed'));
  }
  const host = parseAuthority(authority);
  return host === undefined
    ? refuse(failureOf('badRequest', 'the Host field is not a valid host'))
    : { host, authority };
}

/** What follows from the fields of a request over HTTP/2 alone, not from its target. */
interface Http2Fields {
  readonly hosts: readonly string[];
  /** Frozen if the fields repeat. */
  readonly headers: HeaderList;
  readonly accepted: AcceptedCodings | undefined;
}

/** Cached for frozen field lists, which repeat, as long as their connection keeps them. */
const knownOfHttp2 = new WeakMap<HeaderList, Http2Fields>();

function http2FieldsOf(fields: HeaderList): Http2Fields {
  const before = knownOfHttp2.get(fields);
  if (before) return before;
  const isFrozen = Object.isFrozen(fields);
  const headers = endToEndHeaders(withoutLength(joinedCookies(fields)));
  const accepted = negotiate(headers);
  const read = { hosts: valuesOf(fields, 'host'), headers: isFrozen ? Object.freeze(headers) : headers, accepted };
  if (isFrozen) knownOfHttp2.set(fields, read);
  return read;
}

/** `body`: undefined if the request has none. */
export function readHttp2(asked: RequestFields, facts: RequestFacts, body: SentBody | undefined): ReadRequest {
  const { fields, scheme, length } = asked;
  const { hosts, headers, accepted } = http2FieldsOf(fields);
  const authority = asked.authority ?? hosts[0];
  const refuse = (failure: Failure) => refusal(failure, authority, fields);
  if (fields.length > 2 * MOST_FIELDS) return refuse(failureOf('headersTooLarge', 'too many fields'));
  if (authority === undefined || hosts.some((host) => host.toLowerCase() !== authority.toLowerCase())) {
    return refuse(failureOf('badRequest', ':authority and host differ'));
  }
  const host = parseAuthority(authority);
  if (host === undefined) return refuse(failureOf('badRequest', ':authority is not a host'));
  if (scheme !== facts.scheme) return refuse(failureOf('badRequest', 'another scheme'));
  const path = pathOf(asked.path ?? '', authority);
  if (typeof path !== 'string') return refuse(path);
  // An extended CONNECT opens a WebSocket, as GET does in HTTP/1.1. The octets that follow are not a body (RFC 8441 §5).
  const isTunnel = asked.protocol !== undefined;
  const method = isTunnel ? 'GET' : asked.method;
  const fault = targetFault(method, path);
  if (fault) return refuse(fault);
  if (length !== undefined && length > facts.bodyLimit) return refuse(failureOf('tooLarge', `${length} octets`));
  const { ray, client, network } = facts;
  return {
    ...{ ray, method, scheme, host, authority, target: path, httpVersion: '2.0', headers, accepted, client, network },
    body: body && !isTunnel ? limitedBody(body, facts) : undefined,
    bodyLength: body && !isTunnel ? length : undefined,
  };
}

/** HTTP/2 may divide cookies into several fields; elsewhere there is one (RFC 9113 §8.2.3). */
function joinedCookies(headers: readonly string[]): readonly string[] {
  const cookies = valuesOf(headers, 'cookie');
  if (cookies.length < 2) return headers;
  return [...headers.filter((_, i) => headers[i - (i % 2)] !== 'cookie'), 'cookie', cookies.join('; ')];
}

interface Parts {
  readonly method: string;
  readonly path: string;
  readonly host: string;
  readonly authority: string;
  readonly httpVersion: EdgeRequest['httpVersion'];
  /** Without Content-Length. */
  readonly headers: readonly string[];
  readonly length: number | undefined;
}

/** `openBody`: undefined if the request has no body. */
function finish(parts: Parts, facts: RequestFacts, openBody: (() => Readable) | undefined): ReadRequest {
  const { method, path, host, authority, httpVersion, headers, length } = parts;
  const { bodyLimit, scheme, client, network, ray } = facts;
  const refuse = (failure: Failure) => refusal(failure, authority, headers);
  const fault = targetFault(method, path);
  if (fault) return refuse(fault);
  if (length !== undefined && length > bodyLimit) return refuse(failureOf('tooLarge', `${length} octets`));
  const forwarded = endToEndHeaders(headers);
  return {
    ...{ ray, method, scheme, host, authority, client, network },
    target: path,
    httpVersion,
    accepted: negotiate(forwarded),
    headers: forwarded,
    body: openBody?.(),
    bodyLength: openBody && length,
  };
}

/** Puts `Accept-Encoding` into its normal form, and gives what it said; undefined if there is none, or the edge is to encode nothing. */
function negotiate(headers: string[]): AcceptedCodings | undefined {
  const [first, ...others] = valuesOf(headers, 'accept-encoding');
  if (first === undefined) return undefined;
  const accepted = acceptedCodings(others.length === 0 ? first : [first, ...others].join(','));
  let at = headers.length;
  for (let i = headers.length - 2; i >= 0; i -= 2) {
    if (headers[i] !== 'accept-encoding') continue;
    if (at < headers.length) headers.splice(at, 2);
    at = i;
  }
  headers[at + 1] = normalAcceptEncoding(accepted);
  return valuesOf(headers, 'cache-control').some(forbidsTransforming) ? undefined : accepted;
}

function targetFault(method: string, path: string): Failure | undefined {
  if (method === 'CONNECT' || method === 'TRACE') return failureOf('notAllowed', method);
  if (path === ASTERISK && method !== 'OPTIONS') return failureOf('badRequest', 'the target is not a path');
  return path.length > LONGEST_TARGET ? failureOf('longTarget') : undefined;
}

function refusal(failure: Failure, host: string | undefined, headers: readonly string[]): Refusal {
  const accept = valuesOf(headers, 'accept')[0];
  return { failure, host: (host ?? '').slice(0, 255), ...(accept !== undefined && { accept }) };
}

/** The host without port and final dot, lower case; undefined for an invalid host. */
function parseAuthority(authority: string): string | undefined {
  const match = AUTHORITY.exec(authority);
  if (!match || Number(match[2] ?? 0) > 65535) return undefined;
  return match[1]!.toLowerCase().replace(/\.$/, '');
}

/** Path and query. The host of a target in absolute form must equal the Host field; otherwise the request is ambiguous. */
function pathOf(target: string, authority: string): string | Failure {
  if (/[#\0-\x20\x7f]/.test(target)) return failureOf('badRequest', 'the target holds what no target may');
  if (target.startsWith('/') || target === ASTERISK) return target;
  const absolute = /^https?:\/\/([^/?]+)([/?].*)?$/i.exec(target);
  if (!absolute) return failureOf('badRequest', 'the target is not a path');
  if (absolute[1]!.toLowerCase() !== authority.toLowerCase()) {
    return failureOf('badRequest', 'the target and the Host field differ');
  }
  const rest = absolute[2] ?? '/';
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/**
 * Node's parser refuses most bad framing. HTTP/1.0 has no chunks (RFC 9112 §6.1). Another coding may hide where the body ends,
 * so the request is refused as ambiguous and its connection ends.
 */
function framingFault(headers: readonly string[], version: string): Failure | undefined {
  const framing = framingOf(headers);
  switch (framing) {
    case 'none':
    case 'length':
      return undefined;
    case 'malformed':
      return failureOf('badRequest', 'Content-Length is not a single number');
    case 'both':
      return failureOf('badRequest', 'Transfer-Encoding where it may not stand');
    default:
      if (version === '1.0') return failureOf('badRequest', 'Transfer-Encoding where it may not stand');
      if (framing === 'chunked') return undefined;
      return failureOf('badRequest', `the coding ${valuesOf(headers, 'transfer-encoding').join()}`);
  }
}

function contentLengthOf(headers: readonly string[]): number | undefined {
  const [value] = valuesOf(headers, 'content-length');
  return value === undefined ? undefined : Number(value);
}

/** Removes Content-Length; the length is passed separately. */
function withoutLength(headers: readonly string[]): string[] {
  return headers.filter((_, i) => headers[i - (i % 2)] !== 'content-length');
}

function lowerNames(raw: readonly string[]): string[] {
  return raw.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text));
}
