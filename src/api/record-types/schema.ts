/** Shape of `/record_types` (ours). */
import { z } from 'zod';

const member = z.object({
  name: z.string(),
  place: z.enum(['content', 'priority', 'data']).describe('Where its value is in a record'),
  label: z.string(),
  kind: z.enum(['integer', 'number', 'string', 'strings']),
  required: z.boolean(),
  minimum: z.number().optional(),
  maximum: z.number().optional(),
  values: z.array(z.string()).optional().describe('The only allowed values'),
  choices: z
    .array(z.object({ value: z.string(), meaning: z.string() }))
    .optional()
    .describe('Usual values'),
  hint: z.string().optional(),
  unit: z.string().optional(),
  example: z.string().optional(),
  usual: z.string().optional().describe('What forms begin with'),
});

export type RecordTypeMember = z.output<typeof member>;

export const recordType = z
  .object({
    type: z.string(),
    rfc: z.string(),
    about: z.string(),
    proxiable: z.boolean().describe('Whether records of it can be proxied'),
    members: z.array(member),
  })
  .meta({ id: 'RecordType' });

export type RecordType = z.output<typeof recordType>;
