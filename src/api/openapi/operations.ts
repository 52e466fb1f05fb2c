/**
 * What routes say of themselves in their config, as OpenAPI: identifier, description, and the parameters all such routes have.
 */
import type { FastifyContextConfig } from 'fastify';
import type { Area } from '../../control/guard/permissions.js';

/** What of JSON schemas is touched here. */
interface ObjectSchema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** The schema of a route, already turned into JSON schemas. */
export interface RouteSchema {
  readonly hide?: boolean;
  readonly summary?: string;
  readonly params?: ObjectSchema;
  readonly querystring?: ObjectSchema;
  readonly headers?: ObjectSchema;
}

const AREAS: Readonly<Record<Area, string>> = {
  zone: 'zones',
  dns: 'DNS records',
  zoneSettings: 'zone settings',
  cachePurge: 'the cache',
  certificates: 'certificates',
  loadBalancers: 'load balancers',
  redirects: 'redirect rules',
  transforms: 'transform rules',
  pageRules: 'page rules',
  account: 'accounts',
  accountName: 'the names of accounts',
  members: 'the members of an account',
  audit: 'the audit log of an account',
  accountTokens: 'the tokens of an account',
  loadBalancing: 'monitors and pools',
  buckets: 'buckets',
  objects: 'objects of buckets',
  user: 'the user',
  memberships: 'memberships',
  userTokens: 'the tokens of the user',
};

const text = (description: string) => ({ type: 'string', description });

const WRITE_QUERY = {
  dry_run: {
    type: 'string',
    enum: ['true', 'false', ''],
    description: 'Check and answer the same, with `diff` beside `result`, and change nothing. Without a value: true',
  },
  wait: {
    type: 'string',
    enum: ['insync', 'true', 'false', ''],
    description: 'Answer when every DNS process and secondary serves the change. Without a value: `insync`',
  },
  wait_limit: { type: 'string', pattern: '^[0-9]{1,2}$', description: 'Seconds to wait at most: 10, up to 60' },
};

const WRITE_HEADERS = {
  'If-Match': text('Entity tags, or `*`: the zone must be in one of these states (412)'),
  'If-None-Match': text('Entity tags, or `*`: the zone must not be in any of these states (412)'),
};

const READ_HEADERS = { 'If-None-Match': text('Entity tags: 304 when the zone is still in one of these states') };

/** The schema with what the config of the route adds. `url` has parameters as `:name`. */
export function describeOperation<Schema extends RouteSchema>(
  schema: Schema,
  {
    method,
    url,
    config = {},
  }: { readonly method: string; readonly url: string; readonly config?: FastifyContextConfig },
): Schema {
  if (schema.hide) return schema;
  const { zoneState, objectState } = config;
  return {
    ...schema,
    operationId: operationIdOf(method, url),
    description: [
      `${schema.summary}.`,
      needsOf(method, config),
      ...stateOf(zoneState),
      ...objectStateOf(objectState),
    ].join(' '),
    ...((zoneState === 'write' || objectState === 'write') && {
      querystring: withProperties(schema.querystring, WRITE_QUERY),
      headers: withProperties(schema.headers, WRITE_HEADERS),
    }),
    ...(zoneState === 'read' && { headers: withProperties(schema.headers, READ_HEADERS) }),
  };
}

/** `GET /zones/:zone_id/dns_records/:id` → `getZonesDnsRecordsById`: it stays as long as the path. */
function operationIdOf(method: string, url: string): string {
  const steps = url
    .replace(/^\/client\/v4/, '')
    .split('/')
    .filter(Boolean);
  const words = steps.flatMap((step, i) => {
    if (!step.startsWith(':') && step !== '*') return step.split(/[^A-Za-z0-9]+/).filter(Boolean);
    return i === steps.length - 1 ? ['by', 'id'] : [];
  });
  return [method.toLowerCase(), ...words.map((word) => word[0]!.toUpperCase() + word.slice(1))].join('');
}

function needsOf(method: string, { access, area }: FastifyContextConfig): string {
  if (access === 'public') return 'Needs no credential.';
  if (access !== undefined) return 'Needs a credential, unless it is asked for on the machine itself.';
  if (area === undefined || area === 'any')
    return 'Any credential will do; what it shows and allows depends on the credential.';
  const level = method === 'GET' ? 'reads' : 'writes';
  return `A token needs a permission that ${level} ${AREAS[area]}.`;
}

function objectStateOf(objectState: FastifyContextConfig['objectState']): string[] {
  if (objectState === 'read') return ['The answer has an entity tag, which stands for the state of the object.'];
  if (objectState === undefined) return [];
  return ['Can be a dry run, and can depend on the state of the object.'];
}

function stateOf(zoneState: FastifyContextConfig['zoneState']): string[] {
  if (zoneState === 'read') return ['The answer has an entity tag, which stands for the state of the zone.'];
  if (zoneState === undefined) return [];
  return [
    'Can be a dry run, can depend on the state of the zone, and can wait until every DNS process and secondary serves the change.',
  ];
}

function withProperties(schema: ObjectSchema | undefined, properties: Readonly<Record<string, unknown>>): ObjectSchema {
  return { type: 'object', ...schema, properties: { ...schema?.properties, ...properties } };
}
