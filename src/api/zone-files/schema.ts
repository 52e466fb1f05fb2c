/** Shapes of `/zones/import` (ours). */
import { z } from 'zod';

export const zoneFileQuery = z.object({
  name: z.string().optional().describe('Name of the zone; default: the owner of the SOA record in the file'),
  account_id: z.string().optional().describe("Default: the caller's first account"),
  automatic_soa: z
    .string()
    .optional()
    .describe('`true`: the SOA and the name servers of this service instead of those of the file'),
  proxied: z.string().optional().describe('`true`: records that can be proxied become so'),
  strip_dnssec: z
    .string()
    .optional()
    .describe('`true`: a signed file is taken without its signatures; otherwise it is refused'),
});

const issue = z.object({
  severity: z.enum(['error', 'warning']),
  code: z.string(),
  message: z.string(),
  line: z.int().nullable().describe('From 1; null when it is about the whole file'),
  column: z.int().nullable(),
  text: z.string().nullable().describe('The text at fault, shortened'),
});

export const zoneFileResult = z
  .object({
    imported: z.boolean().describe('False when there are errors: then nothing was stored'),
    id: z.string().nullable().describe('Identifier of the zone'),
    name: z.string().nullable(),
    serial: z.int().nullable(),
    records: z.int(),
    duplicates: z.int().describe('Records left out because the file has them twice'),
    issues: z.array(issue).describe('Errors first; at most 1,000'),
    issues_total: z.int(),
  })
  .meta({ id: 'ZoneFileResult' });

export type ZoneFileResult = z.output<typeof zoneFileResult>;
