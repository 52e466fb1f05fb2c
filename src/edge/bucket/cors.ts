/** Pages of other origins at a name of a bucket. Outside of the cache, so that what it holds is the same for all of them. */
import type { BucketRoute } from '../../hostnames/routing/find-route.js';
import { type CorsFields, corsFields, preflightFields, REFUSED_PREFLIGHT } from '../../http/cors.js';
import { fieldValue } from '../../http/fields.js';
import { type EdgeRequest, type HeaderList, headerFields } from '../exchange/exchange.js';

const NONE: HeaderList = [];

/** Fields to add to whatever the bucket answers. */
export function corsHeaders({ headers, method }: EdgeRequest, { bucket: { cors } }: BucketRoute): HeaderList {
  if (!cors) return NONE;
  return listOf(corsFields(cors, fieldValue(headerFields(headers), 'origin'), method));
}

/** Answers what a browser asks before a request of another origin; undefined for other requests, and where there are no rules. */
export function preflightAnswer(
  { headers, method }: EdgeRequest,
  { bucket: { cors } }: BucketRoute,
): { readonly status: 200 | 403; readonly headers: HeaderList } | undefined {
  if (method !== 'OPTIONS' || !cors) return undefined;
  const fields = headerFields(headers);
  const [origin, asked] = [fieldValue(fields, 'origin'), fieldValue(fields, 'access-control-request-method')];
  if (origin === undefined || asked === undefined) return undefined;
  const wanted = fieldValue(fields, 'access-control-request-headers');
  const allowed = preflightFields(cors, { origin, method: asked, headers: wanted });
  const own = ['content-length', '0', 'cache-control', 'no-store'];
  return { status: allowed ? 200 : 403, headers: [...listOf(allowed ?? REFUSED_PREFLIGHT), ...own] };
}

function listOf(fields: CorsFields): HeaderList {
  return Object.entries(fields).flat();
}
