/**
 * The stage that answers with objects of a bucket: read only, to anybody. It stands behind the cache like an origin. What the
 * cache does not store, such as refusals, says so itself.
 */
import type { Readable } from 'node:stream';
import { AppError } from '../../base/errors.js';
import type { Random } from '../../base/random.js';
import { objectHeaders } from '../../bucket/metadata.js';
import { makeMultipart } from '../../bucket/multipart.js';
import type { ObjectItem, ObjectStore, OpenObject, SmallObject } from '../../bucket/object-store.js';
import { openHeld } from '../../bucket/open-object.js';
import type { BucketRoute } from '../../hostnames/routing/find-route.js';
import { fieldValue, type HeaderFields } from '../../http/fields.js';
import { notModifiedHeaders, type Selection, type SelectionHeaders, selectParts } from '../../http/selection.js';
import { failureOf } from '../error-pages/failures.js';
import {
  type EdgeRequest,
  type HeaderList,
  headerFields,
  type ResponseFlow,
  type ResponseSink,
  type Stage,
} from '../exchange/exchange.js';
import { keyOfTarget } from './object-key.js';

/** Where small objects are found. */
export type SmallObjects = Pick<ObjectStore, 'findSmall'>;

export interface BucketStageOptions {
  /** Only read from. */
  readonly objects: Pick<ObjectStore, 'open' | 'findSmall'>;
  readonly random: Random;
  /** Called with errors that are bugs in the program or faults of the disk. */
  readonly onFault: (error: unknown) => void;
}

export function createBucketStage({ objects, random, onFault }: BucketStageOptions): Stage<BucketRoute> {
  return (request, route, sink) => {
    const sending = new Sending(sink, request.method === 'HEAD', onFault);
    request.body?.resume();
    try {
      const small = findSmall(objects, request, route);
      if (small) answer(sending, request, openHeld(small), random);
      else {
        openObject(objects, request, route).then(
          (found) => answer(sending, request, found, random),
          (error: unknown) => sending.fail(error),
        );
      }
    } catch (error) {
      sending.fail(error);
    }
    return () => sending.abort();
  };
}

/** A problem that is not an error: the status of a plain answer. */
type Refusal = 404 | 405 | 412 | 416;

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** A small object, and the frozen fields of a response with it, if the request is answered with the whole of it. */
export function findWhole(
  objects: SmallObjects,
  request: EdgeRequest,
  route: BucketRoute,
): { readonly headers: HeaderList; readonly octets: Uint8Array } | undefined {
  const small = findSmall(objects, request, route);
  if (!small) return undefined;
  const { status, ranges } = selectionOf(request, small.item);
  return status === 200 && ranges.length === 0
    ? { headers: wholeHeaders(small.item), octets: small.octets }
    : undefined;
}

function findSmall(
  objects: SmallObjects,
  { method, target }: EdgeRequest,
  { bucket }: BucketRoute,
): SmallObject | undefined {
  const key = METHODS.has(method) ? keyOfTarget(target) : undefined;
  return key === undefined ? undefined : objects.findSmall(bucket.seq, key);
}

async function openObject(
  objects: BucketStageOptions['objects'],
  { method, target, client }: EdgeRequest,
  { bucket }: BucketRoute,
): Promise<OpenObject | Refusal> {
  if (!METHODS.has(method)) return 405;
  const key = keyOfTarget(target);
  return (key === undefined ? undefined : await objects.open(bucket.seq, key, client)) ?? 404;
}

function answer(sending: Sending, request: EdgeRequest, found: OpenObject | Refusal, random: Random): void {
  if (typeof found === 'number') {
    sending.refuse(found);
    return;
  }
  const { item } = found;
  const { status, ranges } = selectionOf(request, item);
  if (status === 412 || status === 416) {
    void found.close();
    sending.refuse(status, status === 416 ? { 'content-range': `bytes */${item.size}` } : {});
    return;
  }
  if (status === 304 || request.method === 'HEAD') {
    void found.close();
    sending.send(status, status === 304 ? listOf(notModifiedHeaders(objectHeaders(item))) : wholeHeaders(item));
    return;
  }
  const [range, ...others] = ranges;
  if (!range) {
    sending.send(200, wholeHeaders(item), found, found.octets ?? found.read());
    return;
  }
  const all = objectHeaders(item);
  if (others.length === 0) {
    const { first, last } = range;
    const part = { 'content-range': `bytes ${first}-${last}/${item.size}`, 'content-length': `${last - first + 1}` };
    const octets = found.octets?.subarray(first, last + 1);
    sending.send(206, listOf({ ...all, ...part }), found, octets ?? found.read(first, last));
  } else {
    const boundary = Buffer.from(random.bytes(16)).toString('hex');
    const { contentType, length, body } = makeMultipart(found, ranges, all['content-type']!, boundary);
    const own = { 'content-type': contentType, 'content-length': `${length}` };
    sending.send(206, listOf({ ...all, ...own }), found, body);
  }
}

function selectionOf({ method, headers }: EdgeRequest, item: ObjectItem): Selection {
  return selectParts(method, selectionFields(headerFields(headers)), item);
}

/** Cached for objects held in memory, which are requested repeatedly. */
const known = new WeakMap<ObjectItem, HeaderList>();

/** The fields of a response with the whole object. */
function wholeHeaders(item: ObjectItem): HeaderList {
  let headers = known.get(item);
  if (!headers) {
    headers = Object.freeze(listOf({ ...objectHeaders(item), 'content-length': `${item.size}` }));
    known.set(item, headers);
  }
  return headers;
}

function listOf(fields: Readonly<Record<string, string>>): string[] {
  return Object.entries(fields).flat();
}

const SELECTING = [
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'range',
  'if-range',
] as const;

function selectionFields(fields: HeaderFields): SelectionHeaders {
  const selecting: Record<string, string | undefined> = {};
  for (const name of SELECTING) if (fields[name] !== undefined) selecting[name] = fieldValue(fields, name);
  return selecting;
}

const TEXTS: Readonly<Record<Refusal, string>> = {
  404: 'Object Not Found',
  405: 'Method Not Allowed',
  412: 'Precondition Failed',
  416: 'Range Not Satisfiable',
};

/** Sends one response, as fast as its reader takes it. The object is closed however it ends. */
class Sending implements ResponseFlow {
  readonly showsItsEnd = true;
  private isOver = false;
  private found: OpenObject | undefined;
  private body: Readable | undefined;

  constructor(
    private readonly sink: ResponseSink,
    private readonly isHead: boolean,
    private readonly onFault: (error: unknown) => void,
  ) {}

  send(status: number, headers: HeaderList, found?: OpenObject, body?: Readable | Uint8Array): void {
    if (this.isOver) {
      void found?.close();
      return;
    }
    this.found = found;
    if (!body || body instanceof Uint8Array) {
      this.sink.onHead(status, headers, this);
      if (body && !this.isOver) this.sink.onData(Buffer.from(body.buffer, body.byteOffset, body.byteLength));
      this.end();
      return;
    }
    this.body = body;
    body.on('error', (error) => this.fail(error));
    this.sink.onHead(status, headers, this);
    body.on('data', (chunk: Buffer) => {
      if (!this.isOver) this.sink.onData(chunk);
    });
    body.on('end', () => this.end());
  }

  /** Nothing of it is kept: the object may be there the next moment. */
  refuse(status: Refusal, headers: Readonly<Record<string, string>> = {}): void {
    if (this.isOver) return;
    const text = Buffer.from(TEXTS[status]);
    const all = {
      ...headers,
      ...(status === 405 && { allow: 'GET, HEAD' }),
      'content-type': 'text/plain;charset=UTF-8',
      'content-length': `${text.length}`,
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    };
    this.sink.onHead(status, Object.entries(all).flat() as string[], this);
    if (!this.isHead) this.sink.onData(text);
    this.end();
  }

  fail(error: unknown): void {
    if (this.isOver) return;
    this.close();
    if (error instanceof AppError && error.status === 503) {
      this.sink.onFailure(failureOf('overloaded', error.message));
      return;
    }
    this.onFault(error);
    this.sink.onFailure(failureOf('fault', String(error)));
  }

  pause(): void {
    this.body?.pause();
  }

  resume(): void {
    this.body?.resume();
  }

  abort(): void {
    this.close();
  }

  private end(): void {
    if (this.isOver) return;
    this.close();
    this.sink.onEnd([]);
  }

  private close(): void {
    this.isOver = true;
    this.body?.destroy();
    void this.found?.close();
  }
}
