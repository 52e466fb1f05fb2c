/** Shape of `/overview` (ours). */
import { z } from 'zod';
import { time } from '../schema.js';

export const overview = z
  .object({
    notices: z
      .array(z.object({ code: z.string(), text: z.string(), remedy: z.string() }))
      .describe('What is no error but often not meant; for administrators'),
    ends: z
      .array(
        z.object({
          kind: z.enum(['certificate', 'signatures']),
          name: z.string(),
          zone_id: z.string(),
          at: time,
        }),
      )
      .describe('Certificates and signatures that end next, the first one first; they are renewed before'),
  })
  .meta({ id: 'Overview' });

export type Overview = z.output<typeof overview>;
