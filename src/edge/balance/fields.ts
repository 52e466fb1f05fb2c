/** The fields of requests that conditions of rules may use; those of questions have no value here. */
import { CONDITION_FIELDS } from '../../balancing/condition-fields.js';
import { parseIP } from '../../base/ip.js';
import { fieldTable } from '../../expressions/fields.js';
import type { EdgeRequest } from '../exchange/exchange.js';

/** What conditions examine. */
export interface Examined {
  readonly balancer: string;
  readonly region: string;
  /** Seconds since 1970. */
  readonly nowS: number;
  readonly request: EdgeRequest;
}

export const REQUEST_FIELDS = fieldTable<Examined, typeof CONDITION_FIELDS>(CONDITION_FIELDS, {
  'cf.load_balancer.name': { type: 'text', of: ({ balancer }) => balancer },
  'cf.load_balancer.region': { type: 'text', of: ({ region }) => region || undefined },
  'ip.src': { type: 'address', of: ({ request }) => parseIP(request.client) },
  'http.cookie': { type: 'text', of: ({ request }) => field(request, 'cookie', '; ') },
  'http.host': { type: 'text', of: ({ request }) => request.authority },
  'http.referer': { type: 'text', of: ({ request }) => field(request, 'referer', ', ') },
  'http.request.method': { type: 'text', of: ({ request }) => request.method },
  'http.request.uri': { type: 'text', of: ({ request }) => request.target },
  'http.request.uri.path': { type: 'text', of: ({ request }) => partsOf(request.target)[0] },
  'http.request.uri.query': { type: 'text', of: ({ request }) => partsOf(request.target)[1] },
  'http.request.uri.args': {
    type: 'map',
    of: ({ request }, key) => presentList(new URLSearchParams(partsOf(request.target)[1]).getAll(key)),
  },
  'http.request.headers': { type: 'map', of: ({ request }, key) => presentList(valuesOf(request, key.toLowerCase())) },
  'http.request.version': { type: 'text', of: ({ request }) => `HTTP/${request.httpVersion.replace('.0', '')}` },
  'http.request.timestamp.sec': { type: 'number', of: ({ nowS }) => nowS },
});

function partsOf(target: string): [path: string, query: string] {
  const at = target.indexOf('?');
  return at < 0 ? [target, ''] : [target.slice(0, at), target.slice(at + 1)];
}

/** The values of a header field; `name` in lower case. */
export function valuesOf({ headers }: Pick<EdgeRequest, 'headers'>, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) values.push(headers[i + 1]!);
  return values;
}

function field(request: EdgeRequest, name: string, separator: string): string | undefined {
  const values = valuesOf(request, name);
  return values.length === 0 ? undefined : values.join(separator);
}

function presentList(values: readonly string[]): readonly string[] | undefined {
  return values.length === 0 ? undefined : values;
}
