/** Shape of `/zones/{zone_id}/purge_cache` (v4: §11). */
import { z } from 'zod';

const list = z.array(z.string()).max(100).optional();
const file = z.union([z.string(), z.object({ url: z.string(), headers: z.record(z.string(), z.string()).optional() })]);

export const cachePurge = z
  .object({
    purge_everything: z.literal(true).optional(),
    files: z.array(file).max(100).optional().describe('Absolute URLs of hosts of the zone'),
    tags: list,
    hosts: list.describe('Host names of the zone; those below them are others'),
    prefixes: list.describe('Host and path without scheme, such as `www.example.com/blog/`'),
  })
  .meta({ id: 'CachePurge', description: 'Exactly one member' });
