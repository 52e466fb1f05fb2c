/** Shapes of the explanation of a load balancer (ours). */
import { z } from 'zod';

export const explainQuery = z.object({
  type: z.string().optional().describe('A (default) or AAAA'),
  client: z.string().optional().describe('Source address of the query'),
  client_subnet: z.string().optional().describe('A network such as `192.0.2.0/24`, sent in the EDNS option (RFC 7871)'),
  country: z.string().optional().describe('Country of the client, instead of the known one'),
  region: z.string().optional().describe('Region of the server that is asked, instead of its own'),
  pop: z.string().optional().describe('Location code of the server that is asked, instead of its own'),
  at: z
    .string()
    .optional()
    .describe('RFC 3339 time in the last 30 days, whose settings and health are used; default: now'),
});

export const balancerExplanation = z.object({
  name: z.string(),
  type: z.string(),
  at: z.string().nullable(),
  policy: z.string(),
  place: z.object({
    ...{ pop: z.string(), country: z.string(), region: z.string() },
    by: z.enum(['server', 'client_subnet', 'address']),
  }),
  client_subnet: z
    .object({ asked: z.string(), used: z.boolean(), detail: z.string() })
    .nullable()
    .describe('How the client subnet was used; null without one'),
  steps: z.array(z.string()).describe('Steps of the decision, in order'),
  pools: z.array(z.object({ id: z.string(), name: z.string(), verdict: z.string() })),
  origins: z
    .array(z.object({ name: z.string(), address: z.string(), weight: z.number(), verdict: z.string() }))
    .describe('Origins of the chosen pool; empty without the permission to read pools'),
  rcode: z.string(),
  answer: z.array(z.string()).describe('Zone file lines'),
});

export type BalancerExplanation = z.output<typeof balancerExplanation>;
