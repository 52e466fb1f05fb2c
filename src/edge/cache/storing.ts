/** Decides whether a response may be stored, and for how long it is fresh (RFC 9111 §3). */
import { fieldValue, type HeaderFields } from '../../http/fields.js';
import { type Directives, directivesOf } from './directives.js';
import { type Exchange, explicitLifetime, heuristicLifetime } from './freshness.js';
import { type Eligibility, staticLifetime } from './policy.js';
import { type SelectingField, selectingFields } from './vary.js';

export interface ReceivedResponse {
  readonly status: number;
  readonly fields: HeaderFields;
}

/** Why a response is not stored. `forbidden`: it forbids storage or is for one user. `silent`: nothing in it allows storage. */
export type Refusal = 'forbidden' | 'silent';

export type StoringDecision =
  | {
      readonly isStored: true;
      readonly directives: Directives;
      /** Seconds. */
      readonly lifetimeS: number;
      readonly selecting: readonly SelectingField[];
    }
  | { readonly isStored: false; readonly refusal: Refusal };

const FORBIDDEN = { isStored: false, refusal: 'forbidden' } as const;
const SILENT = { isStored: false, refusal: 'silent' } as const;

/** Statuses that are heuristically cacheable (RFC 9110 §15.1). 206 is absent because parts are not stored. */
const HEURISTICALLY_CACHEABLE: ReadonlySet<number> = new Set([200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]);
/** Statuses that answer a condition or a range of one request. */
const FOR_ONE_REQUEST: ReadonlySet<number> = new Set([206, 304, 412, 416]);
/** Statuses whose caching requirements this cache implements (`must-understand`, RFC 9111 §5.2.2.3). */
const UNDERSTOOD: ReadonlySet<number> = new Set([
  ...HEURISTICALLY_CACHEABLE,
  302,
  303,
  307,
  400,
  401,
  403,
  406,
  409,
  415,
  421,
  422,
  426,
  428,
  429,
  431,
  451,
  500,
  502,
  503,
  504,
]);

export function judgeStoring(
  request: HeaderFields,
  response: ReceivedResponse,
  eligibility: Eligibility,
  exchange: Exchange,
): StoringDecision {
  const { status, fields } = response;
  const directives = directivesOf(fields);
  if (isForbidden(request, response, directives)) return FORBIDDEN;
  const selecting = selectingFields(fields, request);
  if (selecting === undefined) return FORBIDDEN;
  const explicit = explicitLifetime(fields, directives, exchange);
  if (!isAllowed(response, eligibility, directives, explicit)) return SILENT;
  const isGuessable = HEURISTICALLY_CACHEABLE.has(status) || directives.public;
  const lifetimeS =
    explicit ??
    (eligibility === 'static' ? staticLifetime(status) : undefined) ??
    (isGuessable ? heuristicLifetime(fields, exchange) : undefined);
  if (lifetimeS === undefined && !directives.noCache) return SILENT;
  const isUsable =
    (lifetimeS ?? 0) > 0 ||
    hasValidator(fields) ||
    directives.staleWhileRevalidateS > 0 ||
    directives.staleIfErrorS > 0;
  return isUsable ? { isStored: true, directives, lifetimeS: lifetimeS ?? 0, selecting } : SILENT;
}

function isForbidden(request: HeaderFields, { status, fields }: ReceivedResponse, directives: Directives): boolean {
  if (FOR_ONE_REQUEST.has(status) || status < 200) return true;
  if (directives.mustUnderstand ? !UNDERSTOOD.has(status) : directives.noStore) return true;
  if (directives.private || isNoStoreAsked(request)) return true;
  // A cookie is for one user, whatever the directives say.
  if (fields['set-cookie'] !== undefined && !directives.withheld.includes('set-cookie')) return true;
  // Requests with credentials (RFC 9111 §3.5).
  const isForAll = directives.public || directives.mustRevalidate || directives.sharedMaxAgeS !== undefined;
  return request['authorization'] !== undefined && !isForAll;
}

/** Only `no-store` of a request applies. Other directives would let clients force requests to the origin. */
function isNoStoreAsked(request: HeaderFields): boolean {
  return /(?:^|,)\s*no-store\s*(?:,|$)/i.test(fieldValue(request, 'cache-control') ?? '');
}

/** Whether the zone's policy and the response allow storage. */
function isAllowed(
  { status, fields }: ReceivedResponse,
  eligibility: Eligibility,
  directives: Directives,
  explicit: number | undefined,
): boolean {
  if (eligibility === 'any') return true;
  // Some origins answer `/account/x.css` with the account page of the user, so an HTML page is not a static file.
  const isPage = status === 200 && /^text\/html\b/i.test(fieldValue(fields, 'content-type') ?? '');
  if (eligibility === 'static' && !isPage) return true;
  return allowsSharedCaches(directives) && explicit !== undefined;
}

/** Whether a response itself allows shared caches to store it. Without that, one that is `opt-in` is not stored. */
export function allowsSharedCaches(directives: Directives): boolean {
  return directives.public || directives.isTargeted || directives.sharedMaxAgeS !== undefined;
}

function hasValidator(fields: HeaderFields): boolean {
  return fields['etag'] !== undefined || fields['last-modified'] !== undefined;
}
