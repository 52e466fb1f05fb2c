/**
 * The request fields that select between responses of one URL: those of `Vary` (RFC 9111 §4.1), and some that always select.
 */
import { detachedText } from '../../base/bytes.js';
import { fieldValue, type HeaderFields, listMembers } from '../../http/fields.js';

/** A request field and its value in normal form; undefined: the request had none. */
export type SelectingField = readonly [name: string, value: string | undefined];

/**
 * Fields that change what origins answer, although `Vary` seldom names them. A request with such a field never gets the
 * response to a request with a different value, so that a client cannot poison the cache for others.
 */
const ALWAYS_SELECTING = [
  'origin',
  'forwarded',
  'front-end-https',
  'x-forwarded-host',
  'x-forwarded-path',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-protocol',
  'x-forwarded-scheme',
  'x-forwarded-server',
  'x-forwarded-ssl',
  'x-forwarded-uri',
  'x-host',
  'x-http-method',
  'x-http-method-override',
  'x-http-host-override',
  'x-method-override',
  'x-original-host',
  'x-original-url',
  'x-rewrite-url',
  'x-url-scheme',
] as const;

/** Which resource is asked for, and how. */
interface Asked {
  /** Without port and final dot, lower case. */
  readonly host: string;
  /** As the client sent it, and as the origin gets it. */
  readonly authority: string;
  readonly fields: HeaderFields;
}

/** The values of the fields that always select; empty for nearly all requests. */
export function alwaysSelecting({ host, authority, fields }: Asked): string {
  const last = known.get(fields);
  if (last?.host === host && last.authority === authority) return last.text;
  // Origins write the port and the final dot, which the key leaves out, into redirects.
  const own = authority === host || authority.toLowerCase() === host ? '' : `host:${authority}\n`;
  const joined = own + selectingText(fields);
  // What is compared with others each time is to be one piece.
  const text = joined === '' ? '' : detachedText(joined);
  known.set(fields, { host, authority, text });
  return text;
}

interface Selecting extends Pick<Asked, 'host' | 'authority'> {
  readonly text: string;
}

/** Requests with the same fields, octet for octet, share one object. */
const known = new WeakMap<HeaderFields, Selecting>();

function selectingText(fields: HeaderFields): string {
  let text = '';
  for (const name of ALWAYS_SELECTING) {
    if (fields[name] !== undefined) text += `${name}:${fieldValue(fields, name)}\n`;
  }
  return text;
}

/** The request's values of the fields that `Vary` names; undefined for `*`. */
export function selectingFields(response: HeaderFields, request: HeaderFields): readonly SelectingField[] | undefined {
  const vary = fieldValue(response, 'vary');
  const encoding = response['content-encoding'];
  if (vary === undefined && encoding === undefined) return [];
  const names = new Set(listMembers((vary ?? '').toLowerCase()));
  // Origins forget this name, and other clients could not read the body.
  if (encoding !== undefined) names.add('accept-encoding');
  if (names.has('*')) return undefined;
  return [...names].sort().map((name) => {
    const value = normalValue(name, request);
    // It may be a part of a whole request head.
    return [name, value === undefined ? undefined : detachedText(value)];
  });
}

/** Whether a request has the same selecting fields as the request that a response answered. */
export function selects(fields: readonly SelectingField[], request: HeaderFields): boolean {
  return fields.every(([name, value]) => valueIn(name, request) === value);
}

/** The values of the request that was looked at last: many responses of one URL may select by the same long fields. */
const values = new Map<string, string | undefined>();
let valuesOf: HeaderFields | undefined;

function valueIn(name: string, request: HeaderFields): string | undefined {
  if (valuesOf !== request) {
    valuesOf = request;
    values.clear();
  }
  let value = values.get(name);
  if (value === undefined && !values.has(name)) {
    value = normalValue(name, request);
    values.set(name, value);
  }
  return value;
}

const PREFERENCES: ReadonlySet<string> = new Set(['accept', 'accept-charset', 'accept-encoding', 'accept-language']);

/** Longer values are compared as they are: thousands of members would take long to sort. */
const LONGEST_NORMALIZED = 512;

/** Joins field lines, removes whitespace around members, and sorts preferences of the same weight (RFC 9110 §12.4.2). */
function normalValue(name: string, request: HeaderFields): string | undefined {
  const value = fieldValue(request, name);
  if (value === undefined || value.length > LONGEST_NORMALIZED) return value;
  const members = listMembers(value);
  if (!PREFERENCES.has(name)) return members.join(',');
  return members
    .map((member) => member.toLowerCase().replace(/\s+/g, ''))
    .sort()
    .join(',');
}
