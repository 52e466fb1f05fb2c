/** Shapes of `/zones/{zone_id}/dns_records/explain` (ours). */
import { z } from 'zod';

export const explainQuery = z.object({
  name: z.string().optional().describe('A name in the zone, relative or complete; default: the apex'),
  type: z.string().optional().describe('Default: A'),
});

export const explanation = z
  .object({
    name: z.string(),
    type: z.string(),
    zone: z.object({ id: z.string(), name: z.string(), status: z.string(), serial: z.int() }).nullable(),
    steps: z.array(
      z.object({
        step: z.enum([
          'zone',
          'node',
          'delegation',
          'alias',
          'proxied',
          'flattened',
          'origin',
          'synthesized',
          'outside',
          'signed',
          'proof',
        ]),
        name: z.string(),
        detail: z.string(),
      }),
    ),
    answer: z.object({
      rcode: z.string(),
      authoritative: z.boolean(),
      answer: z.array(z.string()).describe('Zone file lines'),
      authority: z.array(z.string()),
    }),
    edge: z
      .object({
        by: z.enum(['hostname', 'record', 'wildcard-record', 'wildcard-hostname']).nullable(),
        cause: z.enum(['ownership', 'fallback_origin', 'standalone_zone', 'origin_dns']).nullable(),
        origins: z.array(z.string()),
        detail: z.string(),
        steps: z.array(z.string()).describe('What happens to a request on its way, and which setting makes it so'),
      })
      .nullable()
      .describe('What the edge would do with a request for the name; null where it knows nothing of it'),
  })
  .describe('The deciding steps in order, and the answer from the code that serves');

export type Explanation = z.output<typeof explanation>;
