/** Shapes of `/zones/{zone_id}/dns_records/explain` (ours). */
import { z } from 'zod';

export const explainQuery = z.object({
  name: z.string().optional().describe('A name in the zone, relative or complete; default: the apex'),
  type: z.string().optional().describe('Default: A'),
  client_subnet: z
    .string()
    .optional()
    .describe('A network such as `192.0.2.0/24`, sent along as the EDNS option (RFC 7871)'),
});

const packet = z.object({
  size: z.int().describe('Octets'),
  parts: z
    .array(
      z.object({
        part: z.enum(['header', 'question', 'answer', 'authority', 'additional']),
        offset: z.int(),
        hex: z.string(),
        text: z.string(),
      }),
    )
    .describe('In order, without gaps'),
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
    packets: z
      .object({ query: packet, response: packet })
      .nullable()
      .describe('The question and the response octet for octet, as over TCP; null when no zone is asked'),
    client_subnet: z
      .object({
        asked: z.string(),
        used: z.boolean().describe('Whether the answer depends on it'),
        detail: z.string(),
      })
      .nullable()
      .describe('What the client subnet did; null without one'),
    edge: z
      .object({
        by: z.enum(['hostname', 'record', 'wildcard-record', 'wildcard-hostname']).nullable(),
        cause: z.enum(['ownership', 'fallback_origin', 'standalone_zone', 'origin_dns', 'load_balancer']).nullable(),
        origins: z.array(z.string()),
        detail: z.string(),
        steps: z.array(z.string()).describe('What happens to a request on its way, and which setting makes it so'),
      })
      .nullable()
      .describe('What the edge would do with a request for the name; null where it knows nothing about it'),
  })
  .describe('The deciding steps in order, and the answer from the code that serves');

export type Explanation = z.output<typeof explanation>;
