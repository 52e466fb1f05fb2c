/** A request of an S3 client whose signature has been verified, and how it is answered. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.js';
import type { CidrSet } from '../base/ip.js';
import type { Logger } from '../base/log.js';
import type { BucketMetrics } from '../bucket/application-metrics.js';
import type { UploadingStore } from '../bucket/uploads/uploads.js';
import type { ContextBase } from '../control/kernel/context.js';
import type { Caller } from './caller.js';
import type { Signed } from './signature/verify.js';
import type { Target } from './target.js';

/** Header fields by lower-case name; in presigned links, parameters of the query count as such, too. */
export type Fields = Readonly<Record<string, string | string[] | undefined>>;

export interface DoorOptions {
  readonly base: ContextBase;
  readonly objects: UploadingStore;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: BucketMetrics;
  /** Proxies whose statement about the client is trusted. */
  readonly trustedProxies: CidrSet;
  /** The name below which buckets are hosts; undefined: only paths name them. */
  readonly domain: string | undefined;
  /** The largest object in octets. */
  readonly limit: number;
  /** Whether bodies that nothing signs are accepted over connections that others can change. */
  readonly acceptsUnsigned: boolean;
  /** In a cluster: applies what other nodes have acknowledged before this call, if PostgreSQL answers. */
  readonly refresh?: () => Promise<void>;
}

export interface S3Request {
  readonly options: DoorOptions;
  readonly raw: IncomingMessage;
  readonly response: ServerResponse;
  readonly id: string;
  readonly target: Target;
  readonly headers: Fields;
  readonly signed: Signed;
  readonly caller: Caller;
}

/** A field that was sent once. */
export function fieldOf(headers: Fields, name: string): string | undefined {
  const value = headers[name];
  return value === undefined ? undefined : String(value);
}

const XML = { 'content-type': 'application/xml' };

export function sendXml({ response }: S3Request, document: Buffer, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(200, { ...XML, ...headers, 'content-length': document.length });
  response.end(document);
}

export function sendEmpty({ response }: S3Request, status: 200 | 204, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(status, status === 204 ? headers : { ...headers, 'content-length': 0 });
  response.end();
}
