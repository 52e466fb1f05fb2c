/**
 * Routes of a zone that popular clients call for features that this service does not have, in forms of v4 that can say what is
 * true of it. What is true can also be sent; anything else is refused.
 */
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { ChainError, describeCertificate, parseCertificates } from '../../certs/chain.js';
import { getZone } from '../../control/zones/zones.js';
import { success } from '../envelope.js';
import { failure } from '../errors.js';
import type { ContextOf, RouteScope } from '../request.js';
import { answers, answersList, answersOne, message, time } from '../schema.js';
import { printTime } from '../times.js';
import { zoneParams as params } from '../zones/schema.js';
import { PLAN } from '../zones/view.js';

const tags = ['Unsupported'];
const config = { area: 'zone' } as const;
const ZONE = '/zones/:zone_id';

interface Options {
  readonly contextOf: ContextOf;
}

export const zoneAnswerRoutes: FastifyPluginAsyncZod<Options> = async (app, options) => {
  addNameServers(app, options);
  addSubscription(app, options);
  addAnalysis(app, options);
  addFixed(app, options);
};

/** Throws unless what was sent is what is true. */
function requireTrue(sent: unknown, fixed: unknown, what: string): void {
  if (sent !== undefined && sent !== null && sent !== fixed) throw failure('notHere', { what });
}

const setParts = { enabled: z.boolean(), ns_set: z.int() };
const nameServerSet = z.object({
  ...{ success: z.literal(true), errors: z.array(message), messages: z.array(message) },
  ...setParts,
});

/** Name servers of an account are those of the settings; a zone of its own has vanity name servers. */
function addNameServers(app: RouteScope, { contextOf }: Options): void {
  app.get(
    `${ZONE}/custom_ns`,
    {
      config,
      schema: {
        tags,
        summary: 'Get whether the zone has name servers of its account',
        params,
        response: answers(nameServerSet),
      },
    },
    async (request) => {
      await getZone(contextOf(request), request.params.zone_id);
      return { success: true as const, errors: [], messages: [], enabled: false, ns_set: 1 };
    },
  );

  app.put(
    `${ZONE}/custom_ns`,
    {
      config,
      schema: {
        tags,
        summary: 'Set whether the zone uses name servers of its account: it never does',
        params,
        body: z
          .object({ enabled: z.boolean().nullish(), ns_set: z.int().nullish() })
          .meta({ examples: [{ enabled: false }] }),
        response: answersList(z.string()),
      },
    },
    async (request) => {
      const { nameServers } = await getZone(contextOf(request), request.params.zone_id);
      requireTrue(request.body.enabled, false, 'Name servers of an account are');
      return success([...nameServers]);
    },
  );
}

const ratePlan = z.object({
  ...{ id: z.string(), currency: z.string(), externally_managed: z.boolean(), is_contract: z.boolean() },
  ...{ public_name: z.string(), scope: z.literal('zone'), sets: z.array(z.string()) },
});
const subscription = z.object({
  ...{ id: z.string(), currency: z.string(), price: z.number(), rate_plan: ratePlan },
  ...{ frequency: z.literal('not-applicable'), state: z.literal('Paid') },
});

const subscriptionView = (id: string): z.output<typeof subscription> => ({
  ...{ id, currency: PLAN.currency, price: PLAN.price, frequency: 'not-applicable', state: 'Paid' },
  rate_plan: {
    ...{ id: PLAN.legacy_id, currency: PLAN.currency, externally_managed: false, is_contract: false },
    ...{ public_name: PLAN.name, scope: 'zone', sets: [] },
  },
});

function addSubscription(app: RouteScope, { contextOf }: Options): void {
  const path = `${ZONE}/subscription`;
  app.get(
    path,
    {
      config,
      schema: {
        tags,
        summary: 'Get the plan of the zone: all have the same',
        params,
        response: answersOne(subscription),
      },
    },
    async (request) => success(subscriptionView((await getZone(contextOf(request), request.params.zone_id)).id)),
  );
  const body = z
    .object({ frequency: z.string().nullish(), rate_plan: z.object({ id: z.string().nullish() }).nullish() })
    .meta({ examples: [{ rate_plan: { id: PLAN.legacy_id } }] });
  for (const method of ['POST', 'PUT'] as const) {
    app.route({
      method,
      url: path,
      config,
      schema: {
        tags,
        summary: 'Choose the plan of the zone: there is one',
        params,
        body,
        response: answersOne(subscription),
      },
      handler: async (request) => {
        const { id } = await getZone(contextOf(request), request.params.zone_id);
        requireTrue(request.body.rate_plan?.id, PLAN.legacy_id, 'Other plans are');
        return success(subscriptionView(id));
      },
    });
  }
}

const analysis = z.object({
  hosts: z.array(z.string()),
  signature: z.string().describe('Such as `ECDSA-SHA256`'),
  expires_on: time,
  uploaded_on: z.null(),
  issuer: z.string(),
});

function addAnalysis(app: RouteScope, { contextOf }: Options): void {
  app.post(
    `${ZONE}/ssl/analyze`,
    {
      config: { area: 'certificates' },
      schema: {
        tags: ['Certificates'],
        summary: 'Read a certificate; nothing is stored',
        params,
        body: z
          .object({ certificate: z.string(), bundle_method: z.string().nullish() })
          .meta({ examples: [{ certificate: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n' }] }),
        response: answersOne(analysis),
      },
    },
    async (request) => {
      await getZone(contextOf(request), request.params.zone_id);
      const { names, signatureAlgorithm, notAfterMs, issuer } = read(request.body.certificate);
      const about = { hosts: [...names], signature: signatureAlgorithm, issuer };
      return success({ ...about, expires_on: printTime(notAfterMs * 1000), uploaded_on: null });
    },
  );
}

function read(pem: string) {
  try {
    return describeCertificate(new Uint8Array(parseCertificates(pem)[0]!.raw));
  } catch (error) {
    if (!(error instanceof ChainError)) throw error;
    throw failure('badCertificate', { reason: error.message });
  }
}

const normalization = z.object({
  scope: z.enum(['none', 'incoming', 'both']),
  type: z.enum(['rfc3986', 'cloudflare']),
});
const tiered = z.object({
  ...{ id: z.literal('tiered_caching'), value: z.enum(['on', 'off']) },
  ...{ editable: z.literal(false), modified_on: z.null() },
});

/** The edge asks for paths as clients do, and caches on the machine itself. */
function addFixed(app: RouteScope, { contextOf }: Options): void {
  const forms = [
    {
      path: 'url_normalization',
      method: 'PUT',
      schema: normalization,
      fixed: { scope: 'none', type: 'rfc3986' },
      what: 'URL normalization is',
    },
    {
      ...{ path: 'argo/tiered_caching', method: 'PATCH', schema: tiered, what: 'Tiered caching is' },
      fixed: { id: 'tiered_caching', value: 'off', editable: false, modified_on: null },
    },
  ] as const;
  for (const { path, method, schema, fixed, what } of forms) {
    const response = answersOne<z.ZodType>(schema);
    app.get(
      `${ZONE}/${path}`,
      { config, schema: { tags, summary: `Get ${path}`, params, response } },
      async (request) => {
        await getZone(contextOf(request), request.params.zone_id);
        return success(fixed);
      },
    );
    const key = 'scope' in fixed ? 'scope' : 'value';
    const off = 'scope' in fixed ? fixed.scope : fixed.value;
    const body = z.object({ [key]: z.string(), type: z.string().nullish() }).meta({ examples: [{ [key]: off }] });
    app.route({
      method,
      url: `${ZONE}/${path}`,
      config,
      schema: { tags, summary: `Set ${path}: it stays off`, params, body, response },
      handler: async (request) => {
        await getZone(contextOf(request), request.params.zone_id);
        requireTrue((request.body as Record<string, unknown>)[key], off, what);
        return success(fixed);
      },
    });
  }
}
