/**
 * Routes of a zone that popular clients call for features that this service does not have, in forms of v4 that can say what is
 * true of it. What is true can also be sent; anything else is refused.
 */
import { z } from 'zod';
import { ChainError, describeCertificate, parseCertificates } from '../../certs/chain.js';
import { getZone } from '../../control/zones/zones.js';
import { success } from '../envelope.js';
import { failure } from '../errors.js';
import { type Routes, routes } from '../routing/route.js';
import { answers, message, time } from '../schema.js';
import { printTime } from '../times.js';
import { zoneParams as params } from '../zones/schema.js';
import { PLAN } from '../zones/view.js';

const ZONE = '/zones/:zone_id';

export const zoneAnswerRoutes = routes({ tags: ['Unsupported'], area: 'zone' }, (app) => {
  addNameServers(app);
  const path = `${ZONE}/subscription`;
  app.get(
    path,
    { summary: 'Get the plan of the zone: all have the same', params, answer: subscription },
    async (ctx, { params }) => subscriptionView((await getZone(ctx, params.zone_id)).id),
  );
  const body = z
    .object({ frequency: z.string().nullish(), rate_plan: z.object({ id: z.string().nullish() }).nullish() })
    .meta({ examples: [{ rate_plan: { id: PLAN.legacy_id } }] });
  for (const method of ['post', 'put'] as const) {
    app[method](
      path,
      { summary: 'Choose the plan of the zone: there is one', params, body, answer: subscription },
      async (ctx, { params, body }) => {
        const { id } = await getZone(ctx, params.zone_id);
        requireTrue(body.rate_plan?.id, PLAN.legacy_id, 'Other plans are');
        return subscriptionView(id);
      },
    );
  }
  app.post(
    `${ZONE}/ssl/analyze`,
    {
      area: 'certificates',
      tags: ['Certificates'],
      summary: 'Read a certificate; nothing is stored',
      params,
      body: z
        .object({ certificate: z.string(), bundle_method: z.string().nullish() })
        .meta({ examples: [{ certificate: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n' }] }),
      answer: analysis,
    },
    async (ctx, { params, body }) => {
      await getZone(ctx, params.zone_id);
      const { names, signatureAlgorithm, notAfterMs, issuer } = read(body.certificate);
      const about = { hosts: [...names], signature: signatureAlgorithm, issuer };
      return { ...about, expires_on: printTime(notAfterMs * 1000), uploaded_on: null };
    },
  );
  addFixed(app);
});

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
function addNameServers(app: Routes): void {
  app.get(
    `${ZONE}/custom_ns`,
    { summary: 'Get whether the zone has name servers of its account', params, response: answers(nameServerSet) },
    async (ctx, { params }) => {
      await getZone(ctx, params.zone_id);
      return { success: true as const, errors: [], messages: [], enabled: false, ns_set: 1 };
    },
  );

  app.put(
    `${ZONE}/custom_ns`,
    {
      summary: 'Set whether the zone uses name servers of its account: it never does',
      params,
      body: z
        .object({ enabled: z.boolean().nullish(), ns_set: z.int().nullish() })
        .meta({ examples: [{ enabled: false }] }),
      list: z.string(),
    },
    async (ctx, { params, body }) => {
      const { nameServers } = await getZone(ctx, params.zone_id);
      requireTrue(body.enabled, false, 'Name servers of an account are');
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

const analysis = z.object({
  hosts: z.array(z.string()),
  signature: z.string().describe('Such as `ECDSA-SHA256`'),
  expires_on: time,
  uploaded_on: z.null(),
  issuer: z.string(),
});

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
function addFixed(app: Routes): void {
  const forms = [
    {
      path: 'url_normalization',
      method: 'put',
      schema: normalization,
      fixed: { scope: 'none', type: 'rfc3986' },
      what: 'URL normalization is',
    },
    {
      path: 'argo/tiered_caching',
      method: 'patch',
      schema: tiered,
      what: 'Tiered caching is',
      fixed: { id: 'tiered_caching', value: 'off', editable: false, modified_on: null },
    },
  ] as const;
  for (const { path, method, schema, fixed, what } of forms) {
    app.get(`${ZONE}/${path}`, { summary: `Get ${path}`, params, answer: schema }, async (ctx, { params }) => {
      await getZone(ctx, params.zone_id);
      return fixed;
    });
    const key = 'scope' in fixed ? 'scope' : 'value';
    const off = 'scope' in fixed ? fixed.scope : fixed.value;
    const body = z.object({ [key]: z.string(), type: z.string().nullish() }).meta({ examples: [{ [key]: off }] });
    app[method](
      `${ZONE}/${path}`,
      { summary: `Set ${path}: it stays off`, params, body, answer: schema },
      async (ctx, { params, body }) => {
        await getZone(ctx, params.zone_id);
        requireTrue(body[key], off, what);
        return fixed;
      },
    );
  }
}
