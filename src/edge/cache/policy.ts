/** Decides from the request and the zone's settings whether the cache may be used, before the response is known. */
import type { HeaderFields } from '../../http/fields.js';

/** Settings of the zone (v4: `cache_level`, `browser_cache_ttl`, `development_mode`). */
export interface CachePolicy {
  /**
   * `aggressive`: static files by extension, and responses that allow it. `basic`: the same, if the request has no query.
   * `simplified`: as `aggressive`, ignoring queries. `cache_everything`: all that HTTP allows caches to store. `bypass`: nothing.
   */
  readonly level: 'bypass' | 'basic' | 'simplified' | 'aggressive' | 'cache_everything';
  /** The least number of seconds that browsers keep a response the cache may store; 0: as the origin says. */
  readonly browserTtlS: number;
  readonly developmentMode: boolean;
  /** Whether responses are compressed for clients that accept it. */
  readonly compresses: boolean;
}

/**
 * `static`: a file of a kind that seldom changes. `any`: every response may be stored. `opt-in`: only a response that itself
 * permits shared caches.
 */
export type Eligibility = 'static' | 'any' | 'opt-in';

export interface Target {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly fields: HeaderFields;
  readonly hasBody: boolean;
  readonly policy: CachePolicy;
}

const STATIC_EXTENSIONS: ReadonlySet<string> = new Set(
  (
    '7z apk avi avif bin bmp bz2 class css csv dmg doc docx ejs eot eps exe flac gif gz ico iso jar jpeg jpg js mid midi mkv ' +
    'mp3 mp4 ogg otf pdf pict pls png ppt pptx ps rar svg svgz swf tar tif tiff ttf webm webp woff woff2 xls xlsx zip zst'
  ).split(' '),
);

/** Of a request that does not bypass the cache. */
export function eligibilityOf(request: Pick<Target, 'target' | 'policy'>): Eligibility {
  if (request.policy.level === 'cache_everything') return 'any';
  return isStatic(request.target) ? 'static' : 'opt-in';
}

/** Whether the cache is not used. */
export function bypasses({ method, target, fields, hasBody, policy }: Target): boolean {
  if (policy.developmentMode || policy.level === 'bypass') return true;
  if (method !== 'GET' && method !== 'HEAD') return true;
  // A body may change the answer but is not part of the key. Only the origin can evaluate these conditions (RFC 9111 §4.3.2).
  if (hasBody || fields['if-match'] !== undefined || fields['if-unmodified-since'] !== undefined) return true;
  return policy.level === 'basic' && target.includes('?');
}

function isStatic(target: string): boolean {
  const path = pathOf(target);
  if (path === '/robots.txt') return true;
  const dot = path.lastIndexOf('.');
  return dot >= 0 && dot > path.lastIndexOf('/') && STATIC_EXTENSIONS.has(path.slice(dot + 1).toLowerCase());
}

function pathOf(target: string): string {
  const query = target.indexOf('?');
  return query < 0 ? target : target.slice(0, query);
}

/** The part of the request target that belongs to the cache key. */
export function keyTarget({ target, policy }: Pick<Target, 'target' | 'policy'>): string {
  return policy.level === 'simplified' ? pathOf(target) : target;
}

/** Lifetimes by status, in seconds, of static files whose responses state none. */
const STATIC_LIFETIMES_S: Readonly<Record<number, number>> = {
  200: 7200,
  206: 7200,
  301: 7200,
  302: 1200,
  303: 1200,
  404: 180,
  410: 180,
};

export function staticLifetime(status: number): number | undefined {
  return STATIC_LIFETIMES_S[status];
}
