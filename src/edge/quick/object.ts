/** Answers a plain request with a small object of a bucket, without stages, if its response is passed on as it is. */
import type { BucketRoute } from '../../hostnames/routing/find-route.js';
import type { Channel, Sending } from '../../plain/connections.js';
import { currentDate } from '../../plain/current-date.js';
import { printFieldLines } from '../../plain/field-lines.js';
import { findWhole, type SmallObjects } from '../bucket/from-bucket.js';
import type { EdgeCache } from '../cache/cache.js';
import type { CacheRequest, Lookup } from '../cache/cache-state.js';
import { PASSED, passedOn } from '../cache/passage.js';
import { compressibleOf } from '../compress/compressible.js';
import { reasonOf } from '../error-pages/failures.js';
import type { EdgeRequest, HeaderList } from '../exchange/exchange.js';
import type { Stalls } from '../exchange/stalls.js';
import type { ClientSide } from '../listen/client-side.js';
import { repeat } from './hit.js';

export interface ObjectOptions {
  readonly objects: SmallObjects;
  readonly cache: EdgeCache;
  readonly stalls: Stalls;
  readonly onResult: (result: typeof PASSED) => void;
}

interface Asking {
  readonly request: EdgeRequest;
  readonly route: BucketRoute;
  readonly asked: CacheRequest;
  readonly client: ClientSide;
  readonly channel: Channel;
}

/** Over a connection that stays open. Undefined: the general way answers. */
export function answerObject(options: ObjectOptions, asking: Asking, found: Lookup): Sending | undefined {
  const { request, route, asked, client, channel } = asking;
  if (!options.cache.passes(found)) return undefined;
  const whole = wholeUnlessFault(options.objects, request, route);
  const start = whole && startOf(whole.headers, asked.policy.compresses);
  if (start === undefined) return undefined;
  options.onResult(PASSED);
  const { keepAlive, nowMs } = channel;
  const end = `\r\nDate: ${currentDate(nowMs())}\r\nConnection: keep-alive\r\nKeep-Alive: ${keepAlive}\r\n\r\n`;
  const response = { status: 200, start, end, body: whole!.octets };
  return repeat(response, request.ray, { channel, client, stalls: options.stalls });
}

/** The general way finds the same fault, and has an answer for it. */
function wholeUnlessFault(...asked: Parameters<typeof findWhole>): ReturnType<typeof findWhole> {
  try {
    return findWhole(...asked);
  } catch {
    return undefined;
  }
}

/** What is printed of the fields of an object: up to the ray, if the response is passed on. */
interface Printed {
  readonly start: Buffer | undefined;
  /** Whether clients may get it in another form. */
  readonly isCompressible: boolean;
}

/** The fields are the same list as long as the object is in memory. */
const printed = new WeakMap<HeaderList, Printed>();

function startOf(headers: HeaderList, compresses: boolean): Buffer | undefined {
  let known = printed.get(headers);
  if (!known) printed.set(headers, (known = print(headers)));
  return compresses && known.isCompressible ? undefined : known.start;
}

function print(headers: HeaderList): Printed {
  const passed = passedOn(200, headers);
  if (!passed) return { start: undefined, isCompressible: false };
  const start = `HTTP/1.1 200 ${reasonOf(200)}\r\n${printFieldLines(passed)}cf-ray: `;
  return { start: Buffer.from(start, 'latin1'), isCompressible: compressibleOf(200, passed) !== undefined };
}
