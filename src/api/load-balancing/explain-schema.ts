/** Shapes of the explanation of a load balancer (ours). */
import { z } from 'zod';

export const explainQuery = z.object({
  type: z.string().optional().describe('A (default) or AAAA'),
  client: z.string().optional().describe('The address that the question comes from'),
  client_subnet: z
    .string()
    .optional()
    .describe('A network such as `192.0.2.0/24`, sent along as the EDNS option (RFC 7871)'),
  country: z.string().optional().describe('Where who asks is, in place of what is known'),
  region: z.string().optional().describe('The region of the server that is asked, in place of its own'),
  pop: z.string().optional().describe('The location code of the server that is asked, in place of its own'),
  at: z.string().optional().describe('An RFC 3339 time of the last 30 days: settings and health of then; default: now'),
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
    .describe('What the client subnet did; null without one'),
  steps: z.array(z.string()).describe('In the order of the decision'),
  pools: z.array(z.object({ id: z.string(), name: z.string(), verdict: z.string() })),
  origins: z
    .array(z.object({ name: z.string(), address: z.string(), weight: z.number(), verdict: z.string() }))
    .describe('Of the chosen pool; none without the permission to read pools'),
  rcode: z.string(),
  answer: z.array(z.string()).describe('Zone file lines'),
});

export type BalancerExplanation = z.output<typeof balancerExplanation>;
