/** The OpenAPI document, made of the routes' schemas, and the page that shows it. Everything is served from here. */
import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';

export const DOCS_PATH = '/docs';

const DESCRIPTION = `Zones and records of this name server, compatible with version 4 of the Cloudflare API.

Every path under \`/client/v4\` is also served under \`/v4\`. Answers to changes carry two headers more: \`zoneplane-change\`,
the number of the change, and \`zoneplane-serial\`, the SOA serial of the zone after it.

Reads of a zone and of what belongs to it answer with an \`ETag\` and heed \`If-None-Match\`. Writes to a zone heed \`If-Match\`
and \`If-None-Match\` (412), and these parameters: \`dry_run=true\` checks and answers the same, adds \`diff\` and changes nothing;
\`wait=insync\` answers when every DNS process serves the change, \`wait_limit\` seconds later at the latest (10, at most 60),
and says in the header \`zoneplane-status\` whether that is so.`;

const withSchemas = createJsonSchemaTransform({ skipList: [] });

/** Name of the path parameter that may hold slashes. */
const REST = 'object_key';

/** Routes under `hidden` prefixes are the same again and are left out. */
export function openapiOptions(version: string, hidden: readonly string[]): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Zoneplane admin API', description: DESCRIPTION, version },
      tags: [
        'Zones',
        'DNS records',
        'DNS settings',
        'Zone history',
        'Audit log',
        'User',
        'API tokens',
        'Accounts',
        'Networks',
        'Buckets',
        'Unsupported',
        'Operations',
      ].map((name) => ({ name })),
      components: {
        securitySchemes: {
          apiToken: { type: 'http', scheme: 'bearer' },
          apiEmail: { type: 'apiKey', in: 'header', name: 'X-Auth-Email' },
          apiKey: { type: 'apiKey', in: 'header', name: 'X-Auth-Key' },
        },
      },
      security: [{ apiToken: [] }, { apiEmail: [], apiKey: [] }],
    },
    transform(document) {
      if (!hidden.some((prefix) => document.url.startsWith(`${prefix}/`))) {
        return nameRest(withSchemas(document as never) as SchemaAndUrl) as never;
      }
      return { schema: { hide: true } as never, url: document.url };
    },
    transformObject: createJsonSchemaTransformObject({}),
  };
}

interface SchemaAndUrl {
  readonly schema: { readonly params?: { readonly properties?: Record<string, unknown>; required?: string[] } };
  readonly url: string;
}

/** A parameter that takes the rest of the path has no name in the router; in the document it needs one. */
function nameRest({ schema, url }: SchemaAndUrl): SchemaAndUrl {
  const { '*': rest, ...properties } = schema.params?.properties ?? {};
  if (!url.endsWith('/*') || rest === undefined) return { schema, url };
  const required = schema.params?.required?.map((name) => (name === '*' ? REST : name));
  return {
    schema: { ...schema, params: { ...schema.params, properties: { ...properties, [REST]: rest }, required } } as never,
    url: url.replace(/\*$/, `:${REST}`),
  };
}

export function docsOptions(): FastifySwaggerUiOptions {
  return {
    routePrefix: DOCS_PATH,
    // The page asks no other host for anything.
    staticCSP: {
      'default-src': "'none'",
      'script-src': "'self'",
      'style-src': ["'self'", "'unsafe-inline'"],
      'img-src': ["'self'", 'data:'],
      'font-src': "'self'",
      'connect-src': "'self'",
      'frame-ancestors': "'none'",
      'base-uri': "'none'",
    },
    uiConfig: { validatorUrl: null, docExpansion: 'none', tryItOutEnabled: false },
  };
}
