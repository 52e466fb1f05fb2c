/** Shape of `/overview` (ours). */
import { z } from 'zod';
import { time } from '../schema.js';

export const overview = z
  .object({
    notices: z
      .array(
        z.object({
          code: z.string().describe('The reason, as a program knows it; the label `kind` of `zoneplane_warnings`'),
          severity: z.enum(['warning', 'error']),
          text: z.string(),
          remedy: z.string().describe('What to do next'),
          zone_id: z.string().nullable().describe('The zone that it is about; null: not a single one'),
        }),
      )
      .describe(
        'What needs somebody, as `zoneplane doctor` says it: all of it for administrators, for others what is about their zones and accounts',
      ),
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
