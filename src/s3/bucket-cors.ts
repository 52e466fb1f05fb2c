/** CORS: the rules of a bucket in XML, preflights, and the fields that answers get. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { fromHex } from '../base/bytes.js';
import { inSlices } from '../base/slices.js';
import { getRules, setRules } from '../bucket/rules/rule-sets.js';
import {
  CORS_METHODS,
  type CorsMethod,
  type CorsRule,
  corsFields,
  preflightFields,
  REFUSED_PREFLIGHT,
} from '../http/cors.js';
import type { Store } from '../store/driver.js';
import { bucketsWithCors, rulesOfBucket } from '../store/objects/rules.js';
import { readDocument, readNothing } from './body.js';
import { placeOfBucket } from './caller.js';
import { S3Error } from './errors.js';
import { fieldOf, type S3Request, sendEmpty, sendXml } from './request.js';
import type { Target } from './target.js';
import { documentOf, type Element, element, parent, readXml, textsOf } from './xml.js';

const CORS_FIELDS = [
  'vary',
  'access-control-allow-origin',
  'access-control-allow-methods',
  'access-control-expose-headers',
];
/** Octets, as AWS limits it. */
const LONGEST_CONFIGURATION = 64 * 1024;
/** Buckets with the same name in other accounts that are looked at. */
const MOST_NAMESAKES = 100;

export async function getBucketCors(request: S3Request, name: string): Promise<void> {
  await readNothing(request);
  const { context } = request.caller;
  const rules = getRules(context, placeOfBucket(request.caller, name), 'cors');
  if (!rules) throw new S3Error('NoSuchCORSConfiguration');
  const list = rules.map(({ id, allowed, exposeHeaders = [], maxAgeSeconds }) =>
    parent(
      'CORSRule',
      element('ID', id),
      ...(allowed.headers?.map((header) => element('AllowedHeader', header)) ?? []),
      ...allowed.methods.map((method) => element('AllowedMethod', method)),
      ...allowed.origins.map((origin) => element('AllowedOrigin', origin)),
      ...exposeHeaders.map((header) => element('ExposeHeader', header)),
      element('MaxAgeSeconds', maxAgeSeconds),
    ),
  );
  sendXml(request, documentOf('CORSConfiguration', ...list));
}

export async function putBucketCors(request: S3Request, name: string): Promise<void> {
  const document = await readDocument(request, LONGEST_CONFIGURATION);
  const root = await inSlices(request.options.clock, readXml(document, 'CORSConfiguration', 'CORSRule'));
  const rules = (root.children.get('CORSRule') ?? []).map(readRule);
  if (rules.length === 0) throw new S3Error('MalformedXML');
  await setRules(request.caller.context, placeOfBucket(request.caller, name), 'cors', rules);
  sendEmpty(request, 200);
}

export async function deleteBucketCors(request: S3Request, name: string): Promise<void> {
  await readNothing(request);
  await setRules(request.caller.context, placeOfBucket(request.caller, name), 'cors', []);
  sendEmpty(request, 204);
}

function readRule(rule: Element): CorsRule {
  requireKnown(rule, ['ID', 'AllowedHeader', 'AllowedMethod', 'AllowedOrigin', 'ExposeHeader', 'MaxAgeSeconds']);
  const [id] = textsOf(rule, 'ID');
  const methods = textsOf(rule, 'AllowedMethod');
  const unknown = methods.find((method) => !CORS_METHODS.includes(method as CorsMethod));
  if (unknown !== undefined) {
    const reason = `Found unsupported HTTP method in CORS config. Unsupported method is ${unknown.slice(0, 64)}`;
    throw new S3Error('InvalidRequest', reason);
  }
  const [headers, exposed] = [textsOf(rule, 'AllowedHeader'), textsOf(rule, 'ExposeHeader')];
  const [age] = textsOf(rule, 'MaxAgeSeconds');
  if (age !== undefined && !/^\d{1,10}$/.test(age)) throw new S3Error('MalformedXML', 'MaxAgeSeconds is not a number.');
  return {
    ...(id !== undefined && id !== '' && { id }),
    allowed: {
      ...{ methods: methods as CorsMethod[], origins: textsOf(rule, 'AllowedOrigin') },
      ...(headers.length > 0 && { headers }),
    },
    ...(exposed.length > 0 && { exposeHeaders: exposed }),
    ...(age !== undefined && { maxAgeSeconds: Number(age) }),
  };
}

/** What is not understood is refused: a rule without a part of it would be another rule. */
export function requireKnown({ children }: Element, names: readonly string[]): void {
  const unknown = [...children.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) throw new S3Error('NotImplemented', `${unknown.slice(0, 64)} is not implemented.`);
}

/**
 * The rules of the buckets that a request may mean. Before its signature is verified, a path names no account, and the name may be that
 * of several buckets: none of them can forbid what another one allows. `account`: identifier.
 */
export function rulesOfTarget(store: Store, { bucket }: Target, account: string | undefined): (readonly CorsRule[])[] {
  if (bucket === undefined) return [];
  return bucketsWithCors(store, bucket, account === undefined ? undefined : fromHex(account), MOST_NAMESAKES).map(
    (seq) => rulesOfBucket<CorsRule>(store, seq, 'cors') ?? [],
  );
}

/** Gives an answer the fields that the first of these rules asks for that allows the origin, in place of those it had. */
export function addCorsFields(
  raw: IncomingMessage,
  response: ServerResponse,
  sets: readonly (readonly CorsRule[])[],
): void {
  const origin = fieldOf(raw.headers, 'origin');
  if (origin !== undefined) for (const name of CORS_FIELDS) response.removeHeader(name);
  if (sets.length === 0) return;
  const all = sets.map((rules) => corsFields(rules, origin, raw.method!));
  const fields = all.find((found) => 'access-control-allow-origin' in found) ?? all[0]!;
  for (const [name, value] of Object.entries(fields)) response.setHeader(name, value);
}

/** Answers what a browser asks before a request of another origin. It is signed by nobody. */
export function answerPreflight(
  raw: IncomingMessage,
  response: ServerResponse,
  sets: readonly (readonly CorsRule[])[],
): void {
  const origin = fieldOf(raw.headers, 'origin');
  if (origin === undefined) {
    throw new S3Error('BadRequest', 'Insufficient information. Origin request header needed.', REFUSED_PREFLIGHT);
  }
  const method = fieldOf(raw.headers, 'access-control-request-method');
  if (method === undefined) {
    throw new S3Error('BadRequest', 'Invalid Access-Control-Request-Method: null', REFUSED_PREFLIGHT);
  }
  const headers = fieldOf(raw.headers, 'access-control-request-headers');
  for (const rules of sets) {
    const fields = preflightFields(rules, { origin, method, headers });
    if (!fields) continue;
    response.writeHead(200, { ...fields, 'content-length': 0 });
    response.end();
    raw.resume();
    return;
  }
  throw new S3Error('AccessForbidden', undefined, REFUSED_PREFLIGHT);
}
