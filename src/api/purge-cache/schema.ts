/** Shape of `/zones/{zone_id}/purge_cache` (v4: §11). */
import { z } from 'zod';
import { zoneFailure } from '../../control/rules/zone-failures.js';
import { bodyFailure } from '../body.js';
import { listOf, refusedWith } from '../body-schema.js';

const list = listOf(z.string(), 1, 100, 'items').nullish();

const MOST_HEADERS = 20;
const headers = z
  .record(z.string().regex(/^[\w-]+$/), z.string())
  .refine((members) => Object.keys(members).length <= MOST_HEADERS);
const file = z.union([z.string(), z.object({ url: z.string(), headers: headers.nullish() })], {
  error: 'a URL, or an object with a url and an object of headers',
});

/** Exactly one kind; the use case refuses others with the text that clients know. */
export const cachePurge = refusedWith(
  z
    .object({
      purge_everything: z.literal(true).nullish(),
      files: listOf(file, 1, 100, 'items').nullish().describe('Absolute URLs of hosts of the zone'),
      tags: list,
      hosts: list.describe('Host names of the zone, without names below them'),
      prefixes: list.describe('Host and path without scheme, such as `www.example.com/blog/`'),
    })
    .meta({
      id: 'CachePurge',
      description: 'Exactly one member',
      examples: [{ files: ['https://www.example.com/logo.svg'] }],
    }),
  ({ pointer, text }) => (pointer === '' ? bodyFailure(text) : zoneFailure('badPurge', { reason: text }, { pointer })),
);
