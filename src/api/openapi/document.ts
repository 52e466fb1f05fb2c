/** The OpenAPI document, generated from the routes' schemas, and its page. All files are served from here. */
import type { FastifyDynamicSwaggerOptions, FastifyStaticSwaggerOptions } from '@fastify/swagger';
import type { FastifySwaggerUiOptions } from '@fastify/swagger-ui';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { addExamples, type Described } from './examples.js';
import { readDocument } from './file.js';
import { ICON } from './icon.js';
import { describeOperation, type RouteSchema } from './operations.js';
import { addRefusals, removeUnused, setMediaTypes, simplified } from './tidy.js';

export const DOCS_PATH = '/docs';

const DESCRIPTION = `Zones and records of this name server, compatible with version 4 of the Cloudflare API. The [dashboard](/) uses nothing else.

Every path under \`/client/v4\` is also served under \`/v4\`. Answers to changes carry two headers more: \`zoneplane-change\`,
the number of the change, and \`zoneplane-serial\`, the SOA serial of the zone after it.

Reads of a zone and of what belongs to it answer with an \`ETag\` and heed \`If-None-Match\`. Writes to a zone heed \`If-Match\`
and \`If-None-Match\` (412), and these parameters: \`dry_run=true\` checks and answers the same, adds \`diff\` and changes nothing;
\`wait=insync\` answers when every DNS process and every secondary that can be reached serves the change, \`wait_limit\` seconds later at the latest (10, at most 60),
and says in the header \`zoneplane-status\` whether that is so.`;

/** In the order of the page. */
const TAGS: Readonly<Record<string, string>> = {
  Zones: 'Zones: names with their own SOA, served by this server.',
  'Zone settings': 'What the edge does for the proxied names of a zone.',
  'Zone holds': 'Keep other accounts from using a name.',
  'DNS records': 'Records, one by one, in batches and as zone files; why a name is answered as it is.',
  'DNS settings': 'SOA, name servers and modes of a zone, and what new zones of an account begin with.',
  DNSSEC: 'Signing of zones, their keys and the DS records for parents.',
  Rulesets: 'Rules of a zone at the edge: redirects, rewrites of URLs, changes of header fields.',
  'Page rules': 'Redirects and settings for the URLs that match a pattern.',
  'Load balancing': 'Names that are answered with the addresses of healthy origins: monitors, pools, load balancers.',
  'Secondary DNS': 'Zone transfers: keys, networks and peers.',
  Activity: 'What is asked: counts over time, the names asked for most, the newest questions.',
  'Zone history': 'Past states of a zone, their differences, and returning to one.',
  Cache: 'Purging stored responses of the edge.',
  'Custom hostnames': 'Names of customers that a zone serves.',
  Certificates: 'What a certificate says, and who issues certificates.',
  'Certificate packs': 'Certificates for the names of a zone.',
  Events: 'Events as they happen.',
  'Audit log': 'Who changed what, and when.',
  'DNS templates': 'Named sets of records with variables, applied to zones; ours.',
  Alerting: 'Alerts about events: webhooks, notification policies, and deliveries.',
  User: 'The user of the credential.',
  'Sign-in': 'People who sign in to the dashboard as themselves; requests need the header `zoneplane-dashboard`.',
  'API tokens': 'Credentials with limited permissions.',
  Accounts: 'What zones and buckets belong to.',
  Members: 'Who may do what in an account: members with roles or policies, and groups of zones and of members.',
  Networks: 'The addresses of the edge.',
  Buckets: 'Buckets and their objects.',
  Unsupported: 'Features that this server does not have: their lists are empty.',
  Operations: 'Health, metrics and the roots of trust of this server.',
};

const withSchemas = createJsonSchemaTransform({ skipList: [] });
const withComponents = createJsonSchemaTransformObject({});

/** Name of the path parameter that may contain slashes. */
const REST = 'object_key';

/** `describes`: whether the document is generated from the routes. */
export function openapiOptions({
  describes = false,
  version,
}: {
  readonly describes?: boolean;
  readonly version: string;
}): FastifyDynamicSwaggerOptions | FastifyStaticSwaggerOptions {
  return describes ? madeOfRoutes(version) : { mode: 'static', specification: { document: {} as never } };
}

function madeOfRoutes(version: string): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Zoneplane admin API',
        description: DESCRIPTION,
        version,
        license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
      },
      servers: [{ url: '/', description: 'Where this document came from' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
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
      const { url, route } = document;
      const { schema } = withSchemas(document as never) as SchemaAndUrl;
      const [method = 'GET'] = [route.method].flat();
      const described = describeOperation(schema, { method, url, ...(route.config && { config: route.config }) });
      return nameRest({ schema: described, url }) as never;
    },
    transformObject(document) {
      const complete = simplified(withComponents(document as never)) as Described;
      addExamples(complete);
      setMediaTypes(complete);
      addRefusals(complete);
      removeUnused(complete);
      return complete as never;
    },
  };
}

interface SchemaAndUrl {
  readonly schema: RouteSchema;
  readonly url: string;
}

/** A parameter for the rest of the path has no name in the router; the document needs one. */
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
    // The page loads nothing from other hosts.
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
    theme: {
      title: 'Zoneplane admin API',
      favicon: [{ filename: 'icon.svg', rel: 'icon', type: 'image/svg+xml', sizes: 'any', content: ICON }],
    },
    // The way to the dashboard.
    logo: { type: 'image/svg+xml', content: ICON, href: '/' },
    uiConfig: { validatorUrl: null, docExpansion: 'none', tryItOutEnabled: false },
    uiHooks: { preHandler: sendDocument },
  };
}

/** The documents that the page asks for. JSON is YAML, too. */
async function sendDocument(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
  const [, form] = /\/(json|yaml)$/.exec(request.routeOptions.url ?? '') ?? [];
  return form && reply.type(`application/${form}`).send(await readDocument());
}
