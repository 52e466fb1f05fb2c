/** The fields that expressions of rules may use. */
import { type FieldTable, fieldTable } from '../expressions/fields.js';
import { spend } from '../expressions/work.js';
import { fieldValues, parsedQuery, pathEnd, type Subject } from './subject.js';

const FIELDS = {
  'cf.ray_id': 'text',
  'cf.zone.name': 'text',
  'http.cookie': 'text',
  'http.host': 'text',
  'http.referer': 'text',
  'http.request.cookies': 'map',
  'http.request.full_uri': 'text',
  'http.request.headers': 'map',
  'http.request.method': 'text',
  'http.request.timestamp.sec': 'number',
  'http.request.uri': 'text',
  'http.request.uri.args': 'map',
  'http.request.uri.path': 'text',
  'http.request.uri.path.extension': 'text',
  'http.request.uri.query': 'text',
  'http.request.version': 'text',
  'http.user_agent': 'text',
  'http.x_forwarded_for': 'text',
  'ip.geoip.country': 'text',
  'ip.src': 'address',
  'ip.src.country': 'text',
  'raw.http.request.full_uri': 'text',
  'raw.http.request.uri': 'text',
  'raw.http.request.uri.args': 'map',
  'raw.http.request.uri.path': 'text',
  'raw.http.request.uri.query': 'text',
  ssl: 'truth',
} as const;

type Reading = (subject: Subject) => string | undefined;

const text = (of: Reading) => ({ type: 'text', of }) as const;
const joined = (name: string, separator: string) =>
  text(({ request }) => joinedValues(fieldValues(request.headers, name), separator));
const country = text((subject) => subject.country);

/** In all phases. */
export const REQUEST_FIELDS: FieldTable<Subject> = fieldTable<Subject, typeof FIELDS>(FIELDS, {
  'cf.ray_id': text(({ request }) => request.ray),
  'cf.zone.name': text(({ surroundings }) => surroundings.zone),
  'http.cookie': joined('cookie', '; '),
  'http.host': text(({ request }) => request.host),
  'http.referer': joined('referer', ', '),
  'http.request.cookies': { type: 'map', of: ({ cookies }, key) => cookies.get(key) },
  'http.request.full_uri': text((subject) => subject.fullUri),
  'http.request.headers': { type: 'map', of: ({ request }, key) => fieldValues(request.headers, key) },
  'http.request.method': text(({ request }) => request.method),
  'http.request.timestamp.sec': {
    type: 'number',
    of: ({ surroundings }) => Math.floor(surroundings.nowMs() / 1000),
  },
  'http.request.uri': text(({ target }) => target),
  'http.request.uri.args': { type: 'map', of: (subject, key) => valuesOf(subject.args, subject.query, key) },
  'http.request.uri.path': text(({ path }) => path),
  'http.request.uri.path.extension': text(({ path }) => extension(path)),
  'http.request.uri.query': text(({ query }) => query),
  'http.request.version': text(({ request }) => `HTTP/${request.httpVersion.replace('.0', '')}`),
  'http.user_agent': joined('user-agent', ', '),
  'http.x_forwarded_for': joined('x-forwarded-for', ', '),
  'ip.geoip.country': country,
  'ip.src': { type: 'address', of: (subject) => subject.address },
  'ip.src.country': country,
  'raw.http.request.full_uri': text(({ request: { scheme, host, target } }) => {
    spend(target.length * COPYING);
    return `${scheme}://${host}${target}`;
  }),
  'raw.http.request.uri': text(({ request }) => request.target),
  'raw.http.request.uri.args': {
    type: 'map',
    of: ({ request }, key) => {
      const query = queryOf(request.target);
      return valuesOf(parsedQuery(query), query, key);
    },
  },
  'raw.http.request.uri.path': text(({ request: { target } }) => target.slice(0, pathEnd(target))),
  'raw.http.request.uri.query': text(({ request }) => queryOf(request.target)),
  ssl: { type: 'truth', of: ({ request }) => request.scheme === 'https' },
});

/** In the phase of responses. */
export const RESPONSE_FIELDS: FieldTable<Subject> = {
  ...REQUEST_FIELDS,
  'http.response.code': { type: 'number', of: ({ response }) => response?.status },
  'http.response.headers': { type: 'map', of: ({ response }, key) => response && fieldValues(response.headers, key) },
};

/** Units of work for each character. */
const COPYING = 4;

function joinedValues(values: readonly string[] | undefined, separator: string): string | undefined {
  if (!values || values.length === 1) return values?.[0];
  spend(values.reduce((sum, { length }) => sum + length, 0) * COPYING);
  return values.join(separator);
}

function queryOf(target: string): string {
  return target.slice(pathEnd(target) + 1);
}

function valuesOf(args: URLSearchParams, query: string, key: string): string[] | undefined {
  spend(query.length);
  const values = args.getAll(key);
  return values.length === 0 ? undefined : values;
}

/** In lower case, without its dot. */
function extension(path: string): string | undefined {
  spend(path.length * COPYING);
  const name = path.slice(path.lastIndexOf('/') + 1);
  const dot = name.lastIndexOf('.');
  return dot < 0 ? undefined : name.slice(dot + 1).toLowerCase();
}
