/** Shapes of SSO connectors on the wire (npm `cloudflare`: `iam.sso`). */
import { z } from 'zod';
import { accountParams } from '../accounts/schema.js';
import { time } from '../schema.js';

export const connectorParams = accountParams.extend({
  sso_connector_id: z.string().max(64).describe('Identifier of the connector'),
});

export const connector = z
  .object({
    id: z.string(),
    email_domain: z.string(),
    enabled: z
      .boolean()
      .describe('Whether members with addresses in the domain may be added without accepting an invitation'),
    created_on: time,
    updated_on: time,
    verification: z.object({
      code: z.string().describe('Content of the TXT record that proves the domain'),
      status: z.enum(['awaiting', 'pending', 'failed', 'verified']),
      record: z.string().describe('Ours: name of that record'),
    }),
    use_fedramp_language: z.literal(false),
  })
  .meta({ id: 'SsoConnector' });

export type Connector = z.output<typeof connector>;

export const connectorBody = z
  .object({
    email_domain: z.string().max(260),
    begin_verification: z.boolean().nullish().describe('Look for the record at once'),
    use_fedramp_language: z.boolean().nullish(),
  })
  .meta({ id: 'SsoConnectorBody', examples: [{ email_domain: 'example.com' }] });

export const connectorEdit = z
  .object({ enabled: z.boolean(), use_fedramp_language: z.boolean().nullish() })
  .meta({ id: 'SsoConnectorEdit', examples: [{ enabled: true }] });
