/** Shape of `/search` (ours). */
import { z } from 'zod';
import { record } from '../dns-records/schema.js';

export const found = z
  .object({
    records: z.array(z.object({ zone: z.object({ id: z.string(), name: z.string() }), record })),
    zones: z.int().describe('Zones that were looked through'),
    next: z.int().nullable().describe('For `after` of the next request; null: everything was looked through'),
  })
  .meta({ id: 'FoundRecords' });

export type FoundRecords = z.output<typeof found>;
