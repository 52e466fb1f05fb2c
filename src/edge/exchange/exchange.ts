/**
 * A request on its way through the edge, and the receiver of its response. The way is: route → cache → origin → cache → client.
 * Each step is a {@link Stage}: it answers a request into a {@link ResponseSink}, itself or by passing it on to the next.
 */
import type { Readable } from 'node:stream';
import type { BucketRoute, OriginRoute } from '../../hostnames/routing/find-route.js';
import type { AcceptedCodings } from '../../http/content-coding.js';
import type { HeaderFields } from '../../http/fields.js';
import type { Failure } from '../error-pages/failures.js';

/** The target of OPTIONS for the server as a whole (RFC 9112 §3.2.4). */
export const ASTERISK = '*';

/** Alternating names (lower case) and values; a name may occur several times. */
export type HeaderList = readonly string[];

export interface EdgeRequest {
  /** Identifies the request in headers and logs. */
  readonly ray: string;
  readonly method: string;
  readonly scheme: 'http' | 'https';
  /** Lower case, without final dot and port. */
  readonly host: string;
  /** As the client wrote it, with its port. */
  readonly authority: string;
  /** Path and query. */
  readonly target: string;
  readonly httpVersion: '1.0' | '1.1' | '2.0';
  /** As the client sent them, without those that concern only its connection; `Accept-Encoding` in its normal form. */
  readonly headers: HeaderList;
  /** What its `Accept-Encoding` said; undefined: it had none, or its `Cache-Control` forbids that the edge encodes. */
  readonly accepted?: AcceptedCodings | undefined;
  /** The client's address. */
  readonly client: string;
  /** What counts as one client: its address, or the network of an IPv6 address. */
  readonly network: string;
  /** Undefined if the request has none. It can be read only once, so such a request is never repeated. */
  readonly body: Readable | undefined;
  /** Octets, if the client stated them. */
  readonly bodyLength: number | undefined;
  /** What a load balancer has chosen for it. */
  readonly chosen?: ChosenOrigin | undefined;
}

/** An origin that a load balancer has chosen for a request. */
export interface ChosenOrigin {
  readonly route: OriginRoute;
  /** What `Host` says; undefined: what the client wrote. */
  readonly authority: string | undefined;
  /** The request is under way at the origin, and then no more. */
  begin(): void;
  end(): void;
  /** Chooses another one, since this one cannot be connected to. */
  retry(): ChosenOrigin | undefined;
}

/** Controls an origin's response. Calls after its end have no effect. */
export interface ResponseFlow {
  /** False for a body that ends with its connection or stream, which may be incomplete (RFC 9112 §8). */
  readonly showsItsEnd: boolean;
  pause(): void;
  resume(): void;
  /** Ends the response early. The sink receives no further calls. */
  abort(): void;
}

/** Receives a response: interim responses, head, data, end; or a failure at any time, which is the last call. */
export interface ResponseSink {
  /** Responses of the 1xx class, which precede the final one (RFC 9110 §15.2). */
  onInformation(status: number, headers: HeaderList): void;
  onHead(status: number, headers: HeaderList, flow: ResponseFlow): void;
  /** Calls `pause` of the flow when it cannot take more yet. */
  onData(chunk: Buffer): void;
  onEnd(trailers: HeaderList): void;
  onFailure(failure: Failure): void;
}

/** A request as it is sent to an origin. */
export interface OriginRequest {
  readonly method: string;
  readonly target: string;
  /** With `host`; without fields that concern only the connection. Frozen if further requests have the same list. */
  readonly headers: HeaderList;
  /** Further fields, for this request alone. */
  readonly more: HeaderList;
  readonly body: Readable | undefined;
}

/** What an origin's connection tells about the response, up to its end or an error. Fields are as the origin sent them. */
export interface OriginEvents {
  onInformation(status: number, headers: HeaderList): void;
  /** `showsItsEnd`: as in {@link ResponseFlow}. */
  onHead(status: number, headers: HeaderList, showsItsEnd: boolean): void;
  onData(chunk: Buffer): void;
  onEnd(trailers: HeaderList): void;
  onError(error: Error): void;
}

/** Controls a response of an origin. After `abort` it tells nothing more. */
export interface OriginControl {
  pause(): void;
  resume(): void;
  abort(): void;
}

/** A route to something that answers. */
export type ServedRoute = OriginRoute | BucketRoute;

/** Answers a request. Call the returned function when the client has disconnected. */
export type Stage<Served extends ServedRoute = ServedRoute> = (
  request: EdgeRequest,
  route: Served,
  sink: ResponseSink,
) => () => void;

/** Cached for frozen field lists, which repeat. */
const known = new WeakMap<HeaderList, HeaderFields>();

/** Header fields by name, as the functions of http/ expect them. */
export function headerFields(headers: HeaderList): HeaderFields {
  const before = known.get(headers);
  if (before) return before;
  const fields: Record<string, string | string[]> = Object.create(null);
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i]!;
    const value = headers[i + 1]!;
    const earlier = fields[name];
    if (earlier === undefined) fields[name] = value;
    else if (typeof earlier === 'string') fields[name] = [earlier, value];
    else earlier.push(value);
  }
  if (Object.isFrozen(headers)) known.set(headers, fields);
  return fields;
}

/** The first value of a field in a list; `name` in lower case. */
export function firstValue(headers: HeaderList, name: string): string | undefined {
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1];
  return undefined;
}

/** Statuses of responses that have no body, whatever their fields say (RFC 9112 §6.3). */
export const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 304]);

/** The reverse of {@link headerFields}. */
export function headerList(fields: HeaderFields): string[] {
  const list: string[] = [];
  for (const name in fields) {
    const value = fields[name];
    if (typeof value === 'string') list.push(name, value);
    else if (value !== undefined) for (const line of value) list.push(name, line);
  }
  return list;
}
