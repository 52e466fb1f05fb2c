/** Shapes of the webhook protocol of ExternalDNS (its api/webhook.yaml, version 1). */
import { z } from 'zod';

/** The media type of all answers with a body; ExternalDNS compares it octet for octet. */
export const WEBHOOK_TYPE = 'application/external.dns.webhook+json;version=1';

const endpoint = z.object({
  dnsName: z.string().max(255).optional(),
  targets: z.array(z.string().max(65_535)).nullish(),
  recordType: z.string().optional(),
  setIdentifier: z.string().optional(),
  recordTTL: z.int().min(0).optional(),
  labels: z.record(z.string(), z.string()).nullish(),
  providerSpecific: z.array(z.object({ name: z.string().optional(), value: z.string().optional() })).nullish(),
});

export const endpoints = z.array(endpoint);
export const endpointChanges = z.object({
  create: endpoints.nullish(),
  updateOld: endpoints.nullish(),
  updateNew: endpoints.nullish(),
  delete: endpoints.nullish(),
});
